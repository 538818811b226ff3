import type { Logger } from "pino";
import { sliceWhole } from "../text/text.ts";
import type { ModelError } from "../llm/model.ts";

/** Longest part of a provider's text in the line, in characters. */
const MAX_WHY = 200;

/**
 * Logs that a fallback has answered for the requested model: once for each model and reason, since every turn may
 * repeat it.
 * @param masked masks the secrets in a text
 */
export function fallbackLog(
  log: Logger,
  masked: (text: string) => string,
): (answeredBy: string, first: ModelError) => void {
  const told = new Set<string>();
  return (answeredBy, { model, kind, reason = kind, status, message }) => {
    // The key excludes the message, which may contain the request's number.
    const key = JSON.stringify([model, reason, status]);
    if (told.has(key)) return;
    told.add(key);
    // Masks first: a truncated secret would not be found.
    log.warn(
      { model, answeredBy, kind, reason, why: sliceWhole(masked(message), 0, MAX_WHY) },
      "model_passed_over",
    );
  };
}
