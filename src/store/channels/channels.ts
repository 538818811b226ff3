import { isDeepStrictEqual } from "node:util";
import { camelKey } from "../../config/camel-case.ts";
import { type AgentId, type ChannelAddress, type ChannelId, type Seq, type TurnId } from "../../core/ids.ts";
import { type ChannelKind, type ChannelPrivacy, OWN_PREFIXES, type Place } from "../../core/message.ts";
import { FEATURE_WORK } from "../../features/declarations.ts";
import { Rows } from "../database/rows.ts";
import type { Queryable } from "../database/queryable.ts";

export interface ChosenModel {
  /** As the configuration names it. */
  readonly name: string;
  /** The platform's id of the person; null: they want it forgotten. */
  readonly by: string | null;
  readonly at: Date;
}

/** A channel's row: who answers it, and its watermarks. */
export interface ChannelRow {
  readonly id: ChannelId;
  readonly address: ChannelAddress;
  readonly kind: ChannelKind;
  readonly workspace: string;
  /** Null: its platform has told no names. */
  readonly place: Place | null;
  /** As its platform has told last; null: it has not, and the channel counts as private. */
  readonly isPrivate: boolean | null;
  /** What is remembered of it is its workspace's, as long as it is public. */
  readonly sharesMemory: boolean;
  readonly agent: AgentId;
  /** The model that was chosen for it; null: its agent's answers. The configuration may not have it any more. */
  readonly model: ChosenModel | null;
  readonly lastSeq: Seq;
  readonly settledTo: Seq;
  readonly coveredTo: Seq;
  readonly omittedTo: Seq;
  readonly epoch: number;
}

export interface RawChannel extends Omit<ChannelRow, "address" | "model">, ChannelAddress {
  readonly chosenModel: string | null;
  readonly chosenBy: string | null;
  readonly chosenAt: Date | null;
}

const COLUMNS =
  "id, platform, name, kind, workspace, place, is_private, shares_memory, agent, chosen_model, chosen_by, chosen_at, last_seq, settled_to, covered_to, omitted_to, epoch";

/** Under the names of {@link RawChannel}, since one statement returns them as JSON. */
export const COLUMNS_OF_C = COLUMNS.replaceAll(/\w+/g, (column) => `c.${column} as "${camelKey(column)}"`);

/** SQL: the address of the channel `c`. */
export const ADDRESS_OF_C = "json_build_object('platform', c.platform, 'name', c.name)";

/** Patterns of ids that no platform has given. */
export const OWN_IDS: readonly string[] = OWN_PREFIXES.map((prefix) => `${prefix}%`);

export function toChannel(row: RawChannel): ChannelRow {
  const { platform, name, chosenModel, chosenBy: by, chosenAt: at, ...same } = row;
  const model = chosenModel === null || at === null ? null : { name: chosenModel, by, at };
  return { ...same, address: { platform, name }, model };
}

/** A channel as an inbound message describes it. */
export interface ChannelDescription {
  readonly address: ChannelAddress;
  readonly kind: ChannelKind;
  readonly workspace: string;
  /** Default: its platform tells no names. */
  readonly place?: Place | undefined;
  /** Left out: its platform does not tell. */
  readonly isPrivate?: boolean | undefined;
  /** Default: as it was; of a new channel: no. */
  readonly sharesMemory?: boolean;
  readonly agent: AgentId;
}

/** The turn that a reset ended, with the platform's ids of the messages that it will not answer. */
export interface ResetTurn {
  readonly id: TurnId;
  readonly messageIds: readonly string[];
}

/** The message that has waited the longest for a turn in the channel `c`. */
export const OLDEST_DUE = `select e.appended_at from entries e
  where e.channel_id = c.id and e.addressed and e.seq > c.settled_to order by e.seq limit 1`;

/** SQL: whether work of a feature is open in a channel. @param channel SQL: its id */
export function openWorkOf(channel: string): string {
  const all = FEATURE_WORK.map(
    ({ table }) => `exists (select from ${table} w where w.channel_id = ${channel} and w.closed_at is null)`,
  );
  return `(${["false", ...all].join(" or ")})`;
}

/** SQL: how far the work of each feature in the channel `c` is, appended to a text. */
const WORK_PROGRESS = FEATURE_WORK.map(
  ({ table, progress }) => `|| ', ${table} ' || coalesce((
     select case when count(*) > 0 then ${progress} end from ${table} w where w.channel_id = c.id and w.closed_at is null), 'none')`,
).join("");

/** The channel `c` has a due message, a running turn or an undelivered answer. */
export const IS_WAITED_FOR = `(
  (due_to > settled_to and exists (
    select from entries e where e.channel_id = c.id and e.addressed and e.seq > c.settled_to))
  or exists (select from turns t where t.channel_id = c.id and t.state = 'running')
  or exists (select from deliveries d where d.channel_id = c.id and d.state = 'pending'))`;

/** Something is to be done in the channel `c`. $2: so many entries that nothing covers are. */
const HAS_WORK = `(${IS_WAITED_FOR}
  or omitted_to > covered_to or last_seq - covered_to >= $2
  or exists (select from jobs j where j.channel_id = c.id and j.state in ('running', 'staged'))
  or ${openWorkOf("c.id")}
  or exists (select from summaries s where s.channel_id = c.id and s.live and s.needs_redo))`;

export class ChannelStore extends Rows {
  /**
   * The channel's id; its row is made where it is new, and its agent, its names and what it shares follow what is said now. A
   * message that was read before a channel became private does not make it public again: `tellPrivacy` does.
   */
  async open(channel: ChannelDescription): Promise<ChannelId> {
    const { address, kind, workspace, place, agent, isPrivate, sharesMemory } = channel;
    const known = await this.find(address);
    if (known !== undefined && isSame(channel, known)) return known.id;
    const [row] = await this.db.query<{ id: ChannelId }>(
      "channel_open",
      `insert into channels (platform, name, kind, workspace, place, agent, is_private, shares_memory)
       values ($1, $2, $3, $4, $5, $6, $7, coalesce($8, false))
       on conflict (platform, name)
       do update set agent = excluded.agent, place = coalesce(excluded.place, channels.place),
                     is_private = case when excluded.is_private then true
                                         else coalesce(channels.is_private, excluded.is_private) end,
                     shares_memory = coalesce($8, channels.shares_memory) returning id`,
      [
        address.platform,
        address.name,
        kind,
        workspace,
        place ?? null,
        agent,
        isPrivate ?? null,
        sharesMemory ?? null,
      ],
    );
    if (row === undefined) throw new Error("channel_open returned no row");
    return row.id;
  }

  /**
   * Notes whether channels are private; those that the log does not have are left out. That a channel became public at a time counts
   * only where nothing newer is known, and makes what was said before private, also where that is news.
   */
  async tellPrivacy(platform: string, told: readonly ChannelPrivacy[]): Promise<void> {
    await this.db.query(
      "channels_privacy",
      `update channels c set is_private = told.is_private, privacy_from = coalesce(told.at, c.privacy_from)
         from unnest($2::text[], $3::boolean[], $4::timestamptz[]) told (name, is_private, at)
        where c.platform = $1 and c.name = told.name
          and case when told.at is null or (told.is_private and c.is_private is distinct from true)
                   then c.is_private is distinct from told.is_private
                   else c.privacy_from is null or told.at > c.privacy_from end`,
      [
        platform,
        told.map(({ channel }) => channel.name),
        told.map(({ isPrivate }) => isPrivate),
        told.map(({ at }) => at ?? null),
      ],
    );
  }

  /** How many channels have an agent that is not among these, by that agent's id. */
  async withOtherAgents(
    agents: readonly AgentId[],
  ): Promise<{ readonly agent: string; readonly channels: number }[]> {
    return this.db.query<{ agent: string; channels: number }>(
      "channels_of_others",
      "select agent, count(*)::integer as channels from channels where agent <> all($1) group by agent order by agent",
      [agents],
    );
  }

  async find(address: ChannelAddress): Promise<ChannelRow | undefined> {
    const [row] = await this.db.query<RawChannel>(
      "channel_find",
      `select ${COLUMNS} from channels where platform = $1 and name = $2`,
      [address.platform, address.name],
    );
    return row && toChannel(row);
  }

  async get(id: ChannelId): Promise<ChannelRow | undefined> {
    const [row] = await this.db.query<RawChannel>(
      "channel_get",
      `select ${COLUMNS} from channels where id = $1`,
      [id],
    );
    return row && toChannel(row);
  }

  async newest(limit: number): Promise<ChannelRow[]> {
    const rows = await this.db.query<RawChannel>(
      "channels_newest",
      `select ${COLUMNS} from channels order by id desc limit $1`,
      [limit],
    );
    return rows.map(toChannel);
  }

  /**
   * Raises the epoch: whoever owned the channel before can no longer write to it.
   * @param partitionEpoch with which this daemon has taken the channel's partition; null: it belongs to no cluster
   * @throws StalePartitionError if another daemon has taken the partition since
   */
  async take(id: ChannelId, partitionEpoch: number | null = null): Promise<number> {
    const take = "update channels set epoch = epoch + 1 where id = $1 returning epoch";
    const takeInPartition = "select take_channel($1, $2) as epoch";
    const [row] = await (partitionEpoch === null
      ? this.db.query<{ epoch: number }>("channel_take", take, [id])
      : this.db.query<{ epoch: number }>("channel_take_in_partition", takeInPartition, [id, partitionEpoch]));
    if (row === undefined) throw new Error(`channel ${id} does not exist`);
    return row.epoch;
  }

  /** The channels that have a message with this id: its own, and threads that it is background of. */
  async withMessage(platform: string, messageId: string): Promise<ChannelRow[]> {
    const rows = await this.db.query<RawChannel>(
      "channels_with_message",
      `select ${COLUMNS_OF_C} from entries e join channels c on c.id = e.channel_id
        where e.message_id = $2 and c.platform = $1 order by c.id`,
      [platform, messageId],
    );
    return rows.map(toChannel);
  }

  /** A message was taken back, wherever it stood. */
  async wasTakenBack(platform: string, messageId: string): Promise<boolean> {
    const rows = await this.db.query(
      "message_taken_back",
      `select from entries e join channels c on c.id = e.channel_id
        where e.message_id = $2 and c.platform = $1 and e.deleted_at is not null limit 1`,
      [platform, messageId],
    );
    return rows.length > 0;
  }

  /** Somebody has asked the agent something there. */
  async hasAddressed(address: ChannelAddress): Promise<boolean> {
    const rows = await this.db.query(
      "channel_has_addressed",
      `select from channels c where c.platform = $1 and c.name = $2
          and exists (select from entries e where e.channel_id = c.id and e.addressed)`,
      [address.platform, address.name],
    );
    return rows.length > 0;
  }

  /** The platform's ids of the newest messages of people that are not deleted, and that it knows, or that are quoted; the newest first. */
  async held(address: ChannelAddress, limit: number): Promise<string[]> {
    const rows = await this.db.query<{ messageId: string }>(
      "channel_held",
      `select held.message_id from channels c cross join lateral (
         (select e.message_id, e.seq from entries e
           where e.channel_id = c.id and e.kind = 'user' and e.deleted_at is null and not (e.message_id like any ($4))
           order by e.seq desc limit $3)
         union all
         (select q.message_id, q.seq from quotes q where q.channel_id = c.id order by q.seq desc limit $3)) held
        where c.platform = $1 and c.name = $2
        order by held.seq desc limit $3`,
      [address.platform, address.name, limit, OWN_IDS],
    );
    return rows.map((row) => row.messageId);
  }

  /**
   * Channels of a platform that have something to do: due messages, a turn that runs, an answer to deliver, or
   * work of a feature, or something to compact (a job, an omission, a summary to be written again, `rawEntries` or more that nothing covers).
   */
  async withWork(platforms: readonly string[], rawEntries: number): Promise<ChannelRow[]> {
    const rows = await this.db.query<RawChannel>(
      "channels_with_work",
      `select ${COLUMNS} from channels c where platform = any($1) and ${HAS_WORK} order by id`,
      [platforms, rawEntries],
    );
    return rows.map(toChannel);
  }

  /** The same in some partitions; the longest wait for an answer comes first. */
  async withWorkIn(
    partitions: readonly number[],
    platforms: readonly string[],
    rawEntries: number,
  ): Promise<ChannelRow[]> {
    const rows = await this.db.query<RawChannel>(
      "channels_with_work_in",
      `select ${COLUMNS} from channels c
         left join lateral (${OLDEST_DUE}) d on c.due_to > c.settled_to
        where partition = any($3) and platform = any($1) and ${HAS_WORK}
        order by d.appended_at nulls last, id`,
      [platforms, rawEntries, partitions],
    );
    return rows.map(toChannel);
  }

  /**
   * What a channel's owner has still to do for people, in words that change with each step of it; null: nothing.
   * `isBegun`: false: a message is due, and no turn runs.
   */
  async unfinished(id: ChannelId): Promise<{ readonly told: string; readonly isBegun: boolean } | null> {
    const [row] = await this.db.query<{ told: string; isBegun: boolean }>(
      "channel_unfinished",
      `select format('epoch %s, settled to %s, last entry %s, turn %s, %s to be sent', c.epoch, c.settled_to,
                (select max(e.seq) from entries e where e.channel_id = c.id and e.turn_id is not null),
                coalesce(t.id || ' begun ' || t.attempts || ' times', 'none'), d.pending) ${WORK_PROGRESS} as told,
              t.id is not null or not w.is_due as is_begun
         from channels c left join turns t on t.channel_id = c.id and t.state = 'running',
              lateral (select count(*) as pending from deliveries d where d.channel_id = c.id and d.state = 'pending') d,
              lateral (select exists (
                select from entries e where e.channel_id = c.id and e.addressed and e.seq > c.settled_to) as is_due) w
        where c.id = $1 and (d.pending > 0 or t.id is not null or ${openWorkOf("c.id")} or w.is_due)`,
      [id],
    );
    return row ?? null;
  }

  /** Moves the omission on; it never falls. */
  async omit(id: ChannelId, epoch: number, toSeq: Seq): Promise<boolean> {
    const rows = await this.db.query(
      "channel_omit",
      "update channels set omitted_to = greatest(omitted_to, $3) where id = $1 and epoch = $2 returning id",
      [id, epoch, toSeq],
    );
    return rows.length === 1;
  }

  /** Covers everything up to `toSeq` without a text, and settles what was due. @returns the turn that settled it */
  async reset(id: ChannelId, epoch: number, toSeq: Seq): Promise<ResetTurn | null> {
    const [row] = await this.db.query<ResetTurn>(
      "channel_reset",
      `select turn_id as id, coalesce(message_ids, '{}') as message_ids from reset_channel($1, $2, $3)
        where turn_id is not null`,
      [id, epoch, toSeq],
    );
    return row ?? null;
  }
}

function isSame({ agent, place, isPrivate, sharesMemory }: ChannelDescription, known: ChannelRow): boolean {
  return (
    known.agent === agent &&
    (place === undefined || isDeepStrictEqual(place, known.place)) &&
    (isPrivate === undefined || known.isPrivate === isPrivate || (known.isPrivate === true && !isPrivate)) &&
    (sharesMemory === undefined || known.sharesMemory === sharesMemory)
  );
}

export async function readChannel(client: Queryable, id: ChannelId): Promise<ChannelRow> {
  const [row] = await client.query<RawChannel>(
    "channel_read",
    `select ${COLUMNS} from channels where id = $1`,
    [id],
  );
  if (row === undefined) throw new Error(`channel ${id} does not exist`);
  return toChannel(row);
}
