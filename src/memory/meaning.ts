import type { LineRange } from "../store/search/spoken-lines.ts";
import type { Logger } from "pino";
import { backoffMs } from "../async/backoff.ts";
import { steadyNow } from "../async/clock.ts";
import { withDeadline } from "../async/deadline.ts";
import { errorMessage } from "../core/errors.ts";
import type { ChannelId, Seq } from "../core/ids.ts";
import type { Memory } from "../core/memory.ts";
import type { AskingChannel } from "../store/memory/memory-scope.ts";
import type { BilledEmbeddings } from "./billed-embeddings.ts";
import {
  distancesOf,
  halvesOf,
  LEAST_PROBED,
  meanOf,
  type MeaningWorth,
  type NearestOf,
  PROBED,
  worthOf,
} from "./meaning-worth.ts";
import type { Bits, Near, NearTo, VectorStore } from "../store/search/vectors.ts";

/** Longest wait for the search by meaning, ms; the turn then continues without it. */
export const WITHIN_MS = 150;
/** Consecutive failures or late answers after which the search rests: each costs a turn the whole wait. */
const FAILURES = 3;
const REST = { fromMs: 5000, toMs: 300_000 };

/**
 * Unrelated sentences: the mean distance of their vectors shows how far apart a model puts unrelated texts. Some models put
 * them close together.
 */
const UNRELATED = [
  "The train to the coast leaves at noon.",
  "She prefers green paint for the kitchen wall.",
  "Our server ran out of memory last night.",
  "Wolves live in packs of about eight.",
  "The invoice was paid twice by mistake.",
  "He practises the violin every evening.",
  "Bread needs flour, water, salt and time.",
  "The parliament votes on the treaty in spring.",
];
/** Greatest distance of a hit, as a share of that distance. A judgement, by the usual models. */
const NEAR = 0.85;

/**
 * Share of bits in which two vectors with a cosine of 0.97 differ, if unrelated ones differ in half of theirs: their angle over
 * half a turn.
 */
const SAME = Math.acos(0.97) / Math.PI;

/** Lines of a probe in one request, with two texts each: some servers take ten texts. */
const AT_ONCE = 4;
/** Until a probe has told more: a small model's. All that is near counts as certain then, since there is little of it. */
const UNPROBED_WEIGHT = 0.2;

export interface FoundByMeaning {
  readonly entries: NearestOf<Seq>;
  readonly memories: NearestOf<Memory>;
  /** Weight of a place among them, where a place among those found by words has 1. */
  readonly weight: number;
}

export interface MeaningQuery {
  readonly text: string;
  readonly entries: (LineRange & { readonly limit: number }) | null;
  readonly memories: (AskingChannel & { readonly limit: number }) | null;
  readonly signal?: AbortSignal | undefined;
}

/** Searches by meaning, if an embedding model is configured. */
export class Meaning {
  readonly #embeddings: BilledEmbeddings;
  readonly #vectors: VectorStore;
  readonly #log: Logger;
  readonly #withinMs: number;
  /** Mean share of bits in which unrelated texts differ; null: not measured yet, and no search runs. */
  #apart: number | null = null;
  /** Null: too little has been said for a probe. */
  #worth: MeaningWorth | null = null;
  #failures = 0;
  #restsUntil = -Infinity;

  /** @param parts.withinMs longest wait for a search, ms */
  constructor(parts: {
    embeddings: BilledEmbeddings;
    vectors: VectorStore;
    log: Logger;
    withinMs?: number | undefined;
  }) {
    this.#withinMs = parts.withinMs ?? WITHIN_MS;
    this.#embeddings = parts.embeddings;
    this.#vectors = parts.vectors;
    this.#log = parts.log;
  }

  /**
   * Asks the model for vectors of unrelated texts: whether it answers, and how far apart it puts them.
   * @throws ModelError if it does not answer
   */
  async measure(signal: AbortSignal): Promise<void> {
    this.#apart = meanOf(distancesOf((await this.#embeddings.embed(null, UNRELATED, signal)).map(signsOf)));
  }

  /** Whether the vectors say too little for a search. */
  get isOff(): boolean {
    return this.#worth?.weight === 0;
  }

  get isProbed(): boolean {
    return this.#worth !== null;
  }

  /**
   * Measures what the model's vectors are worth for what is said here, if there are enough lines. A model whose vectors say too little is
   * not searched by.
   * @param channel whose lines they are, and which is billed
   * @param isRefused whether an error is about the texts alone: the others are enough
   * @throws ModelError if it does not answer
   */
  async probe(
    channel: ChannelId,
    lines: readonly string[],
    { signal, isRefused }: { readonly signal: AbortSignal; readonly isRefused: (error: unknown) => boolean },
  ): Promise<void> {
    const halves = lines.flatMap((line) => {
      const both = halvesOf(line);
      return both === null ? [] : [both];
    });
    if (halves.length < LEAST_PROBED) return;
    const [first, second]: [Bits[], Bits[]] = [[], []];
    for (let from = 0; from < Math.min(halves.length, PROBED); from += AT_ONCE) {
      const texts = halves.slice(from, from + AT_ONCE).flat();
      const vectors = await this.#embeddings.embed(channel, texts, signal).catch((error: unknown) => {
        if (isRefused(error)) return [];
        throw error;
      });
      for (const [place, vector] of vectors.entries())
        (place % 2 === 0 ? first : second).push(signsOf(vector));
    }
    if (first.length < LEAST_PROBED) return;
    this.#worth = worthOf(first, second);
    const { weight, certain } = this.#worth;
    const measured = { model: this.#embeddings.model, lines: first.length, weight, certain };
    if (weight > 0) this.#log.info(measured, "recall_by_meaning_measured");
    else this.#log.warn(measured, "recall_by_meaning_off");
  }

  /** The share of bits in which texts that say the same may differ; null: not known yet. */
  get sameWithin(): number | null {
    return this.#apart === null ? null : SAME * Math.min(1, this.#apart / 0.5);
  }

  /**
   * Never rejects.
   * @returns null: the search did not run, failed, or was late
   */
  async find(query: MeaningQuery): Promise<FoundByMeaning | null> {
    if (
      this.#apart === null ||
      this.#worth?.weight === 0 ||
      steadyNow() < this.#restsUntil ||
      query.text.trim() === ""
    )
      return null;
    const late = new AbortController();
    const until = query.signal === undefined ? late.signal : AbortSignal.any([late.signal, query.signal]);
    try {
      const found = await withDeadline(this.#find(query, this.#apart, until), this.#withinMs, query.signal);
      if (found !== null) {
        this.#failures = 0;
        return found;
      }
      late.abort();
      if (query.signal?.aborted !== true) this.#failed("late");
    } catch (error) {
      if (query.signal?.aborted !== true) this.#failed(errorMessage(error));
    }
    return null;
  }

  async #find(query: MeaningQuery, apart: number, signal: AbortSignal): Promise<FoundByMeaning> {
    const channel = query.entries?.channel ?? query.memories?.channel ?? null;
    const [vector = []] = await this.#embeddings.embed(channel, [query.text], signal);
    const bits = signsOf(vector);
    const near = (limit: number): NearTo => {
      return { model: this.#embeddings.model, bits, most: Math.floor(NEAR * apart * bits.length), limit };
    };
    const { entries, memories } = query;
    const { weight, certain } = this.#worth ?? { weight: UNPROBED_WEIGHT, certain: NEAR * apart };
    const nearestOf = <Of, Row extends Near<object>>(
      rows: readonly Row[],
      of: (row: Row) => Of,
    ): NearestOf<Of> => {
      const sure = rows.filter(({ differs }) => differs <= certain * bits.length);
      return { all: rows.map(of), certain: sure.map(of) };
    };
    const [lines, statements] = await Promise.all([
      entries === null
        ? []
        : this.#vectors.entriesNear(entries.channel, near(entries.limit), entries, signal),
      memories === null ? [] : this.#vectors.memoriesNear(memories, near(memories.limit), signal),
    ]);
    return {
      weight,
      entries: nearestOf(lines, ({ seq }) => seq),
      memories: nearestOf(statements, ({ memory }) => memory),
    };
  }

  #failed(why: string): void {
    this.#failures++;
    if (this.#failures < FAILURES) return;
    const restMs = backoffMs(REST, this.#failures - FAILURES);
    this.#restsUntil = steadyNow() + restMs;
    this.#log.warn({ why, restMs }, "recall_by_meaning_rests");
  }
}

/** The signs of a vector's numbers: 1 where a number is positive. */
export function signsOf(vector: readonly number[]): Bits {
  return vector.map((number) => (number > 0 ? "1" : "0")).join("");
}
