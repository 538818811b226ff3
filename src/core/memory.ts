import type { MemoryId, Seq } from "./ids.ts";

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

/** Privacy, narrow to wide: a memory from a dm never shows in a channel. */
export type MemoryScope = "dm" | "channel" | "workspace";

/**
 * Why a memory was refused. `unsaid`: the cited lines do not say it. `no_fact`: the lines propose, suppose, ask or joke, or the speaker
 * reports another person's words. `negation`: the lines say the contrary. Refusals are counted, and stored without a text.
 */
export type MemoryRejection =
  | "malformed"
  | "range"
  | "quote"
  | "unsaid"
  | "no_fact"
  | "negation"
  | "speaker"
  | "relative_date"
  | "time"
  | "restated_prompt"
  | "restated_memory"
  | "secret"
  | "instruction"
  | "wish";

export interface MemorySource {
  readonly seq: Seq;
  readonly quote: string;
}

/** A memory in force as it is compared with other ones. */
export interface StatedMemory extends Pick<
  Memory,
  "id" | "type" | "scope" | "subject" | "assertedBy" | "statement" | "at"
> {
  readonly agent: string;
  /** Id of the person who says it; null: the agent. */
  readonly by: string | null;
}

/** How a new statement may change an older one. */
export const MEMORY_CHANGES = ["replaces", "repeats", "contradicts"] as const;

/** A summariser's judgement of two memories of a channel. */
export interface Revision {
  readonly fresh: MemoryId;
  readonly older: MemoryId;
  readonly change: (typeof MEMORY_CHANGES)[number];
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
  /** Name of the person who said it first, or of the tool that returned it. */
  readonly assertedBy: string;
  /** Set: nobody said it, and results of this tool prove it. Left out: people's words prove it, or the agent's. */
  readonly tool?: string;
  readonly statement: string;
  /** 0 to 1. */
  readonly importance: number;
  /** When the newest source was said, ISO 8601. */
  readonly at: string;
  /** The days that it refers to, apart from when it was said; left out: no days. */
  readonly refers?: DayRange;
  /** At least one. */
  readonly sources: readonly MemorySource[];
  /** The terms of its statement (`text/terms.ts`); left out: its own. */
  readonly telling?: readonly string[];
  /**
   * The entries that have each term of `telling`, of the texts that the model had read; 0: another text has it
   * (`memory/line-terms.ts`). Left out: not recorded.
   */
  readonly said?: Readonly<Record<string, readonly Seq[]>>;
  /** The marks for a comparison with stored memories (`memory/statement-marks.ts`); left out: no comparison. */
  readonly marks?: readonly string[];
  readonly about?: readonly string[];
  readonly slots?: readonly string[];
}

export interface Memory extends Pick<
  MemoryDraft,
  "type" | "subject" | "assertedBy" | "tool" | "statement" | "importance" | "refers"
> {
  readonly id: MemoryId;
  readonly scope: MemoryScope;
  readonly at: Date;
  /**
   * An older memory with the same statement in other words, which is recalled in its place while it is valid; left out: there
   * is no such memory.
   */
  readonly sameAs?: MemoryId;
  /** Number of entries with this statement, in these words or others. */
  readonly proofs: number;
  /** When its speaker replaced it with a newer statement; left out: it is valid. */
  readonly until?: Date;
  /** Contradicting memories of other people; left out: there are no such memories. */
  readonly otherwise?: readonly Dissent[];
  /** The person's page that shows it in a request. Left out: no page does. */
  readonly page?: PersonPage;
  /** Nothing but the page has brought it; left out: it was recalled. */
  readonly isOnPageAlone?: true;
}

/** Whose a statement is, for people: its speaker's name, or `seen by the tool NAME`. */
export function whoseOf({ assertedBy, tool }: Pick<Memory, "assertedBy" | "tool">): string {
  return tool === undefined ? assertedBy : `seen by the tool ${tool}`;
}

/** What is remembered of one person, as a request shows it. */
export interface PersonPage {
  /** Of the person, as memories have it. */
  readonly name: string;
  /** The request asks about the person; else the person only asks. */
  readonly isAskedAbout: boolean;
}

/** Another person's memory that contradicts this one, with its author and time. */
export interface Dissent {
  readonly id: MemoryId;
  readonly assertedBy: string;
  readonly at: Date;
}

/** The memory without dissents outside this list: the name of a hidden memory would survive its deletion. */
export function namingOnly<One extends Pick<Memory, "otherwise">>(
  memory: One,
  ids: readonly number[],
): Omit<One, "otherwise"> & Pick<Memory, "otherwise"> {
  const { otherwise, ...rest } = memory;
  const named = otherwise?.filter(({ id }) => ids.includes(id)) ?? [];
  return named.length === 0 ? rest : { ...rest, otherwise: named };
}
