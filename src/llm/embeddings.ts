import { OpenAI } from "openai";
import { z } from "zod";

import type { EmbeddingsConfig } from "../config/config.ts";
import { originOf } from "../text/displayable.ts";
import { boundedJson } from "./http/bounded-body.ts";
import { chatFetch } from "./http/chat-fetch.ts";
import { classifyFailure } from "./http/model-failure.ts";
import { ModelError } from "./model.ts";
import { OPENAI_URL } from "./model-provider.ts";

/** Longest wait for an answer, ms. */
const ATTEMPT_MS = 30_000;
/** More than any request has: what a server tells beyond that is nonsense. */
const MOST_TOKENS = 1_000_000_000;

const answer = z.object({
  data: z.array(z.object({ index: z.number().int(), embedding: z.array(z.number()).min(1) })),
  // Not each server tells, and whatever it tells costs nobody the vectors.
  usage: z
    .object({ prompt_tokens: z.int().min(0).max(MOST_TOKENS) })
    .optional()
    .catch(undefined),
});

/** A vector for each text, in their order, all of one length. */
export type Vectors = readonly (readonly number[])[];

/** What a server has answered. */
export interface Embedded {
  readonly vectors: Vectors;
  /** What the texts came to; null: the server has not told. */
  readonly promptTokens: number | null;
}

/** A model that makes vectors of texts. */
export interface Embeddings {
  /** Its name. */
  readonly model: string;
  /** Where it is, for logs; no secrets. */
  readonly origin: string;
  /**
   * One attempt.
   * @throws ModelError, and nothing else; where the vectors have another length than the configured one, it says so
   */
  embed(texts: readonly string[], signal: AbortSignal): Promise<Embedded>;
}

/** The embedding model of an OpenAI-compatible server. It asks nothing until it is asked. */
export function createEmbeddings({ model, baseUrl, apiKey, dimensions }: EmbeddingsConfig): Embeddings {
  const url = baseUrl ?? OPENAI_URL;
  const client = new OpenAI({
    baseURL: url,
    // The client insists on a key; servers without one ignore it.
    apiKey: apiKey ?? "none",
    organization: null,
    project: null,
    maxRetries: 0,
    timeout: ATTEMPT_MS,
    logLevel: "off",
    fetch: chatFetch,
  });
  return {
    model,
    origin: originOf(url),
    async embed(texts, signal) {
      try {
        const request = {
          model,
          input: texts,
          encoding_format: "float",
          ...(dimensions > 0 && { dimensions }),
        };
        const response = await client
          .post("/embeddings", { body: request, signal, stream: true })
          .asResponse();
        // A body that is too large is cut: fewer texts may do.
        const body = await boundedJson(response).catch((error: unknown) => {
          if (error instanceof SyntaxError) return undefined;
          throw error;
        });
        return embeddedIn(body, texts.length);
      } catch (error) {
        if (signal.aborted)
          throw new ModelError("aborted", model, "the caller ended the call", { cause: error });
        throw classifyFailure(error, { model, messages: [] }, new Date(), apiKey ?? undefined);
      }
    },
  };

  function embeddedIn(body: unknown, count: number): Embedded {
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
}
