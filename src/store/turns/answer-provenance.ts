import type { RecalledIds } from "../../core/entry.ts";
import type { AgentId, ChannelAddress, ChannelId, Seq, TurnId } from "../../core/ids.ts";
import { Rows } from "../database/rows.ts";
import type { TurnState } from "./turns.ts";

export interface AnswerRecord {
  readonly turn: TurnId;
  readonly at: Date;
  /** The turn's entries, by seq: the messages that it answered, its calls with their results, the answer itself. */
  readonly seqs: readonly Seq[];
  /** Who answered; null: the channel's own agent. */
  readonly agent: AgentId | null;
  /** What was found for it before its model was asked. */
  readonly recalled: RecalledIds;
  /** From the turn's begin to its settlement, ms. */
  readonly turnMs: number;
  readonly modelMs: number;
  readonly calls: readonly { readonly model: string; readonly outcome: string; readonly totalMs: number }[];
}

export interface MessageEnd {
  /** `stopped` also where it was covered by `/reset`. */
  readonly state: TurnState;
  readonly reason: string | null;
  /** The platform's ids of the messages that the turn owned. */
  readonly inReplyTo: readonly string[];
  /** Whether its answer was delivered; `none`: there is nothing to deliver, or there will never be. */
  readonly delivery: "pending" | "sent" | "none";
  /** Of a delivered answer. */
  readonly answer: {
    readonly messageId: string;
    readonly text: string;
    readonly kind: "answer" | "notice";
    /** Who answered; null: the channel's own agent. */
    readonly agent: AgentId | null;
  } | null;
}

interface RawAnswer extends Omit<AnswerRecord, "seqs" | "calls" | "recalled"> {
  readonly fromSeq: Seq;
  readonly toSeq: Seq;
  readonly seq: Seq;
  readonly recalled: Partial<RecalledIds> | null;
}

/** Bills of so many calls are looked through for those of the last answer. */
const NEWEST_CALLS = 1000;

/** Facts about answers, for commands and reports. */
export class AnswerProvenanceStore extends Rows {
  /** The people whose messages are being answered, or wait for the next turn where none runs: their ids. */
  async beingAnswered(channel: ChannelId): Promise<string[]> {
    const rows = await this.db.query<{ authorId: string }>(
      "answers_asked_by",
      `select distinct e.author_id from channels c
         left join turns t on t.channel_id = c.id and t.state = 'running'
         join entries e on e.channel_id = c.id and e.addressed and e.seq > c.settled_to
                           and e.seq <= coalesce(t.to_seq, c.last_seq)
        where c.id = $1`,
      [channel],
    );
    return rows.map((row) => row.authorId);
  }

  /** The agent that wrote a message of this bot; null: the channel's own agent, or it is not a message of this bot. */
  async agentOf({ platform, name }: ChannelAddress, messageId: string): Promise<AgentId | null> {
    const [row] = await this.db.query<{ agent: AgentId | null }>(
      "answer_agent",
      `select e.data->>'agent' as agent from channels c
         join deliveries d on d.channel_id = c.id and d.message_id = $3
         join entries e on e.channel_id = d.channel_id and e.seq = d.entry_seq
        where c.platform = $1 and c.name = $2 limit 1`,
      [platform, name, messageId],
    );
    return row?.agent ?? null;
  }

  /** Ids of the authors of these messages of a direct conversation; empty: another kind of channel, or the log lacks the messages. */
  async authorsInDm({ platform, name }: ChannelAddress, messageIds: readonly string[]): Promise<string[]> {
    const rows = await this.db.query<{ authorId: string }>(
      "answer_dm_authors",
      `select distinct e.author_id from channels c join entries e on e.channel_id = c.id
        where c.platform = $1 and c.name = $2 and c.kind = 'dm' and e.kind = 'user' and e.message_id = any($3)`,
      [platform, name, messageIds],
    );
    return rows.map((row) => row.authorId);
  }

  /** The newest turn of a channel, if it failed; null: it did not, or there is none. */
  async lastFailure(
    channel: ChannelId,
  ): Promise<{ readonly at: Date; readonly reason: string | null } | null> {
    const [row] = await this.db.query<{ state: TurnState; at: Date; reason: string | null }>(
      "answer_last_failure",
      `select state, settled_at as at, reason from turns where channel_id = $1 and state <> 'running'
        order by to_seq desc, id desc limit 1`,
      [channel],
    );
    return row?.state === "failed" ? { at: row.at, reason: row.reason } : null;
  }

  /** How the turn ended that a message belongs to; null: it has not yet, or the log does not have the message. */
  async endOf({ platform, name }: ChannelAddress, messageId: string): Promise<MessageEnd | null> {
    const [row] = await this.db.query<MessageEnd>(
      "answer_end",
      `select coalesce(t.state, 'stopped') as state, t.reason, case when d.state in ('pending', 'sent') then d.state else 'none' end as delivery,
              coalesce((select array_agg(o.message_id order by o.seq) from entries o where o.channel_id = t.channel_id
                  and o.addressed and o.seq between t.from_seq and t.to_seq), array[$3]) as in_reply_to,
              case when d.state = 'sent' and d.message_id is not null and e.text <> '' then json_build_object(
                'messageId', d.message_id, 'text', e.text, 'kind', case e.kind when 'assistant' then 'answer' else 'notice' end,
                'agent', e.data->>'agent') end as answer
         from channels c
         join entries m on m.channel_id = c.id and m.message_id = $3 and m.kind = 'user' and m.seq <= c.settled_to
         left join turns t on t.channel_id = c.id and t.to_seq >= m.seq and t.from_seq <= m.seq and t.state <> 'running'
         left join deliveries d on d.turn_id = t.id and d.part = 0
         left join entries e on e.channel_id = d.channel_id and e.seq = d.entry_seq
        where c.platform = $1 and c.name = $2 order by t.id desc limit 1`,
      [platform, name, messageId],
    );
    return row ?? null;
  }

  async last(channel: ChannelId): Promise<AnswerRecord | null> {
    const [answer] = await this.db.query<RawAnswer>(
      "answer_last",
      `select e.turn_id as turn, t.from_seq, t.to_seq, e.seq, e.at, e.data->'recalled' as recalled, e.data->>'agent' as agent,
              coalesce(t.model_ms, 0) as model_ms,
              (extract(epoch from t.settled_at - t.started_at) * 1000)::float8 as turn_ms
         from entries e join turns t on t.id = e.turn_id
        where e.channel_id = $1 and e.kind = 'assistant' order by e.seq desc limit 1`,
      [channel],
    );
    if (answer === undefined) return null;
    const [entries, calls] = await Promise.all([
      this.db.query<{ seq: number }>(
        "answer_entries",
        `select seq from entries where channel_id = $1 and seq between $2 and $3
            and (turn_id = $4 or (addressed and seq <= $5)) order by seq`,
        [channel, answer.fromSeq, answer.seq, answer.turn, answer.toSeq],
      ),
      this.db.query<AnswerRecord["calls"][number]>(
        "answer_calls",
        `select model, outcome, total_ms
           from (select * from model_calls where channel_id = $1 order by id desc limit $3) newest
          where turn_id = $2 order by id`,
        [channel, answer.turn, NEWEST_CALLS],
      ),
    ]);
    const { turn, at, agent, turnMs, modelMs } = answer;
    const recalled = { entries: [], memories: [], ...answer.recalled };
    return { turn, at, seqs: entries.map(({ seq }) => seq), agent, recalled, turnMs, modelMs, calls };
  }
}
