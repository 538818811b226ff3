import type { Logger } from "pino";
import { sliceWhole } from "../text/text.ts";
import type { ModelError } from "../llm/model.ts";

/** Characters of a provider's text that the line keeps. */
const MAX_WHY = 200;

/**
 * Logs that a fallback has answered because the requested model did not: once for each model and reason, for it may be so
 * with every turn.
 * @param masked takes the secrets out of a text
 */
export function fallbackLog(
  log: Logger,
  masked: (text: string) => string,
): (answeredBy: string, first: ModelError) => void {
  const told = new Set<string>();
  return (answeredBy, { model, kind, reason = kind, status, message }) => {
    // Of the message no key is made: providers put the number of the request into it.
    const key = JSON.stringify([model, reason, status]);
    if (told.has(key)) return;
    told.add(key);
    // A secret that is cut is no longer found: it goes first.
    log.warn(
      { model, answeredBy, kind, reason, why: sliceWhole(masked(message), 0, MAX_WHY) },
      "model_passed_over",
    );
  };
}
