import type { ModelSpending } from "../../core/cost.ts";
import type { RecalledIds } from "../../core/entry.ts";
import type { AgentId, ChannelId, Seq, TurnId } from "../../core/ids.ts";
import { Rows } from "../database/rows.ts";
import type { DeliveryForm } from "./deliveries.ts";
import { type ModelCallRow, SPENDING } from "./model-calls.ts";
import type { TurnState } from "./turns.ts";

export interface TurnLine {
  readonly turn: TurnId;
  readonly state: TurnState | "running";
  /** Who answers; null: the channel's own agent. */
  readonly agent: AgentId | null;
  readonly startedAt: Date;
  /** Null: it runs. */
  readonly settledAt: Date | null;
}

export interface TurnDetail extends TurnLine {
  /** Why it ended so, in Weir's words; null: there is nothing to say. */
  readonly reason: string | null;
  /** Of its model calls, ms; null: it runs. */
  readonly modelMs: number | null;
  readonly attempts: number;
  /** The messages that it answers, by seq; the newest. */
  readonly asked: readonly Seq[];
  /** Its calls, results, answer and notices, by seq; the first. */
  readonly written: readonly Seq[];
  /** What was found for its answer. */
  readonly recalled: RecalledIds;
}

export interface TurnCall extends ModelSpending, Pick<ModelCallRow, "purpose" | "outcome"> {
  /** From its request, ms; null: nothing came. */
  readonly firstTokenMs: number | null;
  readonly totalMs: number;
}

export interface TurnDelivery {
  readonly part: number;
  readonly form: DeliveryForm;
  readonly piece: number;
  readonly state: "pending" | "sent" | "failed";
  readonly reason: string | null;
  readonly createdAt: Date;
  /** Null: it is on its way. */
  readonly endedAt: Date | null;
}

/** Messages, entries, calls and parts of one turn that are read at most. */
const MOST_ASKED = 50;
const MOST_WRITTEN = 200;
const MOST_CALLS = 200;
const MOST_PARTS = 200;
/** Entries after a turn's first message that are looked through: no index leads from a turn to its entries. */
const LOOKED_THROUGH = 5000;

/** Single turns, for operators. It writes nothing. */
export class TurnDetailStore extends Rows {
  async newest(channel: ChannelId, limit: number): Promise<TurnLine[]> {
    return this.db.query<TurnLine>(
      "turns_newest",
      `select id as turn, state, agent, started_at, settled_at from turns where channel_id = $1
        order by to_seq desc, id desc limit $2`,
      [channel, limit],
    );
  }

  /** Null: the channel has no such turn. */
  async find(channel: ChannelId, turn: TurnId): Promise<TurnDetail | null> {
    const [row] = await this.db.query<
      Omit<TurnDetail, "recalled"> & { readonly recalled: Partial<RecalledIds> | null }
    >(
      "turn_detail",
      `select t.id as turn, t.state, t.agent, t.started_at, t.settled_at, t.reason, t.model_ms, t.attempts,
              array(select seq from (
                select e.seq from entries e where e.channel_id = t.channel_id and e.addressed and e.seq between t.from_seq and t.to_seq
                 order by e.seq desc limit ${MOST_ASKED}) newest order by seq)::float8[] as asked,
              w.written, w.recalled
         from turns t left join lateral (
           select coalesce(array_agg(seq order by seq)::float8[], '{}') as written, (array_agg(recalled) filter (where kind = 'assistant'))[1] as recalled
             from (select e.seq, e.kind, e.data->'recalled' as recalled from entries e
                    where e.channel_id = t.channel_id and e.turn_id = t.id and e.seq between t.from_seq and t.from_seq + ${LOOKED_THROUGH}
                    order by e.seq limit ${MOST_WRITTEN}) own) w on true
        where t.channel_id = $1 and t.id = $2`,
      [channel, turn],
    );
    if (row === undefined) return null;
    return { ...row, recalled: { entries: [], memories: [], ...row.recalled } };
  }

  async calls(turn: TurnId): Promise<TurnCall[]> {
    return this.db.query<TurnCall>(
      "turn_detail_calls",
      `select purpose, outcome, first_token_ms, total_ms, ${SPENDING} from model_calls
        where turn_id = $1 group by id order by id limit ${MOST_CALLS}`,
      [turn],
    );
  }

  async deliveries(turn: TurnId): Promise<TurnDelivery[]> {
    return this.db.query<TurnDelivery>(
      "turn_detail_deliveries",
      `select part, form, piece, state, reason, created_at, ended_at from deliveries
        where turn_id = $1 order by part, piece limit ${MOST_PARTS}`,
      [turn],
    );
  }
}
