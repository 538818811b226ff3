import { firstWords } from "../text/displayable.ts";

/** What the kinds of a model's errors mean, and what to do. */
const KINDS: Readonly<Record<string, readonly [what: string, todo: string]>> = {
  unauthorized: ["the model's server refused the key", "Put the right one into .env"],
  redirected: ["the model's server redirects", "Mend base_url"],
  rejected: ["the model's server refused the request", "Look at the model's name and its settings"],
  rate_limited: [
    "the model's server is asked too often, or its quota is spent",
    "Wait, or look at its account",
  ],
  timeout: ["the model's server did not answer in time", "Look whether it is overloaded"],
  unavailable: ["the model's server cannot be reached, or broke off", "Look whether it runs"],
  context_length: ["the request is larger than the model takes", "Look at context_window"],
  empty: ["the model answered with nothing", "Try another model"],
};
const REASON = /^(?<kind>[a-z_]+) \((?<which>[^)]*)\)(?<said>[^]*)$/;
/** Shown characters of what a provider says. */
const MOST = 300;

/**
 * Why a turn failed, and what to do about it, for whoever runs Weir. Pure.
 * @param reason as the turn has it, perhaps followed by the provider's words
 * @param log where the log goes, in words
 */
export function explainFailure(reason: string, log: string | undefined): string {
  const { kind = "", which = "", said = "" } = REASON.exec(reason)?.groups ?? {};
  const known = KINDS[kind];
  const what = known === undefined ? reason : `${known[0]} (${which})${said}`;
  const todo = known === undefined ? "" : ` ${known[1]}; \`weir doctor\` tries it.`;
  const place = log === undefined ? "" : ` The log: ${log}.`;
  return `No answer: ${firstWords(what, MOST).replace(/(?<![.\s])[.\s]+$/, "")}.${todo}${place}`;
}
