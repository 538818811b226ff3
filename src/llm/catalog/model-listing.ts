import { z } from "zod";

import { retryAfterMs } from "../http/retry-after.ts";
import { originOf } from "../../text/displayable.ts";
import { errorMessage } from "../../core/errors.ts";
import { redirectIn } from "../../text/redirect.ts";
import { boundedJson } from "../http/bounded-body.ts";
import { classifyFailure } from "../http/model-failure.ts";
import type { ChatServer } from "../chat/chat-request.ts";
import type { ModelPrice } from "../../core/cost.ts";
import { ModelError } from "../model.ts";

export interface ListedModel {
  readonly id: string;
  /** Tokens; undefined: the server does not state it. */
  readonly window: number | undefined;
  /** Undefined: the server does not state it. */
  readonly price: ModelPrice | undefined;
}

const tokens = z.number().positive().nullish().catch(undefined);

/** Dollars for one token as a text, as at OpenRouter. At other servers a number has another meaning. */
const perToken = z
  .string()
  .regex(/^\d{1,6}(?:\.\d{1,18})?(?:e-\d{1,2})?$/i)
  .transform(Number);
const pricing = z
  .object({
    prompt: perToken,
    completion: perToken,
    input_cache_read: perToken.nullish().catch(undefined),
    input_cache_write: perToken.nullish().catch(undefined),
  })
  .nullish()
  .catch(undefined);
const listing = z.object({
  data: z.array(
    z.looseObject({
      id: z.string(),
      // vLLM; OpenRouter and Together; Groq; Mistral and LM Studio; Anthropic.
      max_model_len: tokens,
      context_length: tokens,
      context_window: tokens,
      max_context_length: tokens,
      max_input_tokens: tokens,
      pricing,
    }),
  ),
});

const NOT_FOR_CHAT =
  /embed|rerank|whisper|tts|moderation|dall-e|image|transcribe|(?:^|[/:_-])(?:bge|e5|clip)(?:[/:_-]|$)/i;

/**
 * `GET /models`.
 * @throws ModelError whose message tells the operator what to check
 */
export async function listModels(server: ChatServer, signal: AbortSignal): Promise<ListedModel[]> {
  const response = await get(server, signal);
  const redirect = redirectIn(server.baseUrl, response, "base_url");
  if (redirect !== undefined) {
    await response.body?.cancel();
    const failure = new ModelError("redirected", "auto", redirect, { status: response.status });
    throw classifyFailure(failure, { model: "auto", messages: [] }, new Date(), server.apiKey);
  }
  if (response.status === 401 || response.status === 403) {
    throw new ModelError(
      "unauthorized",
      "auto",
      `${originOf(server.baseUrl)} refuses the key. Check ${tableOf(server)}.api_key.`,
      { status: response.status },
    );
  }
  const body = await boundedJson(response).catch(() => undefined);
  const parsed = listing.safeParse(body);
  if (response.ok && parsed.success) {
    return parsed.data.data.map((row) => ({
      id: row.id,
      window:
        row.max_model_len ??
        row.context_length ??
        row.context_window ??
        row.max_context_length ??
        row.max_input_tokens ??
        undefined,
      price: priceIn(row.pricing),
    }));
  }
  const isBusy = response.status === 429 || response.status >= 500;
  const why = `${originOf(server.baseUrl)} does not list its models (HTTP ${response.status}).`;
  const advice = `Does ${tableOf(server)}.base_url end in /v1, and is the model named in the configuration?`;
  throw new ModelError(isBusy ? "unavailable" : "rejected", "auto", isBusy ? why : `${why} ${advice}`, {
    status: response.status,
    retryAfterMs: retryAfterMs(response.headers, new Date()),
  });
}

function tableOf({ table = "llm" }: ChatServer): string {
  return table;
}

function priceIn(listed: z.output<typeof pricing>): ModelPrice | undefined {
  if (listed === null || listed === undefined) return undefined;
  const { prompt, completion, input_cache_read: cached, input_cache_write: write } = listed;
  // Removes the tail that the product of binary fractions has.
  const perMillion = (dollars: number): number => Number((dollars * 1_000_000).toPrecision(12));
  return {
    input: perMillion(prompt),
    output: perMillion(completion),
    cached: perMillion(cached ?? prompt),
    write: perMillion(write ?? prompt),
  };
}

export function firstChatModel(models: readonly ListedModel[]): string | undefined {
  return models.find(({ id }) => !NOT_FOR_CHAT.test(id))?.id;
}

/** As `@anthropic-ai/sdk` 1.14 sends it. */
const MESSAGES_VERSION = "2026-10-21";

async function get(server: ChatServer, signal: AbortSignal): Promise<Response> {
  const { baseUrl, apiKey, api, isAnthropic } = server;
  const isOfMessages = api === "messages" || (isAnthropic === true && api !== "chat" && api !== "responses");
  try {
    return await fetch(
      isOfMessages ? `${baseUrl.replace(/\/v1$/, "")}/v1/models?limit=1000` : `${baseUrl}/models`,
      {
        headers: {
          ...(apiKey !== undefined && { authorization: `Bearer ${apiKey}` }),
          ...(isOfMessages && { "anthropic-version": MESSAGES_VERSION }),
          ...server.headers,
        },
        redirect: "manual",
        signal,
      },
    );
  } catch (error) {
    const cause =
      error instanceof Error && error.cause !== undefined ? errorMessage(error.cause) : errorMessage(error);
    throw new ModelError(
      "unavailable",
      "auto",
      `No model server answers at ${originOf(server.baseUrl)} (${cause}). Is it running? Check ${tableOf(server)}.base_url.`,
      { cause: error },
    );
  }
}
