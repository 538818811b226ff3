import { Rows } from "../database/rows.ts";
import type { Entry, RecalledIds, TurnEntryDraft, UserEntry } from "../../core/entry.ts";
import type { TurnRange } from "../../core/history.ts";
import type { AgentId, ChannelId, Owner, Seq, TurnId } from "../../core/ids.ts";
import type { TurnTime } from "../../core/pace.ts";
import { sliceWhole, storableText } from "../../text/text.ts";
import type { Delivery } from "./deliveries.ts";
import { toDraftRow } from "../log/draft-rows.ts";
import { draftMessage, draftRecord, type LoggedMessage } from "../log/message-rows.ts";
import { entryOfDraft } from "../log/log.ts";
import { billRecords, type ModelCallRow } from "./model-calls.ts";
import { ASYNC_COMMIT, type Database } from "../database/database.ts";
import { GroupCommit } from "../database/group-commit.ts";
import type { Queryable } from "../database/queryable.ts";
import { begunTurn, questionOf, type RawTurn, type RunningTurn, runningTurn } from "./turn-rows.ts";

export type TurnState = "answered" | "skipped" | "stopped" | "failed";

export interface TurnEnd {
  readonly state: TurnState;
  readonly reason: string | null;
  readonly modelMs: number;
  /** The platform's ids of the messages that it settled. */
  readonly inReplyTo: string[];
}

/** How a turn ends: with an entry that people see, or without (a skip). */
export interface Settlement {
  readonly state: TurnState;
  /** Why; never shown to a channel. In Weir's words alone: no deletion reaches it. */
  readonly reason: string | null;
  readonly modelMs: number;
  readonly entry: TurnEntryDraft | null;
  /** One per part of the entry's text; empty if nothing is sent. */
  readonly idempotencyKeys: readonly string[];
  /** Its model calls that are not stored yet. */
  readonly calls?: readonly ModelCallRow[];
  /** What was found for its answer; it is stored with that, and no part of the history. */
  readonly recalled?: RecalledIds;
  /** Set: the turn ends with a hand-off, and this comes into the log with its end. */
  readonly handOff?: LoggedMessage;
}

export interface Settled {
  /** The turn's last entry, where it has one. */
  readonly entry: Entry | null;
  readonly parts: Delivery[];
  /** What was handed over; null: nothing, or the log had it already. */
  readonly handedOver: UserEntry | null;
}

const SETTLE = "select entry_seq, parts from settle_turn($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)";
const SETTLE_HANDING_OVER =
  "select entry_seq, parts, handed_seq, handed_text from settle_handing_over($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)";

interface RawSettled {
  entrySeq: number | null;
  parts: RawPart[];
  handedSeq?: number | null;
  handedText?: string;
}

/** Most turns that one transaction settles: all wait for the last of it. */
const MAX_SETTLED = 16;

/** The parameters of `settle_turn`, by the names of `settle_turns`. */
interface SettlementRow {
  readonly channel: ChannelId;
  readonly epoch: number;
  readonly turn: TurnId;
  readonly state: TurnState;
  readonly reason: string | null;
  readonly model_ms: number;
  readonly at: Date;
  readonly entry: Record<string, unknown> | null;
  readonly keys: readonly string[];
  readonly calls: readonly Record<string, unknown>[] | null;
}

/** Longest reason, in UTF-16 units. */
const MAX_REASON = 2000;

interface RawPart {
  id: number;
  part: number;
  key: string;
  message_id: string | null;
  drafted: boolean;
}

/** Rows of `turns`. Every write carries the owner's epoch; an old one is refused. */
export class TurnStore extends Rows {
  readonly #settled: GroupCommit<SettlementRow, RawSettled>;

  /** @param writers statements at once that settle turns of several channels */
  constructor(db: Database, writers = 1) {
    super(db);
    this.#settled = new GroupCommit({
      most: MAX_SETTLED,
      writers,
      lengthOf: ({ entry }) => (typeof entry?.["text"] === "string" ? entry["text"].length : 0),
      together: async (rows) => this.#settleTogether(rows),
      alone: async (row) => this.#settleAlone(row),
    });
  }

  /**
   * The row of a turn that begins. Its commit does not wait for the disk: whatever of the turn can be seen is committed
   * later and waits, for this row as well. If the machine fails before that, the messages are due as if it had failed
   * before the turn began.
   * @param agent who answers; default: the channel's own agent
   * @param by the turn that has begun it; null, the default: a person began it
   * @returns null if a turn runs already: one of a message whose append was committed without our hearing of it
   */
  async begin(
    owner: Owner,
    fromSeq: Seq,
    toSeq: Seq,
    agent?: AgentId,
    by: TurnId | null = null,
  ): Promise<RunningTurn | null> {
    const [row] = await this.db.query<{ id: TurnId; question: TurnId | null; calls: number }>(
      "turn_begin",
      `insert into turns (channel_id, epoch, from_seq, to_seq, agent, question)
       select $1, $2, $3, $4, $5,
              (select coalesce(b.question, b.id) from turns b where b.channel_id = $1 and b.id = $6::bigint)
         from ${ASYNC_COMMIT}
       on conflict (channel_id) where state = 'running' do nothing
       returning id, question, case when question is null then 0 else calls_of_question(question) end as calls`,
      [owner.channel, owner.epoch, fromSeq, toSeq, agent ?? null, by],
    );
    if (row === undefined) return null;
    return { ...begunTurn(row.id, fromSeq, toSeq, agent), ...questionOf(row.question, row.calls) };
  }

  /**
   * Starts a turn once more that did not settle. The epoch in its row tells whether another owner began it last: that one
   * has ended over it. Asked twice, it counts neither that nor the failures twice.
   * @param failures of its own so far
   */
  async beginAgain(owner: { epoch: number }, turn: RunningTurn, failures: number): Promise<RunningTurn> {
    const [row] = await this.db.query<Pick<RunningTurn, "attempts" | "deaths" | "failures">>(
      "turn_begin_again",
      `update turns set attempts = attempts + 1, deaths = deaths + (epoch <> $2)::integer,
                        failures = greatest(failures, $3), epoch = $2
        where id = $1 and state = 'running' returning attempts, deaths, failures`,
      [turn.id, owner.epoch, failures],
    );
    if (row === undefined) throw new Error(`turn ${turn.id} is not running`);
    return { ...turn, ...row };
  }

  /**
   * A running turn takes in messages up to `toSeq`: it answers them too.
   * @throws StaleEpochError if the channel has a new owner, Error if the turn does not run
   */
  async takeIn({ epoch }: { epoch: number }, id: TurnId, toSeq: Seq): Promise<void> {
    const rows = await this.db.query(
      "turn_take_in",
      `update turns set to_seq = greatest(to_seq, $3), epoch = $2 where id = $1 and state = 'running' returning id`,
      [id, epoch, toSeq],
    );
    if (rows.length === 0) throw new Error(`turn ${id} is not running`);
  }

  /** The agent of the newest turn of a channel; undefined: the channel's own agent, or there is no turn. */
  async lastAnswerer(channel: ChannelId): Promise<AgentId | undefined> {
    const [row] = await this.db.query<{ agent: AgentId | null }>(
      "turn_last_agent",
      "select agent from turns where channel_id = $1 order by id desc limit 1",
      [channel],
    );
    return row?.agent ?? undefined;
  }

  async outcome(id: TurnId): Promise<TurnEnd | null> {
    const [row] = await this.db.query<{
      state: TurnState | "running";
      reason: string | null;
      modelMs: number | null;
      ids: string[] | null;
    }>(
      "turn_outcome",
      `select t.state, t.reason, t.model_ms,
              (select array_agg(e.message_id order by e.seq) from entries e where e.channel_id = t.channel_id
                  and e.addressed and e.seq between t.from_seq and t.to_seq) as ids
         from turns t where t.id = $1`,
      [id],
    );
    if (row === undefined || row.state === "running") return null;
    return { state: row.state, reason: row.reason, modelMs: row.modelMs ?? 0, inReplyTo: row.ids ?? [] };
  }

  /** The one transaction that settles a turn. */
  async settle(owner: Owner, turn: TurnRange, settlement: Settlement, at: Date): Promise<Settled> {
    const { state, reason, modelMs, entry, idempotencyKeys, calls = [], recalled, handOff } = settlement;
    const handed = handOff === undefined ? null : draftMessage(handOff);
    const settled: SettlementRow = {
      channel: owner.channel,
      epoch: owner.epoch,
      turn: turn.id,
      state,
      reason: reason === null ? null : sliceWhole(storableText(reason), 0, MAX_REASON),
      model_ms: Math.round(modelMs),
      at,
      entry: entry && entryRow(entry, recalled, turn.agent),
      keys: idempotencyKeys,
      calls: calls.length === 0 ? null : billRecords(calls),
    };
    const row = await (handed === null
      ? this.#settled.write(settled)
      : this.#settleHandingOver(settled, JSON.stringify(draftRecord(handed))));
    const whole = { turnId: turn.id, form: "whole" as const, piece: 0, leftover: null };
    const parts = row.parts.map(({ key, message_id: messageId, ...part }) => {
      return { ...part, ...whole, idempotencyKey: key, messageId };
    });
    const seq = row.handedSeq ?? null;
    const handedOver =
      handed === null || seq === null ? null : { ...handed, seq, text: row.handedText ?? handed.text };
    if (entry === null || row.entrySeq === null) return { entry: null, parts, handedOver };
    const by = { id: turn.id, after: turn.toSeq, agent: turn.agent };
    return { entry: entryOfDraft(entry, row.entrySeq, by, at), parts, handedOver };
  }

  async #settleTogether(rows: readonly SettlementRow[]): Promise<(RawSettled | undefined)[]> {
    const settled = await this.db.query<RawSettled & { place: number }>(
      "settle_turns",
      "select place, entry_seq, parts from settle_turns($1)",
      [JSON.stringify(rows)],
    );
    const byPlace = new Map(settled.map((one) => [one.place, one]));
    return rows.map((_, index) => byPlace.get(index + 1));
  }

  async #settleAlone(row: SettlementRow): Promise<RawSettled> {
    return onlyRow(await this.db.query<RawSettled>("settle_turn", SETTLE, settleValues(row)));
  }

  async #settleHandingOver(row: SettlementRow, message: string): Promise<RawSettled> {
    const values = [...settleValues(row), message];
    return onlyRow(await this.db.query<RawSettled>("settle_handing_over", SETTLE_HANDING_OVER, values));
  }
}

function settleValues(row: SettlementRow): unknown[] {
  const { channel, epoch, turn, state, reason, model_ms: modelMs, at, entry, keys, calls } = row;
  const [entryJson, callsJson] = [entry && JSON.stringify(entry), calls && JSON.stringify(calls)];
  return [channel, epoch, turn, state, reason, modelMs, at, entryJson, keys, callsJson];
}

function onlyRow([row]: readonly RawSettled[]): RawSettled {
  if (row === undefined) throw new Error("a settlement returned no row");
  return row;
}

function entryRow(
  entry: TurnEntryDraft,
  recalled: RecalledIds | undefined,
  agent: AgentId | undefined,
): Record<string, unknown> {
  const row = toDraftRow(entry, agent);
  const isAnyRecalled = recalled !== undefined && recalled.entries.length + recalled.memories.length > 0;
  if (entry.kind !== "assistant" || !isAnyRecalled) return row;
  const data = typeof row["data"] === "object" ? row["data"] : null;
  return { ...row, data: { ...data, recalled } };
}

/** The turn that a channel's last owner left behind, if any; that this one has ended over it counts already. */
export async function readRunningTurn(client: Queryable, channel: ChannelId): Promise<RunningTurn | null> {
  const [row] = await client.query<RawTurn>(
    "turn_running",
    `select t.id, t.from_seq, t.to_seq, t.attempts, t.deaths + (t.epoch <> c.epoch)::integer as deaths, t.failures, t.agent,
            t.question, calls_of_question(coalesce(t.question, t.id)) as calls
       from turns t join channels c on c.id = t.channel_id where t.channel_id = $1 and t.state = 'running'`,
    [channel],
  );
  return row === undefined ? null : runningTurn(row);
}

/** When the newest turns of a channel's own agent began, oldest first. */
export async function readTurnTimes(
  client: Queryable,
  channel: ChannelId,
  most: number,
): Promise<readonly TurnTime[]> {
  const rows = await client.query<{ id: TurnId; at: Date }>(
    "turn_times",
    `select id, started_at as at from turns where channel_id = $1 and agent is null
      order by to_seq desc, id desc limit $2`,
    [channel, most],
  );
  return rows.toReversed().map(({ id, at }) => ({ id, at: at.getTime() }));
}
