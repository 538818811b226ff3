import type { MemoryId, Seq } from "./ids.ts";

/** What a memory is about: what kind of statement it is. */
export const MEMORY_TYPES = [
  "fact",
  "preference",
  "decision",
  "commitment",
  "event",
  "observation",
  "goal",
  "todo",
  "identity",
  "term",
] as const;
export type MemoryType = (typeof MEMORY_TYPES)[number];

/** Privacy, narrow to wide: what was said in a dm never shows in a channel. */
export type MemoryScope = "dm" | "channel" | "workspace";

/** Why a memory was refused; counted by these, and never with a text. */
export type MemoryRejection =
  | "malformed"
  | "range"
  | "quote"
  | "speaker"
  | "relative_date"
  | "time"
  | "restated_prompt"
  | "restated_memory"
  | "secret"
  | "instruction"
  | "wish";

/** Where a memory comes from: an entry, and words of it. */
export interface MemorySource {
  readonly seq: Seq;
  readonly quote: string;
}

/** Days as ISO 8601 writes them, both inclusive. */
export interface DayRange {
  readonly from: string;
  readonly to: string;
}

/** A statement that has passed the gates; it becomes a memory in the transaction that commits its summary. */
export interface MemoryDraft {
  readonly type: MemoryType;
  readonly subject: string;
  /** Name of the person who said it first. */
  readonly assertedBy: string;
  readonly statement: string;
  /** 0 to 1. */
  readonly importance: number;
  /** When the newest source was said, ISO 8601. */
  readonly at: string;
  /** Of which days it tells, beside when it was said; left out: of none. */
  readonly refers?: DayRange;
  /** At least one. */
  readonly sources: readonly MemorySource[];
  /** By which terms it tells what was said (`text/terms.ts`); left out: its own. */
  readonly telling?: readonly string[];
  /**
   * Of the terms of `telling` that anything has which the model had read: entries that do; 0: something else does (`memory/line-terms.ts`).
   * Left out: nobody has noted that.
   */
  readonly said?: Readonly<Record<string, readonly Seq[]>>;
  /** What it is compared by with what is remembered (`memory/statement-marks.ts`); left out: with nothing. */
  readonly marks?: readonly string[];
  readonly about?: readonly string[];
  readonly slots?: readonly string[];
}

/** A durable statement. */
export interface Memory {
  readonly id: MemoryId;
  readonly type: MemoryType;
  readonly scope: MemoryScope;
  readonly subject: string;
  readonly assertedBy: string;
  readonly statement: string;
  readonly importance: number;
  /** When it was said. */
  readonly at: Date;
  /** Of which days it tells; left out: that is not known. */
  readonly refers?: DayRange;
  /** An older memory that says the same in other words, and is recalled in its place while it holds; left out: none. */
  readonly sameAs?: MemoryId;
  /** How many entries say so, in these words or in others. */
  readonly proofs: number;
  /** When its speaker said something newer of the same; left out: it holds. */
  readonly until?: Date;
  /** What others say otherwise of the same; left out: nothing. */
  readonly otherwise?: readonly Dissent[];
}

/** Another memory, which tells something else of the same thing: whose, and when it was said. */
export interface Dissent {
  readonly id: MemoryId;
  readonly assertedBy: string;
  readonly at: Date;
}

/** A memory that names no others than these: what is shown of a memory is to go with that memory. */
export function namingOnly<One extends Pick<Memory, "otherwise">>(
  memory: One,
  ids: readonly number[],
): Omit<One, "otherwise"> & Pick<Memory, "otherwise"> {
  const { otherwise, ...rest } = memory;
  const named = otherwise?.filter(({ id }) => ids.includes(id)) ?? [];
  return named.length === 0 ? rest : { ...rest, otherwise: named };
}
