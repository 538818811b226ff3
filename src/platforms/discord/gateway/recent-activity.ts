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

/** Kinds of channels that have messages of their own. A forum has threads alone. */
const SPOKEN_IN: ReadonlySet<number> = new Set([
  ChannelType.GuildText,
  ChannelType.GuildAnnouncement,
  ChannelType.GuildVoice,
  ChannelType.GuildStageVoice,
]);

/**
 * Where somebody spoke while nobody listened: each server that a connection begins with tells the newest message of its
 * channels and active threads. One that the bot joins later has said nothing to it before.
 */
export class RecentActivity {
  readonly #directory: Directory;
  readonly #intake: Pick<Intake, "search">;
  readonly #awaited = new Set<string>();

  constructor(directory: Directory, intake: Pick<Intake, "search">) {
    this.#directory = directory;
    this.#intake = intake;
  }

  /** @param d of READY */
  begin(d: unknown): void {
    this.#awaited.clear();
    for (const { id } of readyPayload.parse(d).guilds) this.#awaited.add(id);
  }

  /** @param d of GUILD_CREATE */
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

/** Ids of the channels and threads of a server in which somebody spoke since then, the newest first. Pure. */
function spokenSince({ channels = [], threads = [] }: GuildPayload, since: Date): string[] {
  const sinceId = idOfTime(since);
  return [...channels, ...threads]
    .filter(({ type }) => SPOKEN_IN.has(type) || isThreadType(type))
    .flatMap(({ id, last_message_id: lastId }) => (lastId == null ? [] : [{ id, lastId }]))
    .filter(({ lastId }) => compareIds(lastId, sinceId) > 0)
    .toSorted((a, b) => compareIds(b.lastId, a.lastId))
    .map(({ id }) => id);
}
