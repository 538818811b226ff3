import { ApplicationFlags, ApplicationFlagsBitField, PermissionFlagsBits, Routes } from "discord.js";
import { z } from "zod";
import { errorMessage, type Finding, OperatorError } from "../../core/errors.ts";
import { DiscordApi, isWrongToken } from "./rest/api.ts";
import type { Server } from "../../core/message.ts";
import { listGuilds } from "./rest/guilds.ts";
import { gatewayPayload } from "./inbound/payload.ts";
import { MISSING_INTENT, WRONG_TOKEN } from "./rest/api-errors.ts";
import type { DiscordConfig } from "./row.ts";
import { DISCORD_TIMING } from "./timing.ts";
import { weirCommand } from "../../files/installation.ts";

/** Permissions that Weir needs in a server. */
const PERMISSIONS =
  PermissionFlagsBits.ViewChannel |
  PermissionFlagsBits.SendMessages |
  PermissionFlagsBits.SendMessagesInThreads |
  PermissionFlagsBits.ReadMessageHistory |
  PermissionFlagsBits.AddReactions |
  PermissionFlagsBits.EmbedLinks |
  PermissionFlagsBits.UseExternalEmojis;

const application = z.object({ id: z.string(), name: z.string(), flags: z.number().default(0) });
const guilds = z.array(z.object({ id: z.string() }));

type Application = z.infer<typeof application>;

function open({ token, apiUrl }: DiscordConfig): DiscordApi {
  return new DiscordApi({ token, apiUrl, timing: DISCORD_TIMING });
}

/**
 * The link that invites the bot to a server.
 * @throws OperatorError if Discord does not know the token; PlatformError if it does not answer
 */
export async function inviteLink(config: DiscordConfig): Promise<string> {
  using api = open(config);
  try {
    const { id } = await api.get(Routes.currentApplication(), application);
    const query = new URLSearchParams({
      client_id: id,
      scope: "bot applications.commands",
      permissions: String(PERMISSIONS),
    });
    return `https://discord.com/oauth2/authorize?${query.toString()}`;
  } catch (error) {
    if (isWrongToken(error)) throw new OperatorError(WRONG_TOKEN);
    throw error;
  }
}

/**
 * The servers that the bot is in.
 * @throws OperatorError if the token is wrong; PlatformError if Discord does not answer
 */
export async function discordServers(config: DiscordConfig): Promise<readonly Server[]> {
  using api = open(config);
  return await listGuilds(api);
}

/** Checks the token, the intent, the gateway and the servers. Does not throw. */
export async function diagnoseDiscord(config: DiscordConfig): Promise<readonly Finding[]> {
  using api = open(config);
  let app: Application;
  try {
    app = await api.get(Routes.currentApplication(), application);
  } catch (error) {
    return [tokenFinding(error)];
  }
  return [
    { what: "Discord token", state: "ok", detail: `it is that of the application ${app.name} (${app.id})` },
    intentFinding(app),
    ...(await Promise.all([lookAtGateway(api), lookAtGuilds(api)])),
  ];
}

function tokenFinding(error: unknown): Finding {
  const what = "Discord token";
  if (isWrongToken(error))
    return { what, state: "wrong", detail: "Discord does not know it", todo: WRONG_TOKEN };
  const todo = "see that this machine reaches discord.com, and platforms.discord.api_url if you set it";
  return { what, state: "wrong", detail: errorMessage(error), todo };
}

function intentFinding({ flags }: Application): Finding {
  const what = "Discord message content intent";
  const bits = new ApplicationFlagsBitField(flags);
  const isOn = bits.any([
    ApplicationFlags.GatewayMessageContent,
    ApplicationFlags.GatewayMessageContentLimited,
  ]);
  return isOn
    ? { what, state: "ok", detail: "on" }
    : { what, state: "wrong", detail: "off", todo: MISSING_INTENT };
}

async function lookAtGateway(api: DiscordApi): Promise<Finding> {
  const what = "Discord gateway";
  try {
    const { session_start_limit: limit } = await api.get(Routes.gatewayBot(), gatewayPayload);
    const detail = `it can be reached; ${limit.remaining} of ${limit.total} logins are left today`;
    if (limit.remaining > 0) return { what, state: "ok", detail };
    const todo = `wait ${Math.ceil(limit.reset_after / 60_000)} minutes, and see what restarts Weir so often`;
    return { what, state: "wrong", detail, todo };
  } catch (error) {
    return { what, state: "wrong", detail: errorMessage(error), todo: "try again in a minute" };
  }
}

async function lookAtGuilds(api: DiscordApi): Promise<Finding> {
  const what = "Discord servers";
  try {
    const { length } = await api.get(Routes.userGuilds(), guilds);
    const more = length >= 200 ? "at least " : "";
    if (length > 0) return { what, state: "ok", detail: `the bot is in ${more}${length}` };
    return {
      what,
      state: "wrong",
      detail: "the bot is in none",
      todo: `open the link of: \`${weirCommand("invite discord")}\``,
      isForInvite: true,
    };
  } catch (error) {
    return { what, state: "wrong", detail: errorMessage(error), todo: "try again in a minute" };
  }
}
