import { thoughtsBefore, type Wire } from "../wire.ts";
import { ResponsesReader } from "./responses-events.ts";
import type {
  EasyInputMessage,
  ResponseCreateParamsStreaming,
  ResponseInputImage,
  ResponseInputItem,
  ResponseInputText,
} from "openai/resources/responses/responses";
import { imagesOf } from "../../core/canonical.ts";
import type { ModelMessage } from "../../core/context.ts";
import { objectJson } from "../../core/entry.ts";
import { functionName, outputLimitOf } from "../chat/chat-request.ts";
import { cacheMarks, markedParts, type PartEnd } from "../caches/marks.ts";
import type { CacheRule } from "../caches/rules.ts";
import type { Dialect } from "../dialect.ts";
import type { ModelRequest } from "../model.ts";

export function responsesWire(post: Wire["post"]): Wire {
  return { body: responsesBody, post, reader: () => new ResponsesReader() };
}

/**
 * The body of a streamed request to Responses (OpenAI's API reference, and the types of `openai` 7.55, read in November
 * 2026). The provider stores nothing; the model's thoughts before its calls are returned encrypted, and are sent again
 * with them.
 */
function responsesBody(
  request: ModelRequest,
  dialect: Dialect,
  rule?: CacheRule,
): ResponseCreateParamsStreaming {
  const hasTools = dialect.takesTools && request.tools.length > 0;
  const [first, ...rest] = request.messages;
  const marks = cacheMarks(request, dialect.takesCacheMarkers ? rule : undefined, true);
  const partsOf = (place: number): Parted => {
    return { ends: marks.ends.filter(({ message }) => message === place), fields: marks.ofPart };
  };
  // Instructions cannot have a mark.
  const isLed = first?.role === "system" && partsOf(0).ends.length === 0;
  return {
    model: request.model,
    ...(isLed && { instructions: first.text }),
    input: (isLed ? rest : request.messages).flatMap((message, index) =>
      itemsOf(message, request, partsOf(isLed ? index + 1 : index)),
    ),
    ...marks.ofRequest,
    stream: true,
    store: false,
    include: ["reasoning.encrypted_content"],
    max_output_tokens: outputLimitOf(request, dialect),
    ...(dialect.takesTemperature &&
      request.temperature !== undefined && { temperature: request.temperature }),
    ...(dialect.takesCacheKey && request.cacheKey !== undefined && { prompt_cache_key: request.cacheKey }),
    ...(dialect.reasoning !== undefined && { reasoning: { effort: dialect.reasoning } }),
    ...(hasTools && {
      tools: request.tools.map(({ name, description, parameters }) => ({
        type: "function" as const,
        name,
        description,
        parameters: { ...parameters },
        strict: false,
      })),
      tool_choice: request.toolChoice,
    }),
  };
}

type Part = ResponseInputText | ResponseInputImage;

interface Parted {
  /** Where the text is split into parts. */
  readonly ends: readonly PartEnd[];
  /** For a marked part. */
  readonly fields: object;
}

function itemsOf(message: ModelMessage, request: ModelRequest, parted: Parted): readonly ResponseInputItem[] {
  switch (message.role) {
    case "system":
      return [said("system", contentOf(message, parted))];
    case "user":
      return [said("user", contentOf(message, parted))];
    case "tool":
      return [{ type: "function_call_output", call_id: message.callId, output: contentOf(message, parted) }];
    case "assistant":
      return [
        // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- as the same API has sent them
        ...(thoughtsBefore(message.calls, request) as readonly ResponseInputItem[]),
        ...(message.text === "" ? [] : [said("assistant", message.text)]),
        ...message.calls.map(({ id, name, arguments: json }) => ({
          type: "function_call" as const,
          call_id: id,
          name: functionName(name),
          arguments: objectJson(json),
        })),
      ];
  }
}

function said(role: EasyInputMessage["role"], content: EasyInputMessage["content"]): EasyInputMessage {
  return { role, content };
}

function contentOf(message: ModelMessage, { ends, fields }: Parted): string | Part[] {
  if (ends.length === 0 && imagesOf(message).length === 0) return message.text;
  return markedParts(message, ends).map((part): Part => {
    if (!("image" in part)) return { type: "input_text", text: part.text, ...(part.isMarked && fields) };
    const { type, base64 } = part.image;
    return { type: "input_image", detail: "auto", image_url: `data:${type};base64,${base64}` };
  });
}
