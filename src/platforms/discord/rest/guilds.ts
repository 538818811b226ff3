import { Routes } from "discord.js";
import { z } from "zod";
import type { Server } from "../../../core/message.ts";
import { displayName } from "../../../text/text.ts";
import { OperatorError } from "../../../core/errors.ts";
import { type DiscordApi, isWrongToken } from "./api.ts";
import { WRONG_TOKEN } from "./api-errors.ts";

/** Discord's limit per page. */
const PAGE = 200;
const guildPage = z.array(z.object({ id: z.string(), name: z.string().default("") }));

/**
 * The servers that the bot is in.
 * @throws OperatorError if Discord does not know the token; PlatformError if there is no answer now
 */
export async function listGuilds(api: DiscordApi): Promise<readonly Server[]> {
  const servers: Server[] = [];
  try {
    for (let after = "0"; ;) {
      const page = await api.get(Routes.userGuilds(), guildPage, { limit: String(PAGE), after });
      servers.push(...page.map(({ id, name }) => ({ id, name: displayName(name) })));
      const last = page.at(-1)?.id;
      if (last === undefined || page.length < PAGE) return servers;
      after = last;
    }
  } catch (error) {
    if (isWrongToken(error)) throw new OperatorError(WRONG_TOKEN);
    throw error;
  }
}
