import { once } from "node:events";
import type { Behaviour, ChatRequest } from "./model-server.ts";
import { text } from "./model-behaviours.ts";
import { piecesIn } from "./request-pieces.ts";

/** The last message of a person in the request. */
function lastSaid(request: ChatRequest): string {
  const isSaid = (line: string): boolean => !line.startsWith("[System:");
  return (
    piecesIn(request).findLast(({ role, content }) => role === "user" && isSaid(content ?? ""))?.content ?? ""
  );
}

/** Answers at once with the last line of the request. */
export function echo(request: ChatRequest): Behaviour {
  return text(`You said: ${lastSaid(request).split("\n").at(-1) ?? ""}`);
}

/** Answers at once with all questions (`question 12?`) since its last answer, and the last line of the request. */
export function echoQuestions(request: ChatRequest): Behaviour {
  const messages = piecesIn(request);
  const since = messages.slice(messages.findLastIndex(({ role }) => role === "assistant") + 1);
  const said = since
    .map(({ content }) => content ?? "")
    .filter((content) => /^\[(?:[\d :-]*|\+)\] /.test(content));
  const questions = said.flatMap((content) => content.match(/question \d+\?/g) ?? []);
  return text([...questions, lastSaid(request).split("\n").at(-1)].join(" · "));
}

/** Streams a text, then waits until the test opens it, then streams another. */
export class Gate {
  readonly #opened = new AbortController();

  open(): void {
    this.#opened.abort();
  }

  between(first: string, second: string): Behaviour {
    return async ({ response, signal }) => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.flushHeaders();
      response.write(piece(first, null));
      const either = AbortSignal.any([signal, this.#opened.signal]);
      if (!either.aborted) await once(either, "abort");
      if (!signal.aborted) response.end(`${piece(second, "stop")}data: [DONE]\n\n`);
    };
  }
}

function piece(content: string, finish: string | null): string {
  const choice = { index: 0, delta: { content }, finish_reason: finish };
  return `data: ${JSON.stringify({ object: "chat.completion.chunk", choices: [choice] })}\n\n`;
}
