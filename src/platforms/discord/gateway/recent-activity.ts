import { ChannelType } from "discord.js";
import type { Intake } from "../../intake/intake.ts";
import type { FindActiveChannels } from "../../intake/channel-discovery.ts";
import type { Directory } from "../rest/directory.ts";
import {
  guildLeftPayload,
  type GuildPayload,
  guildPayload,
  isThreadType,
  readyPayload,
} from "../inbound/payload.ts";
import { compareIds, idOfTime } from "../snowflake.ts";

/** Kinds of channels with own messages. A forum has only threads. */
const SPOKEN_IN: ReadonlySet<number> = new Set([
  ChannelType.GuildText,
  ChannelType.GuildAnnouncement,
  ChannelType.GuildVoice,
  ChannelType.GuildStageVoice,
]);

/**
 * Finds channels in which people spoke while the bot was offline: at a connection's start, each server reports the
 * newest message of its channels and active threads. A server joined later has no missed messages.
 */
export class RecentActivity {
  readonly #directory: Directory;
  readonly #intake: Pick<Intake, "search">;
  readonly #awaited = new Set<string>();

  constructor(directory: Directory, intake: Pick<Intake, "search">) {
    this.#directory = directory;
    this.#intake = intake;
  }

  /** True: every server has reported its newest messages. */
  get isDone(): boolean {
    return this.#awaited.size === 0;
  }

  /** @param d the data of READY */
  begin(d: unknown): void {
    this.#awaited.clear();
    for (const { id } of readyPayload.parse(d).guilds) this.#awaited.add(id);
  }

  /** @param d the data of GUILD_CREATE */
  take(d: unknown): void {
    const { id, unavailable } = guildLeftPayload.parse(d);
    if (unavailable === true || !this.#awaited.delete(id)) return;
    const guild = guildPayload.parse(d);
    const find: FindActiveChannels = async (since) => {
      const found = await Promise.all(
        spokenSince(guild, since).map(async (channel) => this.#directory.where(channel, id)),
      );
      return found.filter((channel) => channel !== null);
    };
    this.#intake.search(find);
  }
}

/** Ids of a server's channels and threads with messages since then, newest activity first. Pure. */
function spokenSince({ channels = [], threads = [] }: GuildPayload, since: Date): string[] {
  const sinceId = idOfTime(since);
  return [...channels, ...threads]
    .filter(({ type }) => SPOKEN_IN.has(type) || isThreadType(type))
    .flatMap(({ id, last_message_id: lastId }) => (lastId == null ? [] : [{ id, lastId }]))
    .filter(({ lastId }) => compareIds(lastId, sinceId) > 0)
    .toSorted((a, b) => compareIds(b.lastId, a.lastId))
    .map(({ id }) => id);
}
