import type { ChannelId, MemoryId, Seq } from "../../core/ids.ts";
import { tellingTerms } from "../../text/terms.ts";
import type { Digester } from "../compaction/extracts.ts";
import type { TermKeys } from "./fingerprints.ts";
import type { ReadyExtracts } from "./ready-extracts.ts";

/** Entries of a channel that lost words, and the terms that they lost. */
export interface RemovedTerms {
  /** Where the words are of another channel: the first entry here that may repeat them. */
  readonly seqs: readonly Seq[];
  readonly terms: ReadonlySet<string>;
  /** Find terms in texts that have expired and are not deleted. */
  readonly keys: TermKeys;
}

/** Up to where a channel was searched before its lock was taken. */
export interface LookedThrough {
  readonly terms: ReadonlySet<string>;
  /** The last entry; earlier entries get no new words. */
  readonly to: Seq;
  /** The oldest transaction that may have changed other rows since; null: no row was read. */
  readonly since: string | null;
}

/** Calls and results of a channel that share a term with the texts. */
export interface FoundCalls extends LookedThrough {
  readonly seqs: readonly Seq[];
}

/** Why words are removed from a channel; `elsewhere`: another channel lost them, and this one was shown them. */
export type Cause =
  | {
      readonly kind: "deleted";
      readonly messageIds: readonly string[];
      readonly found: FoundCalls;
      readonly ready: ReadyExtracts;
    }
  | { readonly kind: "edited"; readonly seq: Seq; readonly text: string; readonly notices: readonly Seq[] }
  | { readonly kind: "elsewhere" };

/** The terms of removed texts that stand in the prompts of a channel and of its threads, by channel. */
export type PromptTerms = ReadonlyMap<ChannelId, ReadonlySet<string>>;

/** What the carriers have found so far that repeats removed words. */
export interface Derived {
  readonly dueWork: Seq[];
  /** Hand-offs that got another text. */
  readonly reworded: Seq[];
  /** Calls and results, also those that the view goes on showing. */
  readonly calls: Seq[];
  /** Memories that were removed, or lost the edited message as a source. */
  readonly memories: MemoryId[];
  readonly promptTerms: Map<ChannelId, ReadonlySet<string>>;
  /** Whether a summary in the view lost sentences. */
  isViewCut: boolean;
}

/** Words that are removed from a channel, in one transaction. */
export interface Removal extends RemovedTerms {
  readonly channel: ChannelId;
  readonly cause: Cause;
  /** Makes the extracts that replace summaries. */
  readonly digester: Digester;
  /** Finds terms that expired entries had, in the rows as they are now. */
  readonly recover: (seqs: readonly Seq[]) => Promise<ReadonlySet<string>>;
  readonly derived: Derived;
}

/** The terms that texts had and their new text lacks. Pure. */
export function termsRemoved(former: readonly string[], now = ""): Set<string> {
  return new Set(former.flatMap((text) => [...tellingTerms(text)])).difference(tellingTerms(now));
}

export function deletedEntries({ cause, seqs, derived }: Removal): Seq[] {
  return [...(cause.kind === "deleted" ? seqs : []), ...derived.dueWork];
}

/** The entries whose texts are others now, the deleted ones included. Pure. */
export function changedEntries({ cause, seqs, derived }: Removal): Seq[] {
  return [...(cause.kind === "elsewhere" ? [] : seqs), ...derived.dueWork, ...derived.reworded];
}

/** The changed entries, with all that repeats or announces what they said. Pure. */
export function tellingEntries(removal: Removal): Seq[] {
  const { cause, derived } = removal;
  return [...changedEntries(removal), ...(cause.kind === "edited" ? cause.notices : []), ...derived.calls];
}
