import type { Logger } from "pino";
import { BackoffTimer } from "../async/backoff.ts";
import { steadyNow } from "../async/clock.ts";
import { errorMessage } from "../core/errors.ts";
import type { ChannelId } from "../core/ids.ts";
import { ModelError } from "../llm/model.ts";
import type { TextToEmbed, VectorStore } from "../store/search/vectors.ts";
import type { BilledEmbeddings } from "./billed-embeddings.ts";
import { type Meaning, signsOf } from "./meaning.ts";
import { PROBED } from "./meaning-worth.ts";

/** Longest wait of a message for its vector, ms, if nothing fails. */
const INTERVAL_MS = 2000;
/** Waits after failures, ms. */
const BACKOFF = { fromMs: 5000, toMs: 600_000 };
/** Channels of a round, and texts of each kind in a request: twice as many vectors of 3,072 numbers are about 3 MB of JSON. */
const CHANNELS = 16;
const TEXTS = 24;
/** Lines that are read for a probe, not all of which have two halves; and the wait from one that switched the search off to the next, ms. */
const SAMPLE = 200;
const AGAIN_MS = 60 * 60_000;
/** Range of the newest memory ids in which a smaller id may be committed after a larger one. */
const UNCOMMITTED = 1000;

interface Kept {
  readonly of: TextToEmbed["of"];
  readonly bits: string;
}

/**
 * Makes the vectors of messages and memories in the background, channel by channel, from where the last run has stopped. After
 * a failure of the model the next attempt follows after a growing wait; the texts wait in the log.
 */
export class VectorFiller implements AsyncDisposable {
  readonly #vectors: VectorStore;
  readonly #embeddings: BilledEmbeddings;
  readonly #meaning: Meaning;
  readonly #log: Logger;
  readonly #closing = new AbortController();
  readonly #retries: BackoffTimer;
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<void> = Promise.resolve();
  #isMeasured = false;
  /** Texts until the next look whether there are enough lines for a probe. */
  #untilProbe = 0;
  #probedAt = -Infinity;
  /** All memories up to this id have a vector. */
  #after = 0;

  constructor(parts: {
    vectors: VectorStore;
    embeddings: BilledEmbeddings;
    meaning: Meaning;
    log: Logger;
    /** Default: as a daemon waits. */
    backoff?: { readonly fromMs: number; readonly toMs: number };
  }) {
    this.#vectors = parts.vectors;
    this.#embeddings = parts.embeddings;
    this.#meaning = parts.meaning;
    this.#log = parts.log;
    this.#retries = new BackoffTimer(parts.backoff ?? BACKOFF);
  }

  start(): void {
    this.#schedule(0);
  }

  #schedule(inMs: number): void {
    if (this.#closing.signal.aborted) return;
    this.#timer = setTimeout(() => {
      this.#running = this.#run();
    }, inMs).unref();
  }

  async #run(): Promise<void> {
    try {
      const isMore = await this.#round();
      this.#retries.succeeded();
      this.#schedule(isMore ? 0 : INTERVAL_MS);
    } catch (error) {
      if (this.#closing.signal.aborted) return;
      const { model, origin } = this.#embeddings;
      const restMs = this.#retries.waitMs;
      this.#log.warn({ model, origin, why: errorMessage(error), restMs }, "no_vectors_made");
      this.#retries.schedule(() => this.#schedule(0));
    }
  }

  /** @returns true: there is more to do */
  async #round(): Promise<boolean> {
    const { signal } = this.#closing;
    if (!this.#isMeasured) await this.#meaning.measure(signal);
    this.#isMeasured = true;
    if (this.#isProbeDue()) await this.#probe(signal);
    // What is not searched by is not paid for. The next probe may find another talk.
    if (this.#meaning.isOff) return false;
    const { channels, last } = await this.#vectors.behind(this.#embeddings.model, this.#after, CHANNELS);
    if (channels.length === 0) this.#after = Math.max(0, last - UNCOMMITTED);
    for (const channel of channels) {
      signal.throwIfAborted();
      await this.#fill(channel);
    }
    return channels.length > 0;
  }

  #isProbeDue(): boolean {
    if (this.#meaning.isOff) return steadyNow() - this.#probedAt > AGAIN_MS;
    return !this.#meaning.isProbed && this.#untilProbe <= 0;
  }

  async #probe(signal: AbortSignal): Promise<void> {
    const sample = await this.#vectors.sample(SAMPLE);
    if (sample !== null)
      await this.#meaning.probe(sample.channel, sample.lines, { signal, isRefused: isOfText });
    this.#untilProbe = PROBED;
    this.#probedAt = steadyNow();
  }

  async #fill(channel: ChannelId): Promise<void> {
    const batch = await this.#vectors.next(channel, this.#embeddings.model, TEXTS);
    this.#untilProbe -= batch.texts.length;
    const kept = await this.#embed(channel, batch.texts);
    await this.#vectors.keep(channel, this.#embeddings.model, batch, kept);
    const memories = kept.flatMap(({ of }) => ("memory" in of ? [of.memory] : []));
    const within = this.#meaning.sameWithin;
    if (within !== null) await this.#vectors.fold(channel, memories, within);
  }

  /** A text that the server refuses, or hangs on, while it accepts others, gets no vector. */
  async #embed(channel: ChannelId, texts: readonly TextToEmbed[]): Promise<Kept[]> {
    if (texts.length === 0) return [];
    try {
      return await this.#ask(channel, texts);
    } catch (error) {
      const { signal } = this.#closing;
      if (!isOfText(error)) throw error;
      // This fails too if the server is away: then no text is the cause.
      if (!isRefused(error) || texts.length === 1) await this.#meaning.measure(signal);
      if (texts.length > 1) {
        const half = Math.ceil(texts.length / 2);
        return [
          ...(await this.#embed(channel, texts.slice(0, half))),
          ...(await this.#embed(channel, texts.slice(half))),
        ];
      }
      return isRefused(error) ? this.#leaveOut(error) : this.#askAgain(channel, texts);
    }
  }

  async #ask(channel: ChannelId, texts: readonly TextToEmbed[]): Promise<Kept[]> {
    const said = texts.map(({ text }) => text);
    const vectors = await this.#embeddings.embed(channel, said, this.#closing.signal);
    return texts.map(({ of }, index) => ({ of, bits: signsOf(vectors[index] ?? []) }));
  }

  /** A connection may have been cut for another reason: the text gets one more try. */
  async #askAgain(channel: ChannelId, texts: readonly TextToEmbed[]): Promise<Kept[]> {
    try {
      return await this.#ask(channel, texts);
    } catch (error) {
      if (!isOfText(error)) throw error;
      return this.#leaveOut(error);
    }
  }

  #leaveOut(error: unknown): [] {
    this.#log.warn({ why: errorMessage(error) }, "text_without_vector");
    return [];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort();
    clearTimeout(this.#timer);
    this.#retries.cancel();
    await this.#running;
  }
}

/** Perhaps a text is the reason. */
function isOfText(error: unknown): boolean {
  return isRefused(error) || (error instanceof ModelError && error.kind === "unavailable");
}

/** Perhaps the server works, and rejects only this text: some answer 500 for a text that is too long. */
function isRefused(error: unknown): boolean {
  return (
    error instanceof ModelError &&
    (error.kind === "rejected" || error.kind === "context_length" || error.status === 500)
  );
}
