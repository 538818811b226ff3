import { unescapeText } from "../../../src/platforms/slack/inbound/readable-text.ts";
import { startSlackServer } from "../../support/slack/server.ts";
import { startDiscordServer } from "../../support/discord/server.ts";
import type { WorldRecord } from "./world-record.ts";

/** The platforms by which people reach the daemons. */
export const WAYS_IN = ["loopback", "slack", "discord"] as const;
export type WayIn = (typeof WAYS_IN)[number];

/** A platform of which the daemons hear by themselves: nobody chooses which of them is told. */
export interface Platform {
  /** What a daemon's configuration has of it. */
  readonly config: string;
  readonly env: Readonly<Record<string, string>>;
  /** Somebody says something in a room of theirs. @returns the channel and the message as the log has them */
  say(room: string, text: string): { readonly channel: string; readonly messageId: string };
  shown(): WorldRecord["shown"];
}

/** How a person marks each message, and the model each message that it answers. */
const MARK = /\bg\d+\b/g;
/** How the model's answers begin and end. */
export const ANSWER = { begins: "Answer ", ends: "stood high." };

export function marksIn(text: string): string[] {
  return [...new Set([...text.matchAll(MARK)].map(([mark]) => mark))];
}

/** What people see in one channel, oldest first. */
interface Seen {
  readonly id: string;
  readonly text: string;
  readonly isBots: boolean;
}

/**
 * The bot's messages by what they say, as people understand them: an answer names what it answers, and any other word is about all that
 * was asked before and not answered. Pure.
 */
export function shownIn(channel: string, seen: readonly Seen[]): WorldRecord["shown"] {
  const open = new Set<string>();
  const shown: WorldRecord["shown"] = [];
  for (const { id, text, isBots } of seen) {
    if (!isBots) for (const mark of marksIn(text)) open.add(mark);
    else {
      const isAnswer = text.startsWith(ANSWER.begins);
      const inReplyTo = isAnswer ? marksIn(text) : [...open];
      for (const mark of inReplyTo) open.delete(mark);
      const final = !isAnswer || text.endsWith(ANSWER.ends);
      shown.push({ channel, id, text, final, inReplyTo, kind: isAnswer ? "answer" : "notice" });
    }
  }
  return shown;
}

/** People here say more in a minute than anybody does. */
function configOf(platform: WayIn, url: string): string {
  return (
    `[platforms.${platform}]\ndm = "everyone"\napi_url = "${url}"\n` +
    `[[bindings]]\nagent = "main"\nplatform = "${platform}"\nrate_limit = 0\n`
  );
}

/** Slack, to whose app each daemon has a socket. */
export async function openSlack(): Promise<Platform> {
  // Slack's own patience is six minutes.
  const slack = await startSlackServer({ retryDelaysMs: [0, 1000, 3000, 10_000, 30_000] });
  const rooms = new Map<string, ReturnType<typeof slack.world.openIm>>();
  return {
    config: configOf("slack", slack.apiUrl),
    env: { SLACK_BOT_TOKEN: slack.botToken, SLACK_APP_TOKEN: slack.appToken },
    say(room, text) {
      const user =
        [...slack.workspace.users.values()].find(({ name }) => name === room) ?? slack.world.addUser(room);
      const channel = rooms.get(room) ?? slack.world.openIm(user);
      rooms.set(room, channel);
      const ts = slack.world.say(user, channel, text);
      return { channel: channel.id, messageId: `${channel.id}/${ts}` };
    },
    shown: () =>
      [...rooms.values()].flatMap((channel) =>
        shownIn(
          channel.id,
          slack.messages(channel).map(({ ts, text, user }) => {
            return { id: ts, text: unescapeText(text), isBots: user === slack.world.bot.id };
          }),
        ),
      ),
  };
}

/** Discord, of which each daemon hears everything. */
export async function openDiscord(): Promise<Platform> {
  const discord = await startDiscordServer({});
  const rooms = new Map<string, { readonly user: string; readonly dm: string }>();
  return {
    config: configOf("discord", discord.api),
    env: { DISCORD_TOKEN: discord.token },
    say(room, text) {
      const known = rooms.get(room);
      const user = known?.user ?? discord.world.addUser({ name: room });
      const dm = known?.dm ?? discord.world.openDm(user);
      rooms.set(room, { user, dm });
      return { channel: dm, messageId: discord.world.say(user, dm, text) };
    },
    shown: () => [...rooms.values()].flatMap(({ dm }) => shownIn(dm, discord.messages(dm))),
  };
}
