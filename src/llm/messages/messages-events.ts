import { z } from "zod";
import type { WireReader } from "../wire.ts";

/** The events of a streamed answer of Messages, read loosely. Names and fields: the types of `@anthropic-ai/sdk` 1.14. */
const text = z.string().nullish().catch(undefined);
const count = z.number().nullish().catch(undefined);
const usage = z
  .looseObject({
    input_tokens: count,
    output_tokens: count,
    cache_creation_input_tokens: count,
    cache_read_input_tokens: count,
  })
  .nullish()
  .catch(undefined);
const block = z.looseObject({
  type: text,
  id: text,
  name: text,
  text,
  input: z.record(z.string(), z.unknown()).nullish().catch(undefined),
  thinking: text,
  signature: text,
  data: text,
});
const message = z.looseObject({
  content: z.array(block).nullish().catch(undefined),
  stop_reason: text,
  usage,
});
const eventSchema = z.looseObject({
  type: text,
  index: count,
  content_block: block.nullish().catch(undefined),
  delta: z
    .looseObject({ type: text, text, partial_json: text, thinking: text, signature: text, stop_reason: text })
    .nullish()
    .catch(undefined),
  message: message.nullish().catch(undefined),
  usage,
});

type Block = z.infer<typeof block>;
type Event = z.infer<typeof eventSchema>;

const AT_WORK = { choices: [{ delta: { thinking: true } }] };

/** Turns the events into chunks of Chat Completions. */
export class MessagesReader implements WireReader {
  /** Blocks of thinking, by their place in the answer. */
  readonly #thinking = new Map<
    number,
    { type: string; thinking?: string; signature?: string; data?: string }
  >();
  readonly #calls = new Map<number, string>();
  #usage: Readonly<Record<string, number>> = {};
  #hasText = false;

  chunk(event: unknown): unknown {
    const { data, success } = eventSchema.safeParse(event);
    if (!success) return event;
    switch (data.type) {
      case "message_start":
        this.#count(data.message?.usage);
        return { usage: this.#told() };
      case "content_block_start":
        return this.#begun(data.index ?? 0, data.content_block ?? {});
      case "content_block_delta":
        return this.#piece(data.index ?? 0, data.delta ?? {});
      case "message_delta":
        this.#count(data.usage);
        return this.#ended(data.delta?.stop_reason);
      case "message":
        return this.#whole(message.parse(event));
      default:
        return undefined;
    }
  }

  /** Without a signature from the server, thoughts cannot be sent back. */
  thoughts(): readonly object[] {
    const all = [...this.#thinking].toSorted(([a], [b]) => a - b);
    // They are sent back before the answer: the API refuses thoughts that were after a text or a call.
    if (all.some(([place], index) => place !== index)) return [];
    return all.map(([, one]) => one).filter(({ signature, data }) => (signature ?? data ?? "") !== "");
  }

  #begun(place: number, begun: Block): unknown {
    switch (begun.type) {
      case "text":
        return this.#text(this.#hasText ? `\n\n${begun.text ?? ""}` : (begun.text ?? ""));
      case "tool_use": {
        this.#calls.set(place, begun.id ?? "");
        const given = Object.keys(begun.input ?? {}).length > 0 ? JSON.stringify(begun.input) : "";
        return this.#call(place, { name: begun.name, arguments: given });
      }
      case "thinking":
        this.#thinking.set(place, {
          type: "thinking",
          thinking: begun.thinking ?? "",
          signature: begun.signature ?? "",
        });
        return AT_WORK;
      case "redacted_thinking":
        this.#thinking.set(place, { type: "redacted_thinking", data: begun.data ?? "" });
        return AT_WORK;
      default:
        return undefined;
    }
  }

  #piece(place: number, delta: NonNullable<Event["delta"]>): unknown {
    switch (delta.type) {
      case "text_delta":
        return this.#text(delta.text ?? "");
      case "input_json_delta":
        return this.#call(place, { arguments: delta.partial_json ?? "" });
      case "thinking_delta": {
        const one = this.#thinking.get(place);
        if (one !== undefined) one.thinking = `${one.thinking ?? ""}${delta.thinking ?? ""}`;
        return { choices: [{ delta: { reasoning: delta.thinking ?? "" } }] };
      }
      case "signature_delta": {
        const one = this.#thinking.get(place);
        if (one !== undefined) one.signature = `${one.signature ?? ""}${delta.signature ?? ""}`;
        return AT_WORK;
      }
      default:
        return undefined;
    }
  }

  #whole(whole: z.infer<typeof message>): unknown {
    this.#count(whole.usage);
    const blocks = whole.content ?? [];
    for (const [place, one] of blocks.entries()) this.#begun(place, one);
    const texts = blocks.flatMap((one) => (one.type === "text" && one.text ? [one.text] : []));
    const calls = blocks.flatMap((one, index) =>
      one.type === "tool_use"
        ? [{ index, id: one.id, function: { name: one.name, arguments: JSON.stringify(one.input ?? {}) } }]
        : [],
    );
    const delta = { content: texts.join("\n\n"), tool_calls: calls };
    return { choices: [{ delta, finish_reason: finishOf(whole.stop_reason) }], usage: this.#told() };
  }

  #ended(reason: string | null | undefined): unknown {
    return { choices: [{ delta: null, finish_reason: finishOf(reason) }], usage: this.#told() };
  }

  #text(content: string): unknown {
    this.#hasText ||= content !== "";
    return { choices: [{ delta: { content } }] };
  }

  #call(index: number, called: { name?: unknown; arguments: string }): unknown {
    return {
      choices: [{ delta: { tool_calls: [{ index, id: this.#calls.get(index), function: called }] } }],
    };
  }

  /** The latest count of each kind counts. */
  #count(told: z.infer<typeof usage>): void {
    const counts = Object.entries(told ?? {}).filter(
      (entry): entry is [string, number] => typeof entry[1] === "number",
    );
    this.#usage = { ...this.#usage, ...Object.fromEntries(counts) };
  }

  /** The API counts tokens read from a cache and written to one apart from the other input. */
  #told(): unknown {
    const {
      input_tokens: plain,
      output_tokens: completion = 0,
      cache_read_input_tokens: read = 0,
      cache_creation_input_tokens: written = 0,
    } = this.#usage;
    if (plain === undefined) return undefined;
    return {
      prompt_tokens: plain + read + written,
      completion_tokens: completion,
      prompt_tokens_details: { cached_tokens: read, cache_write_tokens: written },
    };
  }
}

const FINISH: ReadonlyMap<string, string> = new Map([
  ["max_tokens", "length"],
  ["model_context_window_exceeded", "length"],
  ["refusal", "content_filter"],
  ["tool_use", "tool_calls"],
]);

function finishOf(reason: string | null | undefined): string {
  return FINISH.get(reason ?? "") ?? "stop";
}
