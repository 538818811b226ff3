import type { FailureReason, ModelErrorKind } from "../model.ts";

export interface ServerSays {
  /** Undefined: an error inside of a stream. */
  readonly status: number | undefined;
  /** Its code, its type, and nested codes. */
  readonly codes: readonly string[];
  readonly message: string;
}

export interface Verdict {
  readonly reason: FailureReason;
  readonly kind: ModelErrorKind;
}

interface Row extends Verdict {
  /** Statuses for which the words count, 0 for an error inside of a stream; undefined: all. */
  readonly statuses?: readonly number[];
  /** Statuses that suffice without words. */
  readonly always?: readonly number[];
  /** Codes and types that suffice. */
  readonly codes?: RegExp;
  readonly words?: RegExp;
  /** Words that exclude the row. */
  readonly unless?: RegExp;
}

/** Length of the message that is read, in characters: the server's own words come first, and the request's text may follow. */
const MAX_READ = 600;

/** Statuses of refusals, and of servers that cannot do the request. */
const REFUSALS = [400, 403, 404, 405, 409, 410, 422, 429, 500, 501, 503, 0];

/**
 * Words of size. A refusal with them may be about the request's size in an unknown wording, so rows with other reasons
 * are skipped: the search for the window needs `reason` to be undefined.
 */
const OF_SIZE =
  /\d{3,8} ?(?:input |prompt |total )?tokens?\b|(?:context|input|prompt|sequence) (?:length|window|size|limit)|too (?:long|large|many tokens)|token (?:count|limit)/i;

/**
 * The first matching row counts. Codes and wordings are quoted from the providers' documentation and the issues of
 * their clients that this table's test names, read in November 2026; none was tried on a live server.
 */
const BEFORE_WINDOW: readonly Row[] = [
  {
    reason: "moderation",
    kind: "rejected",
    statuses: [400, 403, 422, 429, 451, 500, 0],
    codes:
      /^(?:content_policy_violation|content_?filter(?:ed)?|ResponsibleAIPolicyViolation|moderation(?:_blocked|_error)?|data_?inspection_?failed|prohibited_content|sensitive_content|1301)$/i,
    words:
      /content management policy|ContentPolicyViolation|content exists risk|requires moderation|input was flagged|prompt (?:was|has been) flagged|inappropriate content|DataInspectionFailed|violat\w{1,3} .{0,60}(?:usage|content|safety) polic|rejected (?:by|as a result of) (?:our|the) safety system|blocked (?:by|due to|because of|for) .{0,40}(?:content|safety|moderation)|request was flagged|敏感内容/i,
  },
  {
    reason: "rate",
    kind: "rate_limited",
    statuses: [429, 0],
    // Gemini uses a spent quota's words for limits per minute, too; "limit: 0" is a quota that the account lacks.
    words: /exceeded your current quota.{0,380}(?:retry in \d|rate-limits)/is,
    unless: /limit: 0\b/,
  },
  {
    reason: "quota",
    kind: "rejected",
    always: [402],
    codes:
      /^(?:insufficient_(?:user_)?(?:quota|balance|credits?|funds)|billing_(?:hard_limit_reached|not_active|error)|exceeded_current_quota(?:_error)?|credits?_exhausted|budget_exceeded|arrearage|accountoverdueerror|1113|AllocationQuota\.\w{1,30})$/i,
    words:
      /credit balance is too low|insufficient (?:account )?(?:balance|credits?|funds|quota)|more credits|(?:used|run) (?:all|out of)(?: of)? .{0,20}credits|exceeded your (?:current|monthly|daily|included) .{0,20}(?:quota|credits|usage|spend)|(?:monthly|spending|spend|billing|usage|key|credit) (?:hard )?limits? (?:has been |was )?(?:exceeded|reached)|(?:reach|exceed)(?:ed|ing) (?:its|your|the) .{0,30}(?:spending|usage|spend|billing|credit) limit|credits? (?:are|is|have been|has been) (?:depleted|exhausted|used up)|payment required|billing hard limit|account (?:is not active|balance)|check your (?:plan and )?billing|free tier .{0,40}exhausted|budget has been exceeded|(?:account|payment|bill)\w{0,5} .{0,20}overdue|余额不足|额度不足|额度已用尽|欠费/i,
  },
  {
    reason: "key",
    kind: "unauthorized",
    always: [401],
    codes: /^(?:invalid_api_key|authentication_error|invalid_authentication(?:_error)?|api_key_invalid)$/i,
    words: /api key not valid|(?:incorrect|invalid) api key|authentication fails/i,
  },
  {
    reason: "region",
    kind: "unauthorized",
    statuses: [400, 403, 451],
    codes: /^unsupported_country_region_territory$/,
    words: /country, region|location is not supported|not available in your (?:country|region)/i,
  },
  {
    reason: "permission",
    kind: "unauthorized",
    always: [403],
    statuses: [400, 404],
    codes: /^permission_(?:error|denied)$/i,
    words: /organization must be verified|matching your data policy|data policy .{0,40}settings/i,
  },
];

const BEHIND_WINDOW: readonly Row[] = [
  {
    reason: "tool_attempt_failed",
    kind: "unavailable",
    statuses: [400, 422, 500, 0],
    codes: /^(?:tool_use_failed|output_parse_failed|json_validate_failed|malformed_function_call)$/i,
    words:
      /failed to call a function|tool call validation failed|failed_generation|error parsing tool call|failed to parse (?:tool call|input at pos)|invalid tool call (?:json|syntax)|HarmonyError/i,
  },
  {
    reason: "no_tools",
    kind: "rejected",
    statuses: REFUSALS,
    words:
      /tools param requires|does not support (?:tools?|tool use|tool calling|function call)|support tool use|enable-auto-tool-choice|(?:tools?|tool (?:use|calling|calls?)|function[ -]?calling) (?:is|are) not (?:supported|enabled)/i,
  },
  {
    reason: "other_api",
    kind: "rejected",
    statuses: [400, 404, 405],
    words: /v1\/responses|v1\/messages|responses api|messages api|not a chat model|v1\/completions endpoint/i,
  },
  {
    reason: "field",
    kind: "rejected",
    statuses: [400, 422],
    codes: /^(?:unsupported_(?:parameter|value)|unknown_parameter|invalid_parameter|extra_forbidden)$/i,
    words:
      /unsupported (?:parameter|value)|unrecognized request argument|unknown (?:parameter|field|name)|extra (?:inputs|fields) (?:are )?not permitted|(?:property|parameter|field) .{0,60}(?:unsupported|not supported|not permitted|not allowed)|does not support parameters|deprecated for this model/i,
    unless: OF_SIZE,
  },
  {
    reason: "deprecated",
    kind: "rejected",
    statuses: [400, 403, 404, 410],
    codes: /^model_(?:decommissioned|deprecated|retired)$/i,
    words:
      /\bmodels?\b.{0,120}\b(?:deprecated|decommissioned|retired|discontinued|sunset|removed|shut ?down|end[- ]of[- ]life|no longer (?:supported|available|offered))\b/i,
    unless: OF_SIZE,
  },
  {
    reason: "loading",
    kind: "unavailable",
    statuses: [400, 404, 409, 424, 425, 429, 500, 502, 503, 504, 0],
    codes: /^(?:model_?not_?ready(?:exception)?|model_loading|model_is_loading)$/i,
    words:
      /\bloading (?:the |a )?model|model .{0,120}(?:is (?:currently |still )?(?:being )?(?:down)?load(?:ing|ed)|is not (?:yet )?(?:ready|loaded yet)|is (?:warming|starting) up)|model (?:was |has been |is )?unloaded|still loading|warming up|cold start/i,
    unless: /failed to load|error loading|unable to load/i,
  },
  {
    reason: "cannot_load",
    kind: "rejected",
    statuses: [400, 404, 500, 503, 0],
    words:
      /requires more (?:system|gpu) memory|insufficient system resources|(?:failed|unable) to load model|error loading model/i,
  },
  {
    reason: "unknown_model",
    kind: "rejected",
    statuses: [400, 403, 404, 422, 0],
    codes: /^(?:model_not_(?:found|exist|available)|invalid_model|deploymentnotfound|no_such_model)$/i,
    words:
      /\bmodels?\b.{0,120}(?:not found|(?:does|do) not exist|not exist|not available|not (?:a )?valid|is invalid|unknown|not supported by)|(?:unknown|invalid|no such|no|not found the) model\b|not a valid model|no endpoints found for|deployment .{0,60}does not exist|no models? loaded|^(?:404 )?model: [\w.-]{1,80}$/i,
    unless: OF_SIZE,
  },
  {
    reason: "roles",
    kind: "rejected",
    statuses: [400, 422, 500],
    words:
      /roles? must alternate|invalid content type|alternat\w{1,3} (?:between )?user|unexpected role|only (?:user|system).{0,60}roles|system (?:message|role|prompt) .{0,60}(?:beginning|first|not supported|must)|last message .{0,40}(?:user|role)/i,
    unless: OF_SIZE,
  },
  {
    reason: "overloaded",
    kind: "unavailable",
    always: [503, 529],
    statuses: [429, 500, 502, 503, 0],
    codes: /^(?:overloaded(?:_error)?|engine_overloaded(?:_error)?|slow_down|capacity_exceeded)$/i,
    words: /overloaded|(?:at|over|no|out of) capacity|high (?:demand|load|traffic)|server (?:is )?busy/i,
    unless: OF_SIZE,
  },
  {
    reason: "rate",
    kind: "rate_limited",
    always: [429],
    codes: /^rate_limit(?:_error|_exceeded|ed)?$|^too_many_requests$|^resource_exhausted$/i,
  },
];

const WINDOW: Verdict = { reason: "window", kind: "context_length" };

/**
 * The reason for a server's failure. Pure.
 * @param isTooLarge its words are those of a request over the model's window
 * @returns undefined: unknown
 */
export function reasonOf(says: ServerSays, isTooLarge: boolean): Verdict | undefined {
  return rowOf(BEFORE_WINDOW, says) ?? (isTooLarge ? WINDOW : rowOf(BEHIND_WINDOW, says));
}

function rowOf(rows: readonly Row[], says: ServerSays): Verdict | undefined {
  const status = says.status ?? 0;
  const read = says.message.slice(0, MAX_READ);
  return rows.find(({ statuses, always, codes, words, unless }) => {
    if (always?.includes(status) === true) return true;
    if (codes !== undefined && says.codes.some((code) => codes.test(code))) return true;
    const isSaid = words?.test(read) === true && unless?.test(read) !== true;
    return isSaid && statuses?.includes(status) !== false;
  });
}
