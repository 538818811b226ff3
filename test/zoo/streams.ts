/** What a model has said, as the bytes of each API. */
import { type Api, type Asked, countTokens } from "./asked.ts";
import type { CacheUse } from "../support/provider-caches.ts";
import type { Said } from "./mind.ts";
import type { ChatForm } from "./species.ts";

/** How an answer ends beside "it was whole": with nothing in it, because there was no room. */
export type Ending = "whole" | "no_room";

export interface Told {
  readonly asked: Asked;
  readonly said: Said;
  readonly paid: CacheUse;
  readonly ending: Ending;
  readonly form: ChatForm;
  /** Counts all answers of a server: for ids. */
  readonly number: number;
}

/** The events of an answer, in pieces; an answer that is held stops behind its first text. */
export function written(told: Told): string[] {
  return told.asked.isStreamed ? STREAMS[told.asked.api](told) : [JSON.stringify(whole(told))];
}

const STREAMS: Record<Api, (told: Told) => string[]> = {
  chat: chatStream,
  responses: responsesStream,
  messages: messagesStream,
};

function tokensOf({ said, ending }: Told): number {
  if (ending === "no_room") return 1;
  return Math.max(1, countTokens(said.text.length + JSON.stringify(said.calls).length));
}

function pieces(text: string): string[] {
  return text.match(/\s*\S+\s*$|\s*\S+|\s+$/g) ?? [];
}

// Chat Completions.

const THINKING_TAGS = {
  think_tags: ["<think>\n", "\n</think>\n\n"],
  closing_tag: ["", "</think>\n\n"],
} as const;

/** The text as it is streamed, and the events that hold the thoughts. */
function thoughtful({ said, form, ending }: Told): { readonly text: string; readonly deltas: object[] } {
  const { thoughts } = said;
  const text = ending === "no_room" ? "" : said.text;
  if (form.thoughts === null || ending === "no_room") return { text, deltas: [] };
  switch (form.thoughts) {
    case "think_tags":
    case "closing_tag": {
      const [before, after] = THINKING_TAGS[form.thoughts];
      return { text: `${before}${thoughts}${after}${text}`, deltas: [] };
    }
    case "parts": {
      const part = { type: "thinking", thinking: [{ type: "text", text: thoughts }] };
      return { text, deltas: [{ content: [part] }] };
    }
    case "reasoning_content":
    case "reasoning": {
      const key = form.thoughts;
      return { text, deltas: pieces(thoughts).map((piece) => ({ content: null, [key]: piece })) };
    }
  }
}

function chatStream(told: Told): string[] {
  const { asked, said, form, ending } = told;
  const usage = { ...chatUsage(told) };
  const isEach = form.usage === "each";
  const event = (choices: readonly object[], more: object = {}): string =>
    data({
      id: `chatcmpl-${told.number}`,
      object: "chat.completion.chunk",
      created: 1_790_000_000,
      model: asked.model,
      choices,
      ...(isEach && { usage }),
      ...more,
    });
  const delta = (part: object, finish: string | null = null, more: object = {}): string =>
    event([{ index: 0, delta: part, finish_reason: finish }], more);
  const { text, deltas } = thoughtful(told);
  const events = [...form.opening, delta({ role: "assistant", content: "" })];
  events.push(...deltas.map((part) => delta(part)), ...pieces(text).map((content) => delta({ content })));
  if (said.isHeld) return events;
  if (ending === "whole") events.push(...chatCalls(told).map((part) => delta({ tool_calls: [part] })));
  if (form.repeats && text !== "") events.push(delta({ content: text }));
  const last = form.usage === "last" ? { usage } : {};
  if (form.end !== "done") events.push(delta({}, finishOf(told), last));
  if (form.usage === "asked" && wantsUsage(asked)) events.push(event([], { usage }));
  return form.end === "finish" ? events : [...events, "data: [DONE]\n\n"];
}

function finishOf({ said, ending }: Told): string {
  if (ending === "no_room") return "length";
  return said.calls.length > 0 ? "tool_calls" : "stop";
}

function chatCalls(told: Told): object[] {
  const { form, said } = told;
  const calls = said.calls.map(({ name, arguments: values }, index) => {
    return { index, id: idOf(told, index), name, json: JSON.stringify(values) };
  });
  const head = ({ id, name }: (typeof calls)[number], json: string): object => {
    return { id, type: "function", function: { name, arguments: json } };
  };
  if (form.calls === "whole") return calls.map((call) => ({ index: call.index, ...head(call, call.json) }));
  if (form.calls === "no_index") return calls.map((call) => head(call, call.json));
  if (form.calls === "misplaced") {
    // The head of each stands at index 0, its arguments behind, at another one.
    return calls.flatMap((call) => [
      { index: 0, ...head(call, "") },
      ...halves(call.json).map((json) => ({ index: call.index, id: call.id, function: { arguments: json } })),
    ]);
  }
  return [
    ...calls.map((call) => ({ index: call.index, ...head(call, "") })),
    ...calls.flatMap(({ index, json }) =>
      halves(json).map((part) => ({ index, function: { arguments: part } })),
    ),
  ];
}

function halves(text: string): string[] {
  const middle = Math.ceil(text.length / 2);
  return [text.slice(0, middle), text.slice(middle)];
}

function idOf({ form, number }: Told, index: number): string | number {
  if (form.ids === "number") return number * 10 + index;
  // Mistral's ids have nine letters and digits.
  if (form.ids === "short") return `id${String(number * 10 + index).padStart(7, "0")}`;
  return `call_${number}_${index}`;
}

function wantsUsage({ body }: Asked): boolean {
  return JSON.stringify(body["stream_options"] ?? "").includes('"include_usage":true');
}

function chatUsage(told: Told): object {
  const { plain, read, written: wrote } = told.paid;
  const prompt = plain + read + wrote;
  const completion = tokensOf(told);
  return {
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: prompt + completion,
    prompt_tokens_details: { cached_tokens: read, ...(wrote > 0 && { cache_write_tokens: wrote }) },
  };
}

function whole(told: Told): object {
  const { asked } = told;
  if (asked.api === "messages") return { ...messageHead(told), content: messageBlocks(told) };
  if (asked.api === "responses") return responseObject(told, "completed");
  const { text } = thoughtful(told);
  const calls = told.ending === "whole" ? chatCalls({ ...told, form: { ...told.form, calls: "whole" } }) : [];
  return {
    id: `chatcmpl-${told.number}`,
    object: "chat.completion",
    created: 1_790_000_000,
    model: asked.model,
    choices: [
      {
        index: 0,
        message: { role: "assistant", content: text, ...(calls.length > 0 && { tool_calls: calls }) },
        finish_reason: finishOf(told),
      },
    ],
    ...(told.form.usage !== "never" && { usage: chatUsage(told) }),
  };
}

// Responses.

interface Item {
  readonly id: string;
  readonly type: string;
  readonly [field: string]: unknown;
}

function responseItems({ said, number }: Told): Item[] {
  const thoughts = {
    id: `rs_${number}`,
    type: "reasoning",
    summary: [],
    encrypted_content: `sealed-${number}`,
  };
  const text = { type: "output_text", text: said.text, annotations: [] };
  const message = {
    id: `msg_${number}`,
    type: "message",
    role: "assistant",
    status: "completed",
    content: [text],
  };
  const calls = said.calls.map(({ name, arguments: values }, index) => {
    return {
      id: `fc_${number}_${index}`,
      type: "function_call",
      status: "completed",
      call_id: `call_${number}_${index}`,
      name,
      arguments: JSON.stringify(values),
    };
  });
  return [thoughts, ...(said.text === "" ? [] : [message]), ...calls];
}

function responseObject(told: Told, status: string): object {
  const { plain, read, written: wrote } = told.paid;
  const input = plain + read + wrote;
  const output = tokensOf(told);
  const isOver = status !== "in_progress";
  return {
    id: `resp_${told.number}`,
    object: "response",
    created_at: 1_790_000_000,
    model: told.asked.model,
    status,
    error: null,
    incomplete_details: status === "incomplete" ? { reason: "max_output_tokens" } : null,
    output: isOver && told.ending === "whole" ? responseItems(told) : [],
    parallel_tool_calls: true,
    usage: isOver
      ? {
          input_tokens: input,
          input_tokens_details: { cached_tokens: read, cache_write_tokens: wrote },
          output_tokens: output,
          output_tokens_details: { reasoning_tokens: 1 },
          total_tokens: input + output,
        }
      : null,
  };
}

function responsesStream(told: Told): string[] {
  let sequence = 0;
  const event = (type: string, fields: object): string =>
    named(type, { type, sequence_number: sequence++, ...fields });
  const events = [
    event("response.created", { response: responseObject(told, "in_progress") }),
    event("response.in_progress", { response: responseObject(told, "in_progress") }),
  ];
  const items = told.ending === "whole" ? responseItems(told) : [];
  for (const [place, item] of items.entries()) {
    const at = { output_index: place, item_id: item.id };
    const opened = { ...item, ...(item.type === "message" && { content: [] }) };
    events.push(
      event("response.output_item.added", {
        output_index: place,
        item: { ...opened, status: "in_progress", ...(item.type === "function_call" && { arguments: "" }) },
      }),
    );
    if (item.type === "message") {
      const part = { type: "output_text", text: "", annotations: [] };
      events.push(event("response.content_part.added", { ...at, content_index: 0, part }));
      for (const delta of pieces(told.said.text))
        events.push(event("response.output_text.delta", { ...at, content_index: 0, delta }));
      if (told.said.isHeld) return events;
      events.push(
        event("response.output_text.done", { ...at, content_index: 0, text: told.said.text }),
        event("response.content_part.done", {
          ...at,
          content_index: 0,
          part: { ...part, text: told.said.text },
        }),
      );
    }
    if (item.type === "function_call") {
      const json = String(item["arguments"]);
      for (const delta of halves(json))
        events.push(event("response.function_call_arguments.delta", { ...at, delta }));
      events.push(
        event("response.function_call_arguments.done", { ...at, name: item["name"], arguments: json }),
      );
    }
    events.push(event("response.output_item.done", { output_index: place, item }));
  }
  const status = told.ending === "no_room" ? "incomplete" : "completed";
  events.push(event(`response.${status}`, { response: responseObject(told, status) }));
  return events;
}

// Messages.

function messageHead(told: Told): object {
  const { plain, read, written: wrote } = told.paid;
  const usage = {
    input_tokens: plain,
    cache_read_input_tokens: read,
    cache_creation_input_tokens: wrote,
    output_tokens: tokensOf(told),
  };
  const stop =
    told.ending === "no_room" ? "max_tokens" : told.said.calls.length > 0 ? "tool_use" : "end_turn";
  return {
    id: `msg_${told.number}`,
    type: "message",
    role: "assistant",
    model: told.asked.model,
    stop_reason: stop,
    stop_sequence: null,
    usage,
  };
}

function messageBlocks({ asked, said, ending, number }: Told): object[] {
  if (ending === "no_room") return [];
  const isThinking = JSON.stringify(asked.body["thinking"] ?? "").match(/enabled|adaptive/) !== null;
  const thinking = { type: "thinking", thinking: said.thoughts, signature: `signed-${number}` };
  const calls = said.calls.map(({ name, arguments: input }, index) => {
    return { type: "tool_use", id: `toolu_${number}_${index}`, name, input };
  });
  return [
    ...(isThinking ? [thinking] : []),
    ...(said.text === "" ? [] : [{ type: "text", text: said.text }]),
    ...calls,
  ];
}

function messagesStream(told: Told): string[] {
  const event = (type: string, fields: object): string => named(type, { type, ...fields });
  const head = messageHead(told);
  const begun = { ...head, content: [], stop_reason: null };
  const events = [event("message_start", { message: begun }), event("ping", {})];
  for (const [index, block] of messageBlocks(told).entries()) {
    const deltas = blockDeltas(block);
    events.push(
      event("content_block_start", { index, content_block: emptied(block) }),
      ...deltas.map((delta) => event("content_block_delta", { index, delta })),
    );
    if (told.said.isHeld && "text" in block) return events;
    events.push(event("content_block_stop", { index }));
  }
  const { stop_reason: reason, usage } = { stop_reason: null, usage: {}, ...head };
  events.push(
    event("message_delta", { delta: { stop_reason: reason, stop_sequence: null }, usage }),
    event("message_stop", {}),
  );
  return events;
}

function emptied(block: object): object {
  if ("text" in block) return { ...block, text: "" };
  if ("thinking" in block) return { ...block, thinking: "", signature: "" };
  return { ...block, input: {} };
}

function blockDeltas(block: object): object[] {
  if ("text" in block && typeof block.text === "string")
    return pieces(block.text).map((text) => ({ type: "text_delta", text }));
  if ("thinking" in block && "signature" in block)
    return [
      { type: "thinking_delta", thinking: block.thinking },
      { type: "signature_delta", signature: block.signature },
    ];
  const json = "input" in block ? JSON.stringify(block.input) : "{}";
  return halves(json).map((part) => ({ type: "input_json_delta", partial_json: part }));
}

function data(value: object): string {
  return `data: ${JSON.stringify(value)}\n\n`;
}

function named(name: string, value: object): string {
  return `event: ${name}\n${data(value)}`;
}
