import { ModelError, type ModelAnswer, type ModelRequest } from "../../llm/model.ts";
import { estimateTokens } from "../../text/tokens.ts";

export const MOST_WINDOW_CALLS = 7;
/** Smallest difference of windows that is measured, tokens. */
const LEAST = 1024;
const OUTPUT_TOKENS = 1024;
/** A word that stands in no filler. */
const NEEDLE = "quillwort";
const FILLER = "The river stood above the old mark by the mill. ";

/**
 * Measures how much of a request a model reads: it must repeat a word at the head of requests of several sizes. A server that
 * cuts from the front loses the word; others refuse the request.
 * @param believed the window to try, tokens
 * @returns tokens of the largest request whose head was read, by the server's count if it reports one
 * @throws ModelError if the smallest one fails too, or for a reason other than the size
 */
export async function measureWindow(
  ask: (request: ModelRequest) => Promise<ModelAnswer>,
  model: string,
  believed: number,
): Promise<number> {
  // Of the smallest one that is not read: the next is tried below it.
  let over = Math.max(LEAST * 2, believed);
  let read = 0;
  let next = over - OUTPUT_TOKENS;
  for (let calls = 0; calls < MOST_WINDOW_CALLS && next >= LEAST / 2; calls++) {
    const tokens = await readTokens(ask, model, next);
    if (tokens === null) over = next;
    else read = Math.max(read, tokens, next);
    if (read === 0) next = Math.floor(over / 2);
    else if (over - read <= over / 8) break;
    else next = Math.floor((read + over) / 2);
    if (read + OUTPUT_TOKENS >= believed) break;
  }
  return read + Math.min(OUTPUT_TOKENS, Math.max(0, believed - read));
}

/** @returns tokens of the request; null: it was too large */
async function readTokens(
  ask: (request: ModelRequest) => Promise<ModelAnswer>,
  model: string,
  tokens: number,
): Promise<number | null> {
  const lines = Math.max(1, Math.floor(tokens / estimateTokens(FILLER)));
  const text = `The password is ${NEEDLE}.\n${FILLER.repeat(lines)}\nWhat is the password? Answer with that word alone.`;
  try {
    const answer = await ask({
      model,
      messages: [
        { role: "system", text: "You answer in one word." },
        { role: "user", text },
      ],
      tools: [],
      toolChoice: "auto",
      maxOutputTokens: OUTPUT_TOKENS,
      temperature: undefined,
    });
    return answer.text.toLowerCase().includes(NEEDLE) ? (answer.usage?.promptTokens ?? tokens) : null;
  } catch (error) {
    if (error instanceof ModelError && isForSize(error)) return null;
    throw error;
  }
}

/** Whether a refusal can only be for the request's size: a shorter form of the request was answered. */
function isForSize({ kind, status }: ModelError): boolean {
  return kind === "context_length" || kind === "empty" || kind === "rejected" || status === 500;
}
