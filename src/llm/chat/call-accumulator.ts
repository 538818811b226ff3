import { isObjectJson, type ToolCall } from "../../core/entry.ts";
import { usableId, withOwnIds } from "./call-ids.ts";
import type { CallPiece } from "./chat-chunk.ts";

/** Most calls in one answer: only a confused model makes more. The rest is dropped. */
const MAX_CALLS = 64;

interface OpenCall {
  index: number | undefined;
  id: string;
  name: string;
  json: string;
  /**
   * A repetition of all arguments so far. It is a snapshot if a longer one follows, and a part of nested arguments if
   * another piece follows.
   */
  repeated: string;
}

/**
 * Assembles streamed tool calls. OpenAI numbers calls by `index`; other servers omit it, repeat it, miscount, or send
 * no ids. So a piece belongs to the call with its id, else to the newest call with its index, else to the last call. A
 * piece that cannot continue that call begins a new call.
 */
export class CallAccumulator {
  readonly #calls: OpenCall[] = [];
  readonly #names: ReadonlySet<string>;
  #length = 0;

  /** @param names of the callable tools: some servers send a name in pieces */
  constructor(names: readonly string[]) {
    this.#names = new Set(names);
  }

  /** Characters of arguments so far, over all calls. */
  get length(): number {
    return this.#length;
  }

  add(given: CallPiece): void {
    const piece = { ...given, id: usableId(given.id) };
    if (piece.id === "" && piece.name === "" && piece.json === "") return;
    const call = this.#find(piece) ?? this.#begin(piece.index);
    if (call === undefined) return;
    const length = call.json.length + call.name.length;
    if (call.id === "") call.id = piece.id;
    // A piece without an id, under an index that no call has: the call's first piece had another call's index.
    if (piece.id === "" && piece.index !== undefined) call.index = piece.index;
    call.name = this.#joinedName(call, piece.name) ?? call.name;
    addJson(call, piece.json);
    // A repetition adds nothing, but counts, since a server may repeat itself forever.
    this.#length += Math.max(1, call.json.length + call.name.length - length);
  }

  /** Adds a whole copy of calls that came in pieces. */
  addSnapshot(pieces: readonly CallPiece[]): void {
    for (const [place, piece] of pieces.entries()) {
      const id = usableId(piece.id);
      const atPlace = this.#calls[place];
      const known =
        this.#calls.find((call) => id !== "" && call.id === id) ??
        (atPlace?.name === piece.name ? atPlace : undefined);
      if (known === undefined) this.add(piece);
      else if (!isWhole(known.json)) known.json = piece.json;
    }
  }

  /** @param isWholeAnswer false: the answer was cut off; a call with incomplete arguments is dropped */
  finish(isWholeAnswer: boolean): ToolCall[] {
    const whole = this.#calls.filter(
      ({ name, json }) => name !== "" && (isWholeAnswer || isObjectJson(json)),
    );
    return withOwnIds(
      whole.map(({ id, name, json }) => ({ id, name, arguments: NO_ARGUMENTS.test(json) ? "{}" : json })),
    );
  }

  #find(piece: CallPiece): OpenCall | undefined {
    return piece.id === "" ? this.#findWithoutId(piece) : this.#findById(piece);
  }

  #findById(piece: CallPiece): OpenCall | undefined {
    const { id, index } = piece;
    const ofId = this.#calls.filter((call) => call.id === id);
    const known = ofId.findLast((call) => call.index === index) ?? ofId.at(-1);
    if (known === undefined) {
      // The id may come after the first piece. A different id means another call.
      const begun = index === undefined ? undefined : this.#withIndex(index);
      return begun?.id === "" && !this.#beginsAnother(begun, piece) ? begun : undefined;
    }
    const isElsewhere = index !== undefined && known.index !== undefined && known.index !== index;
    // Servers may use one id for two calls, or a wrong index for a call's pieces.
    const isHead = isElsewhere && piece.name !== "" && !continues(known, piece);
    return isHead || this.#beginsAnother(known, piece) ? undefined : known;
  }

  #findWithoutId(piece: CallPiece): OpenCall | undefined {
    const { index, name } = piece;
    const indexed = index === undefined ? undefined : this.#withIndex(index);
    const call = indexed ?? this.#calls.at(-1);
    if (call === undefined) return undefined;
    if (indexed !== undefined) return this.#beginsAnother(indexed, piece) ? undefined : indexed;
    // A piece of the last call, or the first piece of another.
    if (name === "") return index !== undefined && isWhole(call.json) ? undefined : call;
    const isRest = this.#joinedName(call, name) !== undefined && index === undefined && call.json === "";
    const isOpen = call.name === name && call.json !== "" && !isWhole(call.json);
    return call.name === "" || isRest || (isOpen && continues(call, piece)) ? call : undefined;
  }

  #withIndex(index: number): OpenCall | undefined {
    return this.#calls.findLast((call) => call.index === index);
  }

  /** A name and arguments after complete ones. A call that is sent twice is the same call. */
  #beginsAnother(call: OpenCall, { name, json }: CallPiece): boolean {
    if (name === "" || call.name === "") return false;
    if (call.json === "") return this.#names.has(call.name) && name !== call.name;
    return isWhole(call.json) && !(name === call.name && (json === "" || isRepeated(call.json, json)));
  }

  /** @returns undefined: the name cannot continue the call's */
  #joinedName(call: OpenCall, name: string): string | undefined {
    if (call.name === "" || name === "") return name === "" ? undefined : name;
    // A name is complete once arguments come, or a tool has it.
    if (call.json !== "" || this.#names.has(call.name)) return undefined;
    const names = [...this.#names];
    return [name.startsWith(call.name) ? name : "", call.name + name].find(
      (joined) => joined !== "" && names.some((known) => known.startsWith(joined)),
    );
  }

  #begin(index: number | undefined): OpenCall | undefined {
    if (this.#calls.length >= MAX_CALLS) return undefined;
    const call = { index, id: "", name: "", json: "", repeated: "" };
    this.#calls.push(call);
    return call;
  }
}

const NO_ARGUMENTS = /^\s*(?:null\s*)?$/;

/** Whether these arguments continue those of the call. */
function continues({ json }: OpenCall, piece: CallPiece): boolean {
  if (json === "") return piece.json !== "";
  return (
    piece.json !== "" && (isRepeated(json, piece.json) || (!isWhole(json) && !/^\s*\{/.test(piece.json)))
  );
}

/** Adds arguments. Some servers begin with `{}`, and some send all arguments so far each time. */
function addJson(call: OpenCall, piece: string): void {
  const { json, repeated } = call;
  if (piece === "" || isRepeated(json, piece)) return;
  if (piece === json && repeated === "") {
    call.repeated = piece;
    return;
  }
  call.repeated = "";
  const isSnapshot = json.length >= 2 && piece.length > json.length && piece.startsWith(json);
  call.json = isSnapshot || /^\s?\{\}\s?$/.test(json) ? piece : json + repeated + piece;
}

function isRepeated(json: string, piece: string): boolean {
  // The usual case: a much shorter piece.
  return piece.length * 2 >= json.length && piece.trim() === json.trim() && isWhole(json);
}

function isWhole(json: string): boolean {
  return json.trimEnd().endsWith("}") && isObjectJson(json);
}
