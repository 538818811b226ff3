import { canonical } from "../../core/canonical.ts";
import type { ModelMessage } from "../../core/context.ts";
import { objectJson } from "../../core/entry.ts";
import type { Dialect } from "../dialect.ts";
import type { ModelRequest } from "../model.ts";
import { functionName } from "./chat-request.ts";

/** A converted message, and the UTF-16 units before its original text. */
interface Piece {
  readonly message: ModelMessage;
  /** Where its original text begins; it extends to the end unless it is cut. */
  readonly from: number;
}

/**
 * A request for a model whose chat template lacks some roles. Without the role `tool`, an assistant's calls become
 * lines of its text, and results are quoted in the user's message after it; without the role `system`, its text
 * precedes the first user's message. Roles alternate as before. Pure: each message is always written in the same way,
 * so that requests share their prefixes.
 * @param request in its canonical form; results were escaped when they were rendered
 */
export function inKnownRoles(
  request: ModelRequest,
  { takesToolRole, takesSystemRole }: Pick<Dialect, "takesToolRole" | "takesSystemRole">,
): ModelRequest {
  if (takesToolRole && takesSystemRole) return request;
  const tools = new Map<string, string>();
  const pieces = request.messages.map((message): Piece => {
    if (message.role === "system" && !takesSystemRole)
      return { message: { role: "user", text: message.text }, from: 0 };
    if (takesToolRole) return { message, from: 0 };
    if (message.role === "tool") return quoted(message, tools.get(message.callId) ?? "a tool");
    if (message.role !== "assistant" || message.calls.length === 0) return { message, from: 0 };
    tools.clear();
    for (const { id, name } of message.calls) tools.set(id, functionName(name));
    return told(message);
  });
  const { messages, places } = canonical(pieces.map(({ message }) => message));
  const stableEnds = request.stableEnds?.flatMap(({ message: index, length }) => {
    const [place, piece, own] = [places[index], pieces[index], request.messages[index]];
    if (place === undefined || place === null || piece === undefined || own === undefined) return [];
    const { text } = piece.message;
    return [
      {
        message: place.message,
        length: place.from + (length >= own.text.length ? text.length : piece.from + length),
      },
    ];
  });
  return { ...request, messages, ...(stableEnds !== undefined && { stableEnds }) };
}

function told({ text, calls }: ModelMessage & { role: "assistant" }): Piece {
  const lines = calls.map(({ name, arguments: json }) => `called ${functionName(name)}(${objectJson(json)})`);
  const all = text.trim() === "" ? lines : [text, ...lines];
  return { message: { role: "assistant", text: all.join("\n"), calls: [] }, from: 0 };
}

function quoted({ text }: ModelMessage & { role: "tool" }, tool: string): Piece {
  const head = `[System: ${tool} returned]\n> `;
  return { message: { role: "user", text: head + text.replaceAll("\n", "\n> ") }, from: head.length };
}
