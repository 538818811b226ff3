/** Makes words of sounds before their message is in the log: a turn begins with its text. */
import PQueue from "p-queue";
import type { Logger } from "pino";
import { steadyNow } from "../async/clock.ts";
import { abortedAfter } from "../async/deadline.ts";
import type { Budgets } from "../budget/budgets.ts";
import { errorMessage } from "../core/errors.ts";
import { type AgentId, type ChannelId, formatAddress, personKey } from "../core/ids.ts";
import type { Author, ChannelOnPlatform } from "../core/message.ts";
import type { Transcription, TranscriptionCost } from "../llm/transcription.ts";
import { ModelError } from "../llm/model.ts";
import type { InboundSound, Transcript, Transcripts } from "../platforms/platform.ts";
import type { ModelCallStore } from "../store/turns/model-calls.ts";

export interface TranscriberParts {
  readonly transcription: Transcription;
  /** The channel and its agent, if that person is heard there; null: nobody is asked for a stranger's words. */
  readonly billTo: (where: ChannelOnPlatform, author: Author) => Promise<Bill | null>;
  readonly budgets: Pick<Budgets, "spent" | "count">;
  readonly calls: Pick<ModelCallStore, "add">;
  readonly log: Logger;
}

export interface Bill {
  readonly agent: AgentId;
  readonly channel: ChannelId;
}

/** Sounds that are transcribed at once, over all channels. */
const AT_ONCE = 4;
/** Tokens of a second of sound where the server reports none: a minute of OpenAI's costs as much as a thousand. */
const TOKENS_OF_SECOND = 1000 / 60;
/** Bytes of a second of sound: assumed where no length is given, and the fewest that are believed where a length is given. */
const BYTES_OF_SECOND = 4000;
const FEWEST_BYTES_OF_SECOND = 500;

/** A model that transcribes, whose calls are billed to the channel that they are for. */
export class Transcriber implements Transcripts {
  readonly #parts: TranscriberParts;
  readonly #queue = new PQueue({ concurrency: AT_ONCE });

  constructor(parts: TranscriberParts) {
    this.#parts = parts;
  }

  async of(where: ChannelOnPlatform, author: Author, sound: InboundSound): Promise<Transcript> {
    const { log, transcription } = this.#parts;
    // The wait for other channels' sounds counts: later messages of this channel wait as long.
    const signal = abortedAfter(transcription.withinMs);
    try {
      return await this.#queue.add(async () => this.#heard(where, author, sound, signal), { signal });
    } catch (error) {
      if (!signal.aborted)
        log.warn(
          { channel: formatAddress(where.channel), why: errorMessage(error) },
          "sound_not_transcribed",
        );
      return { kind: "none", why: signal.aborted ? "it took too long" : "that failed" };
    }
  }

  /** @throws ModelError, errors of the database */
  async #heard(
    where: ChannelOnPlatform,
    author: Author,
    sound: InboundSound,
    signal: AbortSignal,
  ): Promise<Transcript> {
    const { billTo, budgets, transcription } = this.#parts;
    const bill = await billTo(where, author);
    if (bill === null) return { kind: "none", why: null };
    const person = author.isBot ? null : personKey(where.channel.platform, author.id);
    if (budgets.spent({ ...bill, person }) !== null)
      return { kind: "none", why: "the budget is spent for today" };
    const startedAt = steadyNow();
    let cost: TranscriptionCost = { isPaid: false, tokens: null, seconds: null };
    let outcome = "unknown";
    try {
      const text = await transcription.transcribe(sound, signal, (told) => (cost = told));
      outcome = "answered";
      return { kind: "words", text };
    } catch (error) {
      if (error instanceof ModelError) outcome = error.kind;
      throw error;
    } finally {
      await this.#count(where, bill, { sound, cost, outcome, totalMs: steadyNow() - startedAt });
    }
  }

  /** Does not throw: the words are there. */
  async #count(
    { channel }: ChannelOnPlatform,
    bill: Bill,
    call: {
      readonly sound: InboundSound;
      readonly cost: TranscriptionCost;
      readonly outcome: string;
      readonly totalMs: number;
    },
  ): Promise<void> {
    const { budgets, calls, log, transcription } = this.#parts;
    const { model } = transcription;
    const { cost, outcome, totalMs } = call;
    const estimated = estimatedTokens(call.sound, cost.seconds);
    const assumed = cost.isPaid && cost.tokens === null ? estimated : 0;
    const promptTokens = cost.tokens?.prompt ?? null;
    const completionTokens = cost.tokens?.completion ?? null;
    budgets.count({
      ...bill,
      address: formatAddress(channel),
      turn: null,
      model,
      promptTokens: (promptTokens ?? 0) + assumed,
      cachedTokens: 0,
      writtenTokens: 0,
      completionTokens: completionTokens ?? 0,
    });
    const row = {
      channel: bill.channel,
      turn: null,
      job: null,
      purpose: "transcription" as const,
      model,
      outcome,
      estimatedTokens: estimated,
      promptTokens,
      assumedPromptTokens: assumed,
      cachedTokens: null,
      completionTokens,
      firstTokenMs: null,
      totalMs,
    };
    try {
      await calls.add([row]);
    } catch (error) {
      log.warn({ channel: formatAddress(channel), why: errorMessage(error) }, "transcription_not_counted");
    }
  }
}

/** Pure. */
function estimatedTokens({ durationS, bytes }: InboundSound, measuredS: number | null): number {
  const seconds = measuredS ?? durationS ?? bytes.length / BYTES_OF_SECOND;
  return Math.round(Math.min(seconds, bytes.length / FEWEST_BYTES_OF_SECOND) * TOKENS_OF_SECOND);
}
