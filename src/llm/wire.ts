import type { ToolCall } from "../core/entry.ts";
import type { CacheRule } from "./caches/rules.ts";
import type { Dialect } from "./dialect.ts";
import type { ModelRequest, Thoughts } from "./model.ts";

/**
 * One API of a server, spoken by its official client: a thin adapter. Limits, timeouts and the classification of
 * failures are common to all.
 */
export interface Wire {
  /**
   * The body of a streamed request.
   * @param request its model has the server's name; its thoughts are this model's and this API's
   * @param rule how the model's requests are cached; undefined: no marks
   */
  body(request: ModelRequest, dialect: Dialect, rule?: CacheRule): object;
  /**
   * Sends a body, which is JSON.
   * @throws APIError of the `openai` client, or the connection's error
   */
  post(body: string, options: PostOptions): Promise<Response>;
  reader(): WireReader;
}

export interface PostOptions {
  readonly signal: AbortSignal;
  /** For the client's `fetch`. */
  readonly fetchOptions: object;
}

/** Reads the events of one answer in order. */
export interface WireReader {
  /**
   * An event as a chunk of Chat Completions.
   * @returns undefined: no part of the answer
   * @throws APIError of the `openai` client: the server reports an error
   */
  chunk(event: unknown): unknown;
  /** The thoughts before the calls, in the form in which the API accepts them; empty: no thoughts. */
  thoughts(): readonly object[];
}

/**
 * The thoughts before an assistant's calls: they are sent back with all of these calls, or not at all. Servers reuse
 * ids in later answers, so the newest message with the calls counts.
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
