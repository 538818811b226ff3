import type { Logger } from "pino";
import { steadyNow } from "../async/clock.ts";
import { errorMessage } from "../core/errors.ts";
import type { ChannelId } from "../core/ids.ts";
import type { EmbeddingCost, Embeddings, Vectors } from "../llm/embeddings.ts";
import { ModelError } from "../llm/model.ts";
import type { ModelCallRow, ModelCallStore } from "../store/turns/model-calls.ts";
import { estimateTokens } from "../text/tokens.ts";

/** How long a row may wait in memory for more, ms. A killed daemon loses the rows that wait. */
const WRITTEN_WITHIN_MS = 2000;

/** An embedding model whose calls are billed to the channel that they are for. The bill is written in the background. */
export class BilledEmbeddings implements AsyncDisposable {
  readonly model: string;
  readonly origin: string;
  readonly #embeddings: Embeddings;
  readonly #calls: Pick<ModelCallStore, "add">;
  readonly #log: Logger;
  #rows: ModelCallRow[] = [];
  #timer: NodeJS.Timeout | undefined;
  #writing: Promise<void> = Promise.resolve();

  constructor(parts: { embeddings: Embeddings; calls: Pick<ModelCallStore, "add">; log: Logger }) {
    this.#embeddings = parts.embeddings;
    this.#calls = parts.calls;
    this.#log = parts.log;
    this.model = parts.embeddings.model;
    this.origin = parts.embeddings.origin;
  }

  /**
   * A vector for each text, in their order.
   * @param channel whose texts they are; null: no channel's, and no channel is billed
   * @throws ModelError
   */
  async embed(channel: ChannelId | null, texts: readonly string[], signal: AbortSignal): Promise<Vectors> {
    const startedAt = steadyNow();
    let cost: EmbeddingCost = { isPaid: false, promptTokens: null };
    const note = (outcome: string): void => {
      if (channel === null) return;
      const { isPaid, promptTokens } = cost;
      const estimatedTokens = texts.reduce((sum, text) => sum + estimateTokens(text), 0);
      this.#note({
        channel,
        turn: null,
        job: null,
        purpose: "embedding",
        model: this.model,
        outcome,
        estimatedTokens,
        promptTokens,
        assumedPromptTokens: isPaid && promptTokens === null ? estimatedTokens : 0,
        cachedTokens: null,
        completionTokens: null,
        firstTokenMs: null,
        totalMs: steadyNow() - startedAt,
      });
    };
    try {
      const { vectors } = await this.#embeddings.embed(texts, signal, (told) => (cost = told));
      note("answered");
      return vectors;
    } catch (error) {
      note(error instanceof ModelError ? error.kind : "unknown");
      throw error;
    }
  }

  #note(row: ModelCallRow): void {
    this.#rows.push(row);
    this.#timer ??= setTimeout(() => {
      this.#writing = this.#write();
    }, WRITTEN_WITHIN_MS).unref();
  }

  async #write(): Promise<void> {
    this.#timer = undefined;
    const rows = this.#rows;
    this.#rows = [];
    if (rows.length === 0) return;
    try {
      await this.#calls.add(rows);
    } catch (error) {
      this.#log.warn({ calls: rows.length, why: errorMessage(error) }, "embedding_calls_not_counted");
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearTimeout(this.#timer);
    await this.#writing;
    await this.#write();
  }
}
