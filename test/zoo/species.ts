/** What is known of a family of model servers, as data. A new fact is a line of a species. */
import type { Api, Asked, Turn } from "./asked.ts";
import type { CacheSpecies } from "../support/provider-caches.ts";

/** How a request is turned away. */
export interface Refusal {
  readonly status: number;
  /** Told as JSON; a text: as HTML. */
  readonly body: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/** One fact about what a server does not take. @returns null: it takes this request */
export type Rule = (asked: Asked) => Refusal | null;

/** How a server of Chat Completions writes its answers. */
export interface ChatForm {
  /** Where thoughts stand; null: the model has none, or the server keeps them. */
  readonly thoughts: "reasoning_content" | "reasoning" | "think_tags" | "closing_tag" | "parts" | null;
  /** `split`: arguments in pieces, by index. `whole`: a call a chunk. `misplaced`: pieces under a wrong index, with their id. */
  readonly calls: "split" | "whole" | "no_index" | "misplaced";
  readonly ids: "text" | "short" | "number";
  /** `asked`: in an event of its own, where `stream_options` asks for it. `last`: with the last choice, always. */
  readonly usage: "asked" | "last" | "each" | "never";
  /** `done`: without a finish reason. `finish`: without `[DONE]`. */
  readonly end: "both" | "done" | "finish";
  /** The last event holds the whole text once more. */
  readonly repeats: boolean;
  /** Before the first choice. */
  readonly opening: readonly string[];
  readonly bytes: "plain" | "gzip" | "bom";
}

export const PLAIN_FORM: ChatForm = {
  thoughts: null,
  calls: "split",
  ids: "text",
  usage: "asked",
  end: "both",
  repeats: false,
  opening: [],
  bytes: "plain",
};

export interface Window {
  /** Tokens of the narrow model. */
  readonly tokens: number;
  /** Is room for the answer part of it? */
  readonly countsOutput: boolean;
  /** `cuts`: silently, from the front. `empty`: an answer without text. */
  readonly over: "refuses" | "cuts" | "empty";
  readonly refusal: (prompt: number, window: number, output: number) => Refusal;
}

/** A request beside those for answers. @returns null: not known */
export type SideApi = (line: string, body: string, species: Species) => unknown;

export interface Species {
  readonly name: string;
  /** Where the facts come from: documentation and public reports. */
  readonly sources: readonly string[];
  /** Its public name; null: it runs on a machine of one's own. */
  readonly host: string | null;
  /** Behind the host, without a slash at its end. */
  readonly path: string;
  readonly apis: readonly Api[];
  /** The model that people use; and one of the same family with a small window, of which its users don't know. */
  readonly model: string;
  readonly narrow: string;
  readonly rules: readonly Rule[];
  readonly form: ChatForm;
  readonly window: Window;
  readonly cache: CacheSpecies | null;
  /** What is refused the first time, and works the next. */
  readonly once?: Rule;
  readonly side: SideApi;
  /** False: models of it call no tools, and the first refusal of them is to be enough. */
  readonly tools?: false;
  /** It checks the order of messages: scenes that bring unusual ones are played, too. */
  readonly isStrict?: true;
  /** Which scenes are played; left out: all. */
  readonly scenes?: readonly string[];
  /** What a person reads of a turn that cannot be answered, and the operator; left out: it can. */
  readonly fails?: { readonly person: RegExp; readonly operator: RegExp; readonly calls: number };
}

// Rules.

/** A field that a server refuses, wherever it stands in the request. */
export function refusesField(field: string, refusal: (asked: Asked) => Refusal): Rule {
  return (asked) => (has(asked.body, field) ? refusal(asked) : null);
}

function has(value: unknown, field: string): boolean {
  if (typeof value !== "object" || value === null) return false;
  if (!Array.isArray(value) && field in value) return true;
  // A schema of a tool may have a property of any name.
  return Object.entries(value).some(([key, one]) => key !== "parameters" && has(one, field));
}

/** What a chat template raises on. */
export interface Template {
  readonly system: "first" | "refused";
  /** Whether results have a role of their own; else they are refused as any other role. */
  readonly hasToolRole: boolean;
  readonly words: string;
  readonly refusal: (words: string) => Refusal;
}

/**
 * A template that wants user and assistant in turns, beginning with user. The same checks as in those of Gemma and Mistral: a message at
 * an even place must be the user's; results and the assistant's calls are left out of the count where the role `tool` exists.
 */
export function alternates({ system, hasToolRole, words, refusal }: Template): Rule {
  return ({ turns }) => {
    const [first] = turns;
    if (first?.role === "system" && system === "refused") return refusal("System role not supported");
    const loop = turns.slice(first?.role === "system" ? 1 : 0);
    const counted = hasToolRole ? loop.filter((turn) => turn.role !== "tool" && !isCalling(turn)) : loop;
    const isWrong = counted.some(({ role }, place) => role !== (place % 2 === 0 ? "user" : "assistant"));
    return isWrong ? refusal(words) : null;
  };
}

function isCalling({ role, calls }: Turn): boolean {
  return role === "assistant" && calls.length > 0;
}

/** A message of one role right behind one of another role. */
export function refusesBehind(role: string, before: string, refusal: () => Refusal): Rule {
  return ({ turns }) =>
    turns.some((turn, place) => turn.role === role && turns[place - 1]?.role === before) ? refusal() : null;
}

/** Results that answer no call of the message before, and calls without results. */
export function pairsCalls(refusal: (id: string) => Refusal): Rule {
  return ({ turns }) => {
    const open = new Set<string>();
    for (const turn of turns) {
      if (turn.role === "tool") {
        if (turn.callId === null || !open.delete(turn.callId)) return refusal(turn.callId ?? "");
        continue;
      }
      const [left] = open;
      // Calls of one answer may stand in messages of their own.
      if (left !== undefined && !isCalling(turn)) return refusal(left);
      for (const id of turn.calls) open.add(id);
    }
    const [left] = open;
    return left === undefined ? null : refusal(left);
  };
}

/** A field that an assistant's message with calls must have. */
export function callsNeed(field: string, refusal: () => Refusal): Rule {
  return ({ turns, body }) => {
    const calling = turns.filter(isCalling).length;
    const given = JSON.stringify(body["messages"] ?? "").split(`"${field}":`).length - 1;
    return given < calling ? refusal() : null;
  };
}

/** The envelope of most: `{ error: { message, type, param, code } }`. */
export function openAiError(
  status: number,
  message: string,
  {
    type = "invalid_request_error",
    param = null,
    code = null,
  }: {
    readonly type?: string | null;
    readonly param?: string | null;
    readonly code?: string | number | null;
  } = {},
): Refusal {
  return { status, body: { error: { message, type, param, code } } };
}

/** A listing with one row a model, by name and window. */
export function lists(row: (id: string, window: number | null) => object): SideApi {
  return (line, _, { model, narrow, window }) =>
    line.endsWith("/models")
      ? { object: "list", data: [row(model, null), row(narrow, window.tokens)] }
      : null;
}

export const listsNames: SideApi = lists((id) => ({ id, object: "model" }));
