import { z } from "zod";
import type { TranscriptionConfig } from "../config/config.ts";
import { originOf } from "../text/displayable.ts";
import { boundedJson } from "./http/bounded-body.ts";
import { type AttemptProgress, failureOfCall, isPaidFailure } from "./http/model-failure.ts";
import { openAiClient } from "./http/openai-client.ts";
import { ModelError } from "./model.ts";
import { OPENAI_URL } from "./model-provider.ts";

/** More than any request has: a larger count is invalid. */
const MOST = 1_000_000_000;
const count = z.int().min(0).max(MOST);

const answer = z.object({
  text: z.string(),
  // Usage is optional, and an invalid one does not cost the words.
  usage: z
    .union([
      z.object({ type: z.literal("tokens"), input_tokens: count, output_tokens: count }),
      z.object({ type: z.literal("duration"), seconds: z.number().min(0).max(MOST) }),
    ])
    .optional()
    .catch(undefined),
});

/** The cost of a request, whatever its outcome. */
export interface TranscriptionCost {
  /** As in a model call's record. */
  readonly isPaid: boolean;
  /** Null: not reported. */
  readonly tokens: { readonly prompt: number; readonly completion: number } | null;
  /** Length of the sound as the server has measured it, s; null: not reported. */
  readonly seconds: number | null;
}

export interface Transcription {
  readonly model: string;
  /** Its address for logs; no secrets. */
  readonly origin: string;
  /** Longest wait for a transcript, ms. */
  readonly withinMs: number;
  /**
   * Makes one attempt. It throws no other errors than {@link ModelError}.
   * @param sound servers tell its format by the ending of its name
   * @param onCost gets the cost of the request, once
   */
  transcribe(
    sound: { readonly name: string; readonly type: string; readonly bytes: Uint8Array },
    signal: AbortSignal,
    onCost?: (cost: TranscriptionCost) => void,
  ): Promise<string>;
}

/** The transcribing model of an OpenAI-compatible server. It sends nothing before its first call. */
export function createTranscription(parts: TranscriptionConfig): Transcription {
  const { model, sentAs, baseUrl, apiKey, serverHeaders, withinMs } = parts;
  const url = baseUrl ?? OPENAI_URL;
  const client = openAiClient({
    baseUrl: url,
    apiKey: apiKey ?? undefined,
    headers: serverHeaders,
    timeoutMs: withinMs,
  });
  return {
    model,
    origin: originOf(url),
    withinMs,
    async transcribe({ name, type, bytes }, signal, onCost) {
      let progress: AttemptProgress = "begun";
      let body: unknown;
      const tell = (isPaid: boolean): void => onCost?.({ isPaid, ...costIn(body) });
      try {
        const file = new File([new Uint8Array(bytes)], name, { type });
        // How much of a form was sent is unknown.
        progress = "sent";
        const response = await client.audio.transcriptions
          .create({ model: sentAs, file, response_format: "json" }, { signal })
          .asResponse();
        progress = "accepted";
        body = await boundedJson(response);
        const { text } = answer.parse(body);
        tell(true);
        return text;
      } catch (error) {
        const failure = failureOf(error, parts, signal);
        tell(progress === "accepted" || isPaidFailure(failure, progress));
        throw failure;
      }
    },
  };
}

function failureOf(error: unknown, { model, apiKey }: TranscriptionConfig, signal: AbortSignal): ModelError {
  if (!signal.aborted && (error instanceof SyntaxError || error instanceof z.ZodError)) {
    const message = "the server sent something that is no transcript: does base_url end in /v1?";
    return new ModelError("rejected", model, message, { cause: error });
  }
  return failureOfCall(error, model, signal, apiKey ?? undefined);
}

function costIn(body: unknown): Pick<TranscriptionCost, "tokens" | "seconds"> {
  const usage = answer.pick({ usage: true }).safeParse(body).data?.usage;
  if (usage === undefined) return { tokens: null, seconds: null };
  return usage.type === "duration"
    ? { tokens: null, seconds: usage.seconds }
    : { tokens: { prompt: usage.input_tokens, completion: usage.output_tokens }, seconds: null };
}
