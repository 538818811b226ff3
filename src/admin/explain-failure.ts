import type { FailureReason } from "../llm/model.ts";
import { firstWords } from "../text/displayable.ts";
import { weirCommand } from "../files/installation.ts";

type Words = readonly [what: string, todo: string];

const NAME_AND_SETTINGS = "Look at the model's name and its settings";

/** Reasons why servers do not answer, and remedies. */
const REASONS: Readonly<Record<FailureReason, Words>> = {
  window: ["the request is larger than the model takes", "Look at context_window"],
  quota: [
    "the account's quota is spent",
    "Look at the billing page of the model's provider, or name a model of another one in fallbacks",
  ],
  moderation: [
    "the model's provider declines what was said",
    "Look at what was said, or at the filter of the provider's account",
  ],
  loading: ["the model's server is still loading the model", "Wait, or look at the server's log"],
  overloaded: ["the model's server has too much to do", "Wait, or name another model in fallbacks"],
  rate: ["the model's server is asked too often", "Wait, or look at the limits of its account"],
  deprecated: ["the model's provider does not offer the model any more", "Name another model"],
  unknown_model: [
    "the model's server does not know the model, or not for this key",
    `Look at the model's name; \`${weirCommand("doctor")}\` lists what the server has`,
  ],
  cannot_load: [
    "the model's server cannot load the model",
    "Look at its memory and its log, or name a smaller model",
  ],
  tool_attempt_failed: [
    "the model has written calls of tools that its server could not read",
    "Try again, or another model",
  ],
  output_spent: [
    "the model has used all of its output tokens for thoughts",
    "Raise max_output_tokens of the agent",
  ],
  no_tools: ["the model's server runs the model without tools", "Look how the server is started"],
  other_api: ["the model's server wants another API for the model", NAME_AND_SETTINGS],
  field: ["the model's server refused a field of the request", NAME_AND_SETTINGS],
  roles: ["the model's server refused the form of the messages", "Look at the model's chat template"],
  key: ["the model's server refused the key", "Put the right one into .env"],
  permission: [
    "the model's server does not allow this key what is asked",
    "Look at the key's rights and at the settings of its account",
  ],
  region: [
    "the model's provider does not serve the place that Weir runs at",
    "Run it elsewhere, or name a model of another provider",
  ],
};

/** The kinds of a model's errors in words, for errors without a known reason, with remedies. */
const KINDS: Readonly<Record<string, Words>> = {
  ...REASONS,
  unauthorized: ["the model's server refused the key", "Put the right one into .env"],
  redirected: ["the model's server redirects", "Mend base_url"],
  rejected: ["the model's server refused the request", NAME_AND_SETTINGS],
  rate_limited: [
    "the model's server is asked too often, or its quota is spent",
    "Wait, or look at its account",
  ],
  timeout: ["the model's server did not answer in time", "Look whether it is overloaded"],
  unavailable: ["the model's server cannot be reached, or broke off", "Look whether it runs"],
  context_length: REASONS.window,
  empty: ["the model answered with nothing", "Try another model"],
};
const REASON = /^(?<kind>[a-z_]+) \((?<which>[^)]*)\)(?<said>[^]*)$/;
/** Shown characters of a reason. */
const MOST = 300;

/**
 * Why a turn failed, and the remedy, for the operator. Pure.
 * @param reason as the turn has it, perhaps followed by more words of Weir's
 * @param log the log's destination, in words
 */
export function explainFailure(reason: string, log: string | undefined): string {
  const { kind = "", which = "", said = "" } = REASON.exec(reason)?.groups ?? {};
  const known = KINDS[kind];
  const what = known === undefined ? reason : `${known[0]} (${which})${said}`;
  const todo = known === undefined ? "" : ` ${known[1]}; \`${weirCommand("doctor")}\` tries it.`;
  const place = log === undefined ? "" : ` The log: ${log}.`;
  return `No answer: ${firstWords(what, MOST).replace(/(?<![.\s])[.\s]+$/, "")}.${todo}${place}`;
}

/** A known failure reason in words. Any other text, such as a kind of error, is returned unchanged. */
export function describeReason(reason: string): string {
  const [what = reason] = Object.hasOwn(REASONS, reason) ? (KINDS[reason] ?? []) : [];
  return what;
}
