import type { ToolCall } from "../core/entry.ts";
import type { CacheRule } from "./caches/rules.ts";
import type { Dialect } from "./dialect.ts";
import type { ModelRequest, Thoughts } from "./model.ts";

/** One API of a server, spoken by its official client: a thin adapter. Limits, timeouts and what a failure means are the same for all. */
export interface Wire {
  /**
   * The body of a streamed request.
   * @param rule how the server caches this model's requests; default: nothing is marked
   * @param request its model is as the server calls it; its thoughts are this model's and this API's
   * @param rule how the model's requests are cached; undefined: none is marked
   */
  body(request: ModelRequest, dialect: Dialect, rule?: CacheRule): object;
  /**
   * Sends a body, which is JSON.
   * @throws APIError of the `openai` client, or what the connection threw
   */
  post(body: string, options: PostOptions): Promise<Response>;
  /** A reader of the events of one answer. */
  reader(): WireReader;
}

export interface PostOptions {
  readonly signal: AbortSignal;
  /** For the client's `fetch`. */
  readonly fetchOptions: object;
}

/** Reads the events of one answer, in their order. */
export interface WireReader {
  /**
   * What an event says, as a chunk of Chat Completions.
   * @returns undefined: nothing of the answer
   * @throws APIError of the `openai` client: the server tells of an error
   */
  chunk(event: unknown): unknown;
  /** What was thought before the calls, as the API takes it back; empty: nothing. */
  thoughts(): readonly object[];
}

/**
 * The thoughts that stand before an assistant's calls: they go back with all of these calls, or not at all. Servers use an id again in
 * later answers: the newest message that has the calls counts.
 */
export function thoughtsBefore(
  calls: readonly ToolCall[],
  { thoughts = [], messages }: Pick<ModelRequest, "thoughts" | "messages">,
): Thoughts["items"] {
  return thoughts
    .filter(({ callIds }) => {
      const owner = messages.findLast(
        (one) => one.role === "assistant" && callIds.every((id) => one.calls.some((call) => call.id === id)),
      );
      return callIds.length > 0 && owner?.role === "assistant" && owner.calls === calls;
    })
    .flatMap(({ items }) => items);
}
