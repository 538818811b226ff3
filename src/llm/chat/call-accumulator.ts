import { isObjectJson, type ToolCall } from "../../core/entry.ts";
import { usableId, withOwnIds } from "./call-ids.ts";
import type { CallPiece } from "./chat-chunk.ts";

/** Limit of calls in one answer: only a confused model makes more. The rest is dropped. */
const MAX_CALLS = 64;

interface OpenCall {
  index: number | undefined;
  id: string;
  name: string;
  json: string;
}

/**
 * Assembles streamed tool calls. OpenAI numbers calls by `index`; other servers omit it, repeat it, or send
 * no ids. So a piece belongs to the call with its id, else to the newest call with its index, else to the
 * last call. A piece that cannot continue that call begins a new call.
 */
export class CallAccumulator {
  readonly #calls: OpenCall[] = [];
  #length = 0;

  /** Characters of arguments so far, over all calls. */
  get length(): number {
    return this.#length;
  }

  add(piece: CallPiece): void {
    const id = usableId(piece.id ?? "");
    const name = piece.function?.name ?? "";
    const given = piece.function?.arguments ?? "";
    const json = typeof given === "string" ? given : JSON.stringify(given);
    const index = piece.index ?? undefined;
    const call = this.#find(id, index, name) ?? this.#begin(index);
    if (call === undefined) return;
    if (call.id === "") call.id = id;
    if (call.name === "") call.name = name;
    call.json += json;
    this.#length += json.length + name.length;
  }

  /** @param isWhole false: the answer was cut off; a call with incomplete arguments is dropped */
  finish(isWhole: boolean): ToolCall[] {
    const whole = this.#calls.filter(({ name, json }) => name !== "" && (isWhole || isObjectJson(json)));
    return withOwnIds(
      whole.map(({ id, name, json }) => ({ id, name, arguments: json === "" ? "{}" : json })),
    );
  }

  #find(id: string, index: number | undefined, name: string): OpenCall | undefined {
    if (id !== "") {
      const known = this.#calls.findLast((call) => call.id === id);
      if (known !== undefined) return index === undefined || known.index === index ? known : undefined;
      // The id may come after the first piece. A call with another id is another call.
      return index === undefined
        ? undefined
        : this.#calls.findLast((call) => call.index === index && call.id === "");
    }
    const candidate =
      index === undefined ? this.#calls.at(-1) : this.#calls.findLast((call) => call.index === index);
    const startsAnother =
      name !== "" && candidate !== undefined && candidate.name !== "" && isObjectJson(candidate.json);
    if (index === undefined && name !== "" && candidate?.name !== "") return undefined;
    return startsAnother ? undefined : candidate;
  }

  #begin(index: number | undefined): OpenCall | undefined {
    if (this.#calls.length >= MAX_CALLS) return undefined;
    const call = { index, id: "", name: "", json: "" };
    this.#calls.push(call);
    return call;
  }
}
