import { z } from "zod";

import type { EmbeddingsConfig } from "../config/config.ts";
import { originOf } from "../text/displayable.ts";
import { boundedJson } from "./http/bounded-body.ts";
import { openAiClient } from "./http/openai-client.ts";
import { type AttemptProgress, failureOfCall, isPaidFailure } from "./http/model-failure.ts";
import { whenSent } from "./http/node-fetch.ts";
import { ModelError } from "./model.ts";
import { OPENAI_URL } from "./model-provider.ts";

/** Longest wait for an answer, ms. */
const ATTEMPT_MS = 30_000;
/** More than any request has: a larger count is invalid. */
const MOST_TOKENS = 1_000_000_000;

const answer = z.object({
  data: z.array(z.object({ index: z.number().int(), embedding: z.array(z.number()).min(1) })),
  // Usage is optional, and an invalid one does not cost the vectors.
  usage: z
    .object({ prompt_tokens: z.int().min(0).max(MOST_TOKENS) })
    .optional()
    .catch(undefined),
});

/** A vector for each text, in order, all of one length. */
export type Vectors = readonly (readonly number[])[];

export interface Embedded {
  readonly vectors: Vectors;
  /** Tokens of the texts; null: not reported. */
  readonly promptTokens: number | null;
}

/** The cost of a request, whatever its outcome. */
export interface EmbeddingCost {
  /** As in a model call's record. */
  readonly isPaid: boolean;
  /** Null: not reported. */
  readonly promptTokens: number | null;
}

/** A model that turns texts into vectors. */
export interface Embeddings {
  readonly model: string;
  /** Its address for logs; no secrets. */
  readonly origin: string;
  /**
   * Makes one attempt.
   * @param onCost called once, with the cost of the request
   * @throws ModelError, and nothing else; it reports vectors of another length than the configured one
   */
  embed(
    texts: readonly string[],
    signal: AbortSignal,
    onCost?: (cost: EmbeddingCost) => void,
  ): Promise<Embedded>;
}

/** The embedding model of an OpenAI-compatible server. It sends nothing before its first call. */
export function createEmbeddings(config: EmbeddingsConfig): Embeddings {
  const { model, sentAs, baseUrl, apiKey, dimensions, serverHeaders } = config;
  const url = baseUrl ?? OPENAI_URL;
  const client = openAiClient({
    baseUrl: url,
    apiKey: apiKey ?? undefined,
    headers: serverHeaders,
    timeoutMs: ATTEMPT_MS,
  });
  return {
    model,
    origin: originOf(url),
    async embed(texts, signal, onCost) {
      let progress: AttemptProgress = "begun";
      let body: unknown;
      const tell = (isPaid: boolean): void => onCost?.({ isPaid, promptTokens: tokensIn(body) });
      try {
        const request = {
          model: sentAs,
          input: texts,
          encoding_format: "float",
          ...(dimensions > 0 && { dimensions }),
        };
        const response = await client
          .post("/embeddings", {
            body: request,
            signal,
            stream: true,
            fetchOptions: whenSent(() => (progress = "sent")),
          })
          .asResponse();
        progress = "accepted";
        // A body that is too large is cut: fewer texts may fit.
        body = await boundedJson(response).catch((error: unknown) => {
          if (error instanceof SyntaxError) return undefined;
          throw error;
        });
        const embedded = embeddedIn(body, texts.length, { model, dimensions });
        tell(true);
        return embedded;
      } catch (error) {
        const failure = failureOfCall(error, model, signal, apiKey ?? undefined);
        // Unusable vectors are paid for, too.
        tell(progress === "accepted" || isPaidFailure(failure, progress));
        throw failure;
      }
    },
  };
}

/** @throws ModelError if it is no list of this many vectors of the configured length */
function embeddedIn(
  body: unknown,
  count: number,
  { model, dimensions }: Pick<EmbeddingsConfig, "model" | "dimensions">,
): Embedded {
  const { data, error } = answer.safeParse(body);
  if (data === undefined) {
    const message =
      "the server sent something that is no list of embeddings, or is too long: does base_url end in /v1?";
    throw new ModelError("rejected", model, message, { cause: error });
  }
  const vectors = data.data.toSorted((a, b) => a.index - b.index).map(({ embedding }) => embedding);
  if (vectors.length !== count)
    throw new ModelError("rejected", model, `${vectors.length} vectors for ${count} texts`);
  const length = dimensions > 0 ? dimensions : (vectors[0]?.length ?? 0);
  const other = vectors.find((vector) => vector.length !== length);
  if (other === undefined) return { vectors, promptTokens: data.usage?.prompt_tokens ?? null };
  const message = `a vector of this model has ${other.length} numbers, and not ${length}: set llm.embeddings.dimensions to 0 or ${other.length}`;
  throw new ModelError("rejected", model, message);
}

/** @returns null: not reported, or no answer */
function tokensIn(body: unknown): number | null {
  return answer.pick({ usage: true }).safeParse(body).data?.usage?.prompt_tokens ?? null;
}
