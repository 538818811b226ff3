import { createHash } from "node:crypto";
import type { Focus, Pressure, Section, Segment } from "../../core/context.ts";
import type { Omission, Summary } from "../../core/history.ts";
import type { RecalledIds } from "../../core/entry.ts";
import { type AgentId, type ChannelId, type JobId, type Seq, type TurnId } from "../../core/ids.ts";
import { storableText } from "../../text/text.ts";
import { Rows } from "../database/rows.ts";

/**
 * What the last request of a turn was made of. Of messages it holds only the words by which sections were chosen.
 */
export interface ContextRecord {
  readonly turn: TurnId;
  readonly at: Date;
  /** Who answered; left out: the channel's own agent. */
  readonly agent?: AgentId;
  readonly model: string;
  /** Tokens. */
  readonly window: number;
  /** Tokens of the window that a request may use. */
  readonly usable: number;
  /** Estimated tokens of the whole request. */
  readonly tokens: number;
  /** UTF-16 units of its texts. */
  readonly characters: number;
  /** Tokens of the whole request, omitted entries included, over the usable window. */
  readonly usage: number;
  readonly pressure: Pressure;
  /** What the provider has counted; null: nothing. */
  readonly reported: {
    readonly promptTokens: number;
    readonly cachedTokens: number;
    /** Left out: the provider did not say. */
    readonly writtenTokens?: number;
  } | null;
  readonly segments: readonly Omit<Segment, "messages">[];
  readonly sections: readonly RecordedSection[];
  readonly focus: Focus;
  /** Limits of the sections, in characters. */
  readonly budget: { readonly each: number; readonly all: number };
  /** Entries that were shown as they are; null: none. */
  readonly raw: { readonly fromSeq: Seq; readonly toSeq: Seq; readonly count: number } | null;
  /** Summaries that were shown, oldest first. */
  readonly summaries: readonly RecordedSummary[];
  readonly recalled: RecalledIds;
  readonly omission: Omit<Omission, "firstAt" | "lastAt"> | null;
  /** Everything before the dynamic part. */
  readonly prefix: RecordedPrefix;
}

export type RecordedSection = Omit<Section, "text"> & {
  /** SHA-256 of the shown text in hexadecimal; null: the section is messages or tools, and no text. */
  readonly sha256: string | null;
};

export interface RecordedSummary extends Pick<Summary, "fromSeq" | "toSeq" | "level" | "tokens"> {
  /** Whose summary it was, as `weir compactions` shows it; null: unknown by now. */
  readonly compaction: JobId | null;
}

export interface RecordedPrefix {
  /** In hexadecimal. */
  readonly sha256: string;
  readonly messages: number;
  /**
   * Whether it begins with the whole prefix of the turn before, so that a cache could hit; null: no turn was before since the
   * start.
   */
  readonly continues: boolean | null;
}

/** What a turn answers, as its request shows it. */
export interface SeenByTurn {
  readonly seenTo: Seq;
  readonly answered: readonly { readonly seq: Seq; readonly text: string }[];
}

export interface TurnRecord {
  readonly channel: ChannelId;
  readonly record: ContextRecord;
  readonly seen: SeenByTurn;
}

/** Turns of a channel whose records are kept, the newest. */
export const KEPT_RECORDS = 20;

/** In the row's JSON: what has no column of its own. */
type Content = Omit<ContextRecord, "turn" | "at">;

interface RawRecord extends Pick<ContextRecord, "turn" | "at"> {
  readonly content: Content;
  readonly jobs: { from: number; to: number; job: JobId }[];
}

export class ContextRecordStore extends Rows {
  /**
   * Keeps the records of turns, and only the newest of a channel, in one transaction.
   * @returns false for a record that is not kept: it may hold texts that were deleted, edited or forgotten since its turn began
   */
  async keep(records: readonly TurnRecord[]): Promise<boolean[]> {
    const rows = await this.db.query<{ kept: boolean }>(
      "context_records_keep",
      "select kept from keep_context_records($1, $2)",
      [JSON.stringify(records.map(toRow), storableValue), KEPT_RECORDS],
    );
    return rows.map(({ kept }) => kept);
  }

  /** @param turn null: the newest that is kept @returns undefined: it is not kept */
  async find(channel: ChannelId, turn: TurnId | null): Promise<ContextRecord | undefined> {
    const [row] = await this.db.query<RawRecord>(
      "context_record_find",
      `select r.turn_id as turn, r.at, r.content, coalesce((
         select jsonb_agg(jsonb_build_object('from', s.from_seq, 'to', s.to_seq, 'job', s.job_id) order by s.id)
           from summaries s where s.channel_id = r.channel_id and s.job_id is not null and s.created_at <= r.at), '[]') as jobs
         from context_records r where r.channel_id = $1 and ($2::bigint is null or r.turn_id = $2)
        order by r.turn_id desc limit 1`,
      [channel, turn],
    );
    if (row === undefined) return undefined;
    const { turn: answered, at, content, jobs } = row;
    return {
      turn: answered,
      at,
      ...content,
      summaries: content.summaries.map((summary) => {
        const made = jobs.findLast(({ from, to }) => from === summary.fromSeq && to === summary.toSeq);
        return { ...summary, compaction: made?.job ?? null };
      }),
    };
  }

  /** The turns whose records are kept, the newest first. */
  async list(channel: ChannelId): Promise<{ readonly turn: TurnId; readonly at: Date }[]> {
    return this.db.query<Pick<ContextRecord, "turn" | "at">>(
      "context_record_list",
      "select turn_id as turn, at from context_records where channel_id = $1 order by turn_id desc",
      [channel],
    );
  }
}

function toRow(kept: TurnRecord): object {
  const {
    channel,
    record: { turn, at, ...content },
    seen: { seenTo, answered },
  } = kept;
  const shown = answered.map(({ seq, text }) => [seq, createHash("md5").update(text).digest("hex")]);
  return { channel, turn, at, seen_to: seenTo, answered: shown, content };
}

/** As the database takes it: a NUL or half a character may stand in a file's name, or where a text was cut. */
function storableValue(_: string, value: unknown): unknown {
  return typeof value === "string" ? storableText(value) : value;
}
