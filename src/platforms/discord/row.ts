import type { ChatPlatformConfig } from "../../config/chat-platform.ts";
import { OperatorError } from "../../core/errors.ts";
import type { OptionKit, PlatformRow } from "../row.ts";

export interface DiscordConfig extends ChatPlatformConfig {
  /** Never print it. */
  readonly token: string;
  /** Number of connections among which the bot's servers are divided. */
  readonly shards: number | "auto";
}

const ID = /^\d{15,21}$/;
const GUIDE = "docs/discord.md";

const options = ({ secret, shardCount, startOption }: OptionKit) => ({
  token: startOption(
    secret,
    "env:DISCORD_TOKEN",
    "Discord is on if the bot's token is set: DISCORD_TOKEN=... in the environment or .env. How to make and invite " +
      `a bot: ${GUIDE}.`,
  ),
  shards: startOption(
    shardCount,
    1,
    'Connections among which the bot\'s servers are divided, one for each 2,500 at least; "auto": as ' +
      "Discord recommends.",
  ),
});

export const discord = {
  key: "discord" as const,
  title: "Discord",
  guide: GUIDE,
  token: "token",
  ids: ID,
  options,
  resolve: ({ shards }, { token = null }) => (token === null ? null : { token, shards }),
  async open(config, parts) {
    const { createDiscord } = await import("./adapter.ts");
    return createDiscord({ config, ...parts });
  },
  async diagnose(config) {
    const { diagnoseDiscord } = await import("./diagnose.ts");
    return await diagnoseDiscord(config);
  },
  async invite(config) {
    if (config === null) throw new OperatorError(`DISCORD_TOKEN is not set: make a bot first (${GUIDE}).`);
    const { inviteLink } = await import("./diagnose.ts");
    return { what: "Open this link to invite the bot to a server of yours:", link: await inviteLink(config) };
  },
  async servers(config) {
    const { discordServers } = await import("./diagnose.ts");
    return await discordServers(config);
  },
  questions: {
    before:
      'Discord: make an application on https://discord.com/developers/applications, and switch on "Message Content Intent" under "Bot".',
    secrets: [{ option: "token", question: "The bot's token (Bot, Reset Token)" }],
    personHint: '"Copy User ID" in your own menu, with Developer Mode on',
    person: ID,
  },
} satisfies PlatformRow<ReturnType<typeof options>, DiscordConfig>;
