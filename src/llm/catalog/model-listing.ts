import { z } from "zod";

import { retryAfterMs } from "../http/retry-after.ts";
import { originOf } from "../../text/displayable.ts";
import { errorMessage } from "../../core/errors.ts";
import { boundedJson } from "../http/bounded-body.ts";
import type { ChatServer } from "../chat/chat-request.ts";
import { ModelError } from "../model.ts";

/** One model that a server offers. */
export interface ListedModel {
  readonly id: string;
  /** Tokens; undefined if the server does not tell. */
  readonly window: number | undefined;
}

const tokens = z.number().positive().nullish().catch(undefined);
const listing = z.object({
  data: z.array(
    z.looseObject({
      id: z.string(),
      // vLLM; OpenRouter and Together; Groq; Mistral and LM Studio.
      max_model_len: tokens,
      context_length: tokens,
      context_window: tokens,
      max_context_length: tokens,
    }),
  ),
});

/** Listed models that are not for chat. */
const NOT_FOR_CHAT =
  /embed|rerank|whisper|tts|moderation|dall-e|image|transcribe|(?:^|[/:_-])(?:bge|e5|clip)(?:[/:_-]|$)/i;

/**
 * `GET /models`.
 * @throws ModelError whose message tells the operator what to check
 */
export async function listModels(server: ChatServer, signal: AbortSignal): Promise<ListedModel[]> {
  const response = await get(server, signal);
  if (response.status === 401 || response.status === 403) {
    throw new ModelError(
      "unauthorized",
      "auto",
      `${originOf(server.baseUrl)} refuses the key. Check llm.api_key.`,
      {
        status: response.status,
      },
    );
  }
  const body = await boundedJson(response).catch(() => undefined);
  const parsed = listing.safeParse(body);
  if (response.ok && parsed.success) {
    return parsed.data.data.map((row) => ({
      id: row.id,
      window:
        row.max_model_len ?? row.context_length ?? row.context_window ?? row.max_context_length ?? undefined,
    }));
  }
  const isBusy = response.status === 429 || response.status >= 500;
  const why = `${originOf(server.baseUrl)} does not list its models (HTTP ${response.status}).`;
  const advice = "Does llm.base_url end in /v1, and is the model named in the configuration?";
  throw new ModelError(isBusy ? "unavailable" : "rejected", "auto", isBusy ? why : `${why} ${advice}`, {
    status: response.status,
    retryAfterMs: retryAfterMs(response.headers, new Date()),
  });
}

export function firstChatModel(models: readonly ListedModel[]): string | undefined {
  return models.find(({ id }) => !NOT_FOR_CHAT.test(id))?.id;
}

async function get(server: ChatServer, signal: AbortSignal): Promise<Response> {
  try {
    return await fetch(`${server.baseUrl}/models`, {
      headers: server.apiKey === undefined ? {} : { authorization: `Bearer ${server.apiKey}` },
      signal,
    });
  } catch (error) {
    const cause =
      error instanceof Error && error.cause !== undefined ? errorMessage(error.cause) : errorMessage(error);
    throw new ModelError(
      "unavailable",
      "auto",
      `No model server answers at ${originOf(server.baseUrl)} (${cause}). Is it running? Check llm.base_url.`,
      { cause: error },
    );
  }
}
