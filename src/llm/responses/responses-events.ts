import { APIError } from "openai/error";
import { z } from "zod";
import type { WireReader } from "../wire.ts";

/** The events of a streamed answer of Responses, read loosely. Names and fields: the types of `openai` 7.55. */
const text = z.string().nullish().catch(undefined);
const count = z.number().nullish().catch(undefined);
const part = z.looseObject({ type: text, text, refusal: text });
const item = z.looseObject({
  type: text,
  id: text,
  call_id: text,
  name: text,
  arguments: text,
  encrypted_content: text,
  content: z.array(part).nullish().catch(undefined),
});
const usage = z.looseObject({
  input_tokens: count,
  output_tokens: count,
  input_tokens_details: z
    .looseObject({ cached_tokens: count, cache_write_tokens: count })
    .nullish()
    .catch(undefined),
});
const response = z.looseObject({
  object: text,
  status: text,
  output: z.array(item).nullish().catch(undefined),
  usage: usage.nullish().catch(undefined),
  incomplete_details: z.looseObject({ reason: text }).nullish().catch(undefined),
  error: z.looseObject({ code: text, message: text }).nullish().catch(undefined),
});
const eventSchema = z.looseObject({
  type: text,
  delta: text,
  output_index: count,
  item: item.nullish().catch(undefined),
  response: response.nullish().catch(undefined),
});

type Item = z.infer<typeof item>;
type ResponseObject = z.infer<typeof response>;

/** An event without text that shows that the model is working. */
const AT_WORK = { choices: [{ delta: { thinking: true } }] };

/** Turns the events into chunks of Chat Completions. */
export class ResponsesReader implements WireReader {
  readonly #thoughts: object[] = [];
  /** Ids of the calls, by the place of their items. */
  readonly #calls = new Map<number, string>();
  readonly #inPieces = new Set<number>();
  #hasText = false;
  /** A second message of the answer needs a separator from the first. */
  #isParted = false;

  chunk(event: unknown): unknown {
    const { data, success } = eventSchema.safeParse(event);
    if (!success) return event;
    const { type, delta, item: done } = data;
    const place = data.output_index ?? 0;
    switch (type) {
      case "response.output_text.delta":
      case "response.refusal.delta":
        return this.#text(delta ?? "");
      case "response.reasoning_summary_text.delta":
      case "response.reasoning_text.delta":
        return { choices: [{ delta: { reasoning: delta ?? "" } }] };
      case "response.output_item.added":
        return this.#begun(place, done ?? {});
      case "response.function_call_arguments.delta":
        this.#inPieces.add(place);
        return call(place, { id: this.#calls.get(place), arguments: delta ?? "" });
      case "response.output_item.done":
        return this.#done(place, done ?? {});
      case "response.completed":
      case "response.incomplete":
      case "response.failed":
      case "response.cancelled":
        return this.#ended(data.response ?? {});
      default:
        // Unstreamed: the whole answer is one event.
        return type == null && data["object"] === "response" ? this.#ended(response.parse(event)) : undefined;
    }
  }

  thoughts(): readonly object[] {
    return this.#thoughts;
  }

  #text(delta: string): unknown {
    const content = this.#isParted ? `\n\n${delta}` : delta;
    this.#isParted = false;
    this.#hasText ||= delta !== "";
    return { choices: [{ delta: { content } }] };
  }

  #begun(place: number, { type, call_id: id, name }: Item): unknown {
    if (type === "message") this.#isParted = this.#hasText;
    if (type !== "function_call") return AT_WORK;
    this.#calls.set(place, id ?? "");
    return call(place, { id, name });
  }

  #done(place: number, one: Item): unknown {
    if (one.type === "reasoning" && typeof one.encrypted_content === "string") this.#thoughts.push(one);
    if (one.type !== "function_call" || this.#inPieces.has(place)) return undefined;
    // The arguments, or the whole call, arrived at once.
    const isNew = !this.#calls.has(place);
    this.#calls.set(place, one.call_id ?? "");
    this.#inPieces.add(place);
    return call(place, { id: one.call_id, arguments: one.arguments, ...(isNew && { name: one.name }) });
  }

  #ended(ended: ResponseObject): unknown {
    const { status, error, incomplete_details: why } = ended;
    if (status === "failed" || status === "cancelled" || error != null) {
      const told = { code: error?.code ?? status, message: error?.message ?? `the answer was ${status}` };
      throw new APIError(undefined, told, undefined, new Headers());
    }
    const reason = why?.reason;
    return {
      choices: [{ delta: this.#missed(ended.output ?? []), finish_reason: FINISH[reason ?? ""] ?? "stop" }],
      usage: usageOf(ended),
    };
  }

  /** The parts of the final answer that were not streamed. */
  #missed(output: readonly Item[]): object | null {
    for (const one of this.#thoughts.length > 0 ? [] : output)
      if (one.type === "reasoning" && typeof one.encrypted_content === "string") this.#thoughts.push(one);
    const parts = output.flatMap(({ content }) => content ?? []);
    const texts = parts.map((one) =>
      one.type === "refusal" ? one.refusal : one.type === "output_text" ? one.text : "",
    );
    const content = this.#hasText ? "" : texts.filter((one) => one != null && one !== "").join("\n\n");
    const calls = output.flatMap((one, index) =>
      one.type === "function_call" && this.#calls.size === 0
        ? [{ index, id: one.call_id, function: { name: one.name, arguments: one.arguments } }]
        : [],
    );
    return { content, tool_calls: calls };
  }
}

const FINISH: Readonly<Record<string, string>> = {
  max_output_tokens: "length",
  content_filter: "content_filter",
};

function call(
  index: number,
  { id, ...called }: { id?: string | null | undefined; name?: unknown; arguments?: unknown },
): unknown {
  return { choices: [{ delta: { tool_calls: [{ index, id, function: called }] } }] };
}

function usageOf({ usage: told }: ResponseObject): unknown {
  if (told == null) return undefined;
  const { cached_tokens, cache_write_tokens } = told.input_tokens_details ?? {};
  return {
    prompt_tokens: told.input_tokens,
    completion_tokens: told.output_tokens,
    prompt_tokens_details: { cached_tokens, cache_write_tokens },
  };
}
