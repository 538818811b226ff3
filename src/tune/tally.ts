import type { Tier } from "../core/compaction.ts";
import { type Context, contextPieces, type ModelMessage } from "../core/context.ts";
import type { History } from "../core/history.ts";
import type { Seq } from "../core/ids.ts";
import { estimateMessage } from "../context/render.ts";
import { isDeepStrictEqual } from "node:util";

/** A provider's charge for a cached token, relative to another one. */
export const CACHED_PRICE = 0.1;

/** The outcome of a simulated channel. Tokens are the model's own if its provider has counted any. */
export type Outcome = ReturnType<Tally["outcome"]>;

export interface Visible {
  readonly turn: number;
  readonly fromSeq: Seq;
  readonly toSeq: Seq;
  /** Oldest first; they tile 1..toSeq. */
  readonly ranges: readonly VisibleRange[];
  readonly tokens: number;
}

export interface VisibleRange {
  readonly kind: "summary" | "reset" | "omitted" | "raw";
  readonly fromSeq: Seq;
  readonly toSeq: Seq;
  /** A summary's; else null. */
  readonly level: number | null;
  /** Estimated, of the range's text in the request; 0: none. */
  readonly tokens: number;
}

/** Counts the requests and commits of a simulated channel, in estimated tokens. */
export class Tally {
  entries = 0;
  turns = 0;
  /** Turns of other agents in the same channel, which send no request of this one. */
  turnsOfOthers = 0;
  requests = 0;
  #sent = 0;
  #inPrefix = 0;
  #largest = 0;
  #before: readonly ModelMessage[] = [];
  /** Without its instructions. */
  summariserRead = 0;
  summariserWrote = 0;
  /** Summaries; those written ahead count as background. */
  readonly committed: Record<Tier, number> = { background: 0, aggressive: 0, emergency: 0, forced: 0 };
  merges = 0;
  writtenAhead = 0;
  /** The committed ones among those written ahead. */
  landed = 0;
  /** Of one summary or several: each changes the prompt from its beginning. */
  commits = 0;
  /** Jobs whose range had changed when they ended. */
  stale = 0;
  omissions = 0;
  /** Entries, each counted once per omission. */
  omitted = 0;
  /** Turns that began while entries were omitted. */
  turnsWithHole = 0;
  /** Messages in one request. */
  mostOmitted = 0;
  /** Requests over the usable window even in their shortest form. */
  overflows = 0;

  request(context: Context): void {
    const messages = contextPieces(context);
    let shared = 0;
    while (shared < messages.length && isSame(messages[shared], this.#before[shared])) shared++;
    const fresh = messages.slice(shared).reduce((sum, message) => sum + estimateMessage(message), 0);
    if (this.requests > 0) this.#inPrefix += shared === 0 ? 0 : Math.max(0, context.tokens - fresh);
    this.#before = messages;
    this.requests++;
    this.#sent += context.tokens;
    this.#largest = Math.max(this.#largest, context.tokens);
  }

  /**
   * @param factor the model's tokens for each estimated one
   * @param usable tokens of the window that a request may use
   */
  outcome({ summaries }: History, factor: number, usable: number) {
    const real = (tokens: number): number => Math.round(tokens * factor);
    const live = summaries.filter(({ kind }) => kind !== "reset");
    const { background, aggressive, emergency } = this.committed;
    const fresh = this.#sent - this.#inPrefix;
    return {
      entries: this.entries,
      turns: this.turns,
      turnsOfOthers: this.turnsOfOthers,
      requests: this.requests,
      tokens: {
        sent: real(this.#sent),
        /** In the same place as in the request before. */
        inPrefix: real(this.#inPrefix),
        prefixShare: this.#sent === 0 ? 0 : this.#inPrefix / this.#sent,
        mean: this.requests === 0 ? 0 : real(this.#sent / this.requests),
        largest: real(this.#largest),
        /** Of the usable window. */
        largestShare: (this.#largest * factor) / usable,
        summariserRead: real(this.summariserRead),
        summariserWrote: real(this.summariserWrote),
        /** Of requests and of the summariser's reading, with a cached token at {@link CACHED_PRICE} of another. */
        atFullPrice: real(fresh + CACHED_PRICE * this.#inPrefix + this.summariserRead),
      },
      compactions: {
        background,
        aggressive,
        emergency,
        merges: this.merges,
        writtenAhead: this.writtenAhead,
        landed: this.landed,
        commits: this.commits,
        stale: this.stale,
      },
      emergencies: {
        omissions: this.omissions,
        entries: this.omitted,
        turns: this.turnsWithHole,
        most: this.mostOmitted,
        overflows: this.overflows,
      },
      summaries: { count: live.length, tokens: real(live.reduce((sum, { tokens }) => sum + tokens, 0)) },
    };
  }
}

/** Messages are rendered once, so an unchanged one is usually the same object in both requests. */
function isSame(now: ModelMessage | undefined, before: ModelMessage | undefined): boolean {
  if (now === before) return true;
  if (now === undefined || before === undefined) return false;
  if (now.role !== before.role || now.text !== before.text) return false;
  // People's messages, most of all, have no other parts: there are no pictures.
  return now.role === "user" || isDeepStrictEqual(now, before);
}
