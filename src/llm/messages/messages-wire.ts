import type {
  ContentBlockParam,
  ImageBlockParam,
  MessageCreateParamsStreaming,
  MessageParam,
  TextBlockParam,
} from "@anthropic-ai/sdk/resources/messages";

import type { ModelImage, ModelMessage } from "../../core/context.ts";
import { objectJson } from "../../core/entry.ts";
import { cacheMarks, type MarkedPart, markedParts, type PartEnd } from "../caches/marks.ts";
import type { CacheRule } from "../caches/rules.ts";
import { type ChatServer, functionName, outputLimitOf } from "../chat/chat-request.ts";
import type { Dialect } from "../dialect.ts";
import type { ModelRequest } from "../model.ts";
import { thoughtsBefore, type Wire } from "../wire.ts";
import { MessagesReader } from "./messages-events.ts";

/** Anthropic's Messages. Its client is loaded with the first request. */
export function messagesWire(server: ChatServer): Wire {
  let client: Wire["post"] | undefined;
  return {
    body: messagesBody,
    async post(body, options) {
      client ??= (await import("./messages-client.ts")).openMessagesClient(server);
      return client(body, options);
    },
    reader: () => new MessagesReader(),
  };
}

/**
 * The body of a streamed request to Messages (Anthropic's API reference, and the types of `@anthropic-ai/sdk` 1.14,
 * read in November 2026). The system's text is a separate field; users and assistants alternate, beginning with a user;
 * tool results are in a user's message, before its text; empty texts are refused.
 */
function messagesBody(
  request: ModelRequest,
  dialect: Dialect,
  rule?: CacheRule,
): MessageCreateParamsStreaming {
  const hasTools = dialect.takesTools && request.tools.length > 0;
  const { ends, ofPart } = cacheMarks(request, dialect.takesCacheMarkers ? rule : undefined, true);
  const ids = uniqueIds(request.messages);
  const blocks = request.messages.map((message, place) => {
    const own = ends.filter((end) => end.message === place);
    return blocksOf(message, request, ids, own, ofPart);
  });
  const system = request.messages.flatMap(({ role }, place) =>
    role === "system" ? (blocks[place] ?? []) : [],
  );
  return {
    model: request.model,
    max_tokens: outputLimitOf(request, dialect),
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a system's blocks are texts
    ...(system.length > 0 && { system: system as TextBlockParam[] }),
    messages: inTurns(request.messages, blocks),
    stream: true,
    ...(hasTools && {
      tools: request.tools.map(({ name, description, parameters }) => ({
        name,
        description,
        input_schema: { type: "object" as const, ...parameters },
      })),
      tool_choice: { type: request.toolChoice },
    }),
  };
}

/** Fills in for a required message without text. */
const NOTHING_SAID: TextBlockParam = { type: "text", text: "…" };

function inTurns(
  messages: readonly ModelMessage[],
  blocks: readonly (readonly ContentBlockParam[])[],
): MessageParam[] {
  const turns: { role: "user" | "assistant"; content: ContentBlockParam[] }[] = [];
  for (const [place, { role }] of messages.entries()) {
    const own = blocks[place] ?? [];
    if (role === "system" || own.length === 0) continue;
    const side = role === "assistant" ? "assistant" : "user";
    const last = turns.at(-1);
    if (last?.role === side) last.content.push(...own);
    else turns.push({ role: side, content: [...own] });
  }
  if (turns[0]?.role !== "user") turns.unshift({ role: "user", content: [NOTHING_SAID] });
  // A final assistant's text would be taken for the beginning of the answer.
  if (turns.at(-1)?.role === "assistant") turns.push({ role: "user", content: [NOTHING_SAID] });
  return turns;
}

/**
 * @param ends where its text is split into parts
 * @param fields of a marked part
 */
function blocksOf(
  message: ModelMessage,
  request: ModelRequest,
  ids: CallIds,
  ends: readonly PartEnd[],
  fields: object,
): ContentBlockParam[] {
  switch (message.role) {
    case "system":
    case "user":
      return markedParts(message, ends).flatMap((part): ContentBlockParam[] =>
        "image" in part ? pictureOf(part.image) : textOf(part, fields),
      );
    case "tool": {
      const isMarked = ends.some((end) => end.isMarked);
      return [
        {
          type: "tool_result",
          tool_use_id: ids.get(message) ?? idOf(message.callId),
          content: message.text,
          ...(isMarked && fields),
        },
      ];
    }
    case "assistant":
      return [
        // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- as the same API has sent them
        ...(thoughtsBefore(message.calls, request) as ContentBlockParam[]),
        ...textOf({ text: message.text, isMarked: false }, fields),
        ...message.calls.map((call): ContentBlockParam => {
          return {
            type: "tool_use",
            id: ids.get(call) ?? idOf(call.id),
            name: functionName(call.name),
            input: JSON.parse(objectJson(call.arguments)),
          };
        }),
      ];
  }
}

function textOf({ text, isMarked }: MarkedPart, fields: object): TextBlockParam[] {
  return text.trim() === "" ? [] : [{ type: "text", text, ...(isMarked && fields) }];
}

const IMAGE_TYPES = ["image/jpeg", "image/png", "image/gif", "image/webp"] as const;

/** A picture of a type that the API does not take is only mentioned in the text. */
function pictureOf({ type, base64 }: ModelImage): ImageBlockParam[] {
  const known = IMAGE_TYPES.find((one) => one === type);
  if (known === undefined) return [];
  return [{ type: "image", source: { type: "base64", media_type: known, data: base64 } }];
}

/** The ids of a request's calls, by the call and by the message of its result. */
type CallIds = ReadonlyMap<object, string>;

/** The API takes each id once in a request; other servers restart their numbering in each answer. */
function uniqueIds(messages: readonly ModelMessage[]): CallIds {
  const ids = new Map<object, string>();
  const used = new Set<string>();
  /** The latest calls by their own ids: a result belongs to the last one. */
  const latest = new Map<string, string>();
  for (const message of messages) {
    if (message.role === "tool") ids.set(message, latest.get(message.callId) ?? idOf(message.callId));
    if (message.role !== "assistant") continue;
    for (const call of message.calls) {
      const own = idOf(call.id);
      let id = own;
      for (let number = 2; used.has(id); number++) id = `${own}_${number}`;
      used.add(id);
      latest.set(call.id, id);
      ids.set(call, id);
    }
  }
  return ids;
}

/** The API takes letters, digits, `_` and `-`; other servers' ids may contain more. */
function idOf(id: string): string {
  return id.replaceAll(/[^\w-]/g, "_");
}
