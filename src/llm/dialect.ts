import { isDeepStrictEqual } from "node:util";
import { plainWord } from "./http/model-failure.ts";
import type { FailureReason } from "./model.ts";

/** The APIs of servers: OpenAI's Chat Completions, its Responses, Anthropic's Messages. */
export const APIS = ["chat", "responses", "messages"] as const;
export type Api = (typeof APIS)[number];

/**
 * The variations in form that a model takes, also among servers of the same API. It is always derived from all of the
 * model's refusals, so that no correction undoes another.
 */
export interface Dialect {
  readonly api: Api;
  /** The field of Chat Completions that limits an answer; undefined: the server takes none. */
  readonly outputLimit: "max_tokens" | "max_completion_tokens" | undefined;
  /** The largest output limit that the server takes. */
  readonly outputCap: number | undefined;
  readonly takesStreamOptions: boolean;
  readonly takesTemperature: boolean;
  readonly takesTools: boolean;
  /** Takes `prompt_cache_key`; strict servers refuse unknown fields. */
  readonly takesCacheKey: boolean;
  /** Takes cache marks on parts of a message's text. */
  readonly takesCacheMarkers: boolean;
  /** Takes a user's message directly after tool results; Mistral's models need an assistant's between. */
  readonly takesUserBehindTool: boolean;
  /** Takes the role `tool`, and calls; strict chat templates raise an error. */
  readonly takesToolRole: boolean;
  readonly takesSystemRole: boolean;
  /** Takes other models' call ids; Mistral needs nine letters and digits. */
  readonly takesAnyCallId: boolean;
  /** Takes calls without the thoughts before them; DeepSeek needs that field, even if empty. */
  readonly takesBareCalls: boolean;
  /** How much the model should think; undefined: the server's default. */
  readonly reasoning: Effort | undefined;
  /** Names of other top-level fields that are left out. */
  readonly without: readonly string[];
}

/** A field's value that a server has refused for a model, and the refusal. */
export interface Refused {
  /**
   * The API's name, or one of ours: `api`, `output_cap` (its value is the largest that is taken), `user_behind_tool`,
   * `tool_role`, `system_role`, `call_id`, `bare_call`.
   */
  readonly field: string;
  /** "": any; "absent": the server requires the field. */
  readonly value: string;
  /** The HTTP status; null: the refusal came in mid-stream. */
  readonly status: number | null;
  /** The server's code or type, a word; "": none. */
  readonly code: string;
}

/** A server's refusal of a request. */
export interface Refusal {
  /** Undefined: unknown. */
  readonly reason: FailureReason | undefined;
  readonly status: number | null;
  /** "": none. */
  readonly code: string;
  readonly type: string;
  /** The field that the error body names in a property of its own; "": none. */
  readonly param: string;
  readonly words: string;
}

/** A refused request, as far as a correction needs it. */
export interface SentForm {
  /** The dialect for a model that has refused nothing. */
  readonly base: Dialect;
  /** The model's earlier refusals. */
  readonly known: readonly Refused[];
  /** The top-level fields of the body. */
  readonly fields: readonly string[];
  /** Its output limit, in tokens. */
  readonly limit: number;
  readonly hasResults: boolean;
  /** The configuration leaves the API open. */
  readonly mayChangeApi: boolean;
}

const ABSENT = "absent";
const LIMITS = ["max_tokens", "max_completion_tokens"] as const;
/** Values of `reasoning_effort`, from the fastest. */
const EFFORTS = ["none", "low", "minimal", "medium", "high", "xhigh", "max"] as const;
export type Effort = (typeof EFFORTS)[number];
/** A dialect's flags, by the fields that switch them off. */
const FLAGS = {
  stream_options: "takesStreamOptions",
  temperature: "takesTemperature",
  tools: "takesTools",
  prompt_cache_key: "takesCacheKey",
  cache_control: "takesCacheMarkers",
  user_behind_tool: "takesUserBehindTool",
  tool_role: "takesToolRole",
  system_role: "takesSystemRole",
  call_id: "takesAnyCallId",
  bare_call: "takesBareCalls",
} as const satisfies Record<string, keyof Dialect>;
/** Fields with their own place in a dialect. */
const PLACED: ReadonlySet<string> = new Set([
  ...Object.keys(FLAGS),
  ...LIMITS,
  "api",
  "output_cap",
  "reasoning",
]);

/**
 * The dialect of a model with these refusals. Pure, and independent of their order: each refusal only takes something
 * away.
 * @param base the dialect for a model that has refused nothing
 */
export function dialectFor(base: Dialect, refused: readonly Refused[]): Dialect {
  const isRefused = (field: string, value: string): boolean =>
    refused.some((one) => one.field === field && (one.value === "" || one.value === value));
  const flags = Object.entries(FLAGS).filter(([field]) => isRefused(field, ""));
  const caps = refused.filter(({ field }) => field === "output_cap").map(({ value }) => Number(value));
  const others = refused.map(({ field }) => field).filter((field) => !PLACED.has(field));
  const limits = base.outputLimit === undefined ? [] : [base.outputLimit, ...LIMITS];
  const efforts: readonly (Effort | undefined)[] = [base.reasoning, undefined, ...EFFORTS];
  return {
    ...base,
    ...Object.fromEntries(flags.map(([, flag]) => [flag, false])),
    api: [base.api, ...APIS].find((api) => !isRefused("api", api)) ?? base.api,
    outputLimit: limits.find((field) => !isRefused(field, "")),
    outputCap: caps.length === 0 ? base.outputCap : Math.min(...caps),
    reasoning: isRefused("reasoning", "")
      ? undefined
      : efforts.find((effort) => !isRefused("reasoning", effort ?? ABSENT)),
    without: [...new Set([...base.without, ...others])].toSorted(),
  };
}

/**
 * The fields and values that a refusal rejects. Pure.
 * @returns only new ones, so that the corrected request differs; empty: the refusal has another subject, or nothing is
 *   left to change
 */
export function lessonsOf(refusal: Refusal, sent: SentForm): readonly Refused[] {
  const { reason, status, code, type } = refusal;
  if (reason !== undefined && !OF_FORM.has(reason)) return [];
  const told: Told = (field, value = "") => ({
    field,
    value,
    status,
    code: plainWord(code) || plainWord(type),
  });
  const dialect = dialectFor(sent.base, sent.known);
  for (const rule of [otherApi, namedFields, formOfMessages]) {
    for (const lessons of rule(refusal, { ...sent, dialect }, told)) {
      const isNew = (one: Refused): boolean =>
        !sent.known.some(({ field, value }) => field === one.field && value === one.value);
      const fresh = lessons.filter(isNew);
      const all = [...sent.known, ...fresh];
      const next = dialectFor(sent.base, all);
      if (!isDeepStrictEqual(next, dialect) && !isRefusedForm(next, all)) return fresh;
    }
  }
  return [];
}

/** Reasons for which another form of the same request helps. */
const OF_FORM: ReadonlySet<FailureReason> = new Set(["field", "other_api", "no_tools", "roles"]);

/** Whether a required field has only refused values left. */
function isRefusedForm({ api, reasoning }: Dialect, refused: readonly Refused[]): boolean {
  return refused.some(
    ({ field, value }) =>
      (field === "api" && value === api) || (field === "reasoning" && value === (reasoning ?? ABSENT)),
  );
}

type Told = (field: string, value?: string) => Refused;
/** @returns lessons; the first that changes anything counts */
type Rule = (
  refusal: Refusal,
  sent: SentForm & { readonly dialect: Dialect },
  told: Told,
) => readonly (readonly Refused[])[];

const API_NAMES: Readonly<Record<Api, RegExp>> = {
  chat: /chat[/ ]completions/i,
  responses: /(?<![\w-])v1\/responses\b|(?<![\w/])\/responses\b|\bresponses api\b/i,
  messages: /(?<![\w-])v1\/messages\b|\bmessages api\b/i,
};

/** The refusal names another API, or the server does not have this one. */
const otherApi: Rule = ({ status, code, words }, { dialect: { api }, mayChangeApi }, told) => {
  if (!mayChangeApi) return [];
  const named = APIS.filter((one) => one !== api && API_NAMES[one].test(words));
  if (named.length > 0) return [APIS.filter((one) => !named.includes(one)).map((one) => told("api", one))];
  const isUnknownPlace = status === 404 || status === 405;
  return isUnknownPlace && api !== "chat" && !/model/i.test(`${code} ${words}`) ? [[told("api", api)]] : [];
};

/** A chat template's message about roles that it lacks. */
const NO_SYSTEM = /system (?:role|message|prompt)s? (?:is |are )?not supported|(?:role:?|got) ['"`]?system/i;
/**
 * Messages of the chat templates of Gemma, Llama and Mistral at vLLM and llama.cpp, of mistral-common and others:
 * "Conversation roles must alternate user/assistant/…", "Only user and assistant roles are supported!", "Unexpected
 * role 'tool' after role 'user'", "Invalid content type" (for an assistant with only calls); read in November 2026.
 */
const STRICT_ROLES =
  /roles must alternate|only user(?:,| and) assistant\b|(?:unexpected|unknown|invalid|unsupported) role|invalid content type(?!.{0,20}image)/i;

const formOfMessages: Rule = ({ reason, words }, { hasResults }, told) => [
  ...(/unexpected role '?user'? after role '?tool'?/i.test(words) ? [[told("user_behind_tool")]] : []),
  ...(/tool call ids? (?:.{1,100} must be a-z|should be alphanumeric)/i.test(words)
    ? [[told("call_id")]]
    : []),
  ...(/`?reasoning_content`? .{0,40}must be passed back/i.test(words) ? [[told("bare_call")]] : []),
  // The server requires a plain text instead of parts (pydantic's words).
  ...(/valid string/i.test(words) ? [[told("cache_control")]] : []),
  ...(reason === "no_tools" ? [[told("tools")]] : []),
  ...(NO_SYSTEM.test(words) ? [[told("system_role")]] : []),
  ...(hasResults && STRICT_ROLES.test(words) ? [[told("tool_role")]] : []),
  ...(STRICT_ROLES.test(words) ? [[told("system_role")]] : []),
];

/** Fields that every request needs. */
const NEEDED = new Set(["model", "messages", "input", "stream", "system", "instructions", "tools"]);
/** Other names of fields in refusals, and fields inside others. */
const ALIASES: Readonly<Record<string, string>> = {
  include_usage: "stream_options",
  reasoning_effort: "reasoning",
  "reasoning.effort": "reasoning",
  encrypted_content: "include",
  "Encrypted content": "include",
  max_output_tokens: "limit",
  max_completion_tokens: "limit",
  max_tokens: "limit",
  cache_control: "cache_control",
  prompt_cache_options: "cache_control",
  prompt_cache_breakpoint: "cache_control",
};
/** Everyday words, which name a field only in quotes. */
const PLAIN_WORDS: ReadonlySet<string> = new Set(["store", "include", "reasoning", "thinking", "tools"]);

/** The refusal names an optional field that was sent. */
const namedFields: Rule = (refusal, sent, told) => {
  const { param, words } = refusal;
  const inWords = [...Object.keys(ALIASES), ...sent.fields].filter((name) => isNamed(name, words));
  const root = /^[a-z_]+/.exec(param)?.[0] ?? "";
  // A refused schema of one tool is no reason to omit all tools.
  const names = [param, ...(root === "tools" ? [] : [root]), ...inWords];
  const isSent = (field: string): boolean => sent.fields.includes(field) && !NEEDED.has(field);
  return names.flatMap((name) => {
    const field = ALIASES[name] ?? name;
    if (field === "limit") return ofLimit(refusal, sent, told);
    if (field === "reasoning") return ofReasoning(refusal, sent, told);
    if (field === "tools") return UNKNOWN_FIELD.test(`${refusal.code} ${words}`) ? [[told("tools")]] : [];
    // `cache_control` is a field inside messages.
    return field === "cache_control" || isSent(field) ? [[told(field)]] : [];
  });
};

/** Whether the server names the field apart from its message, which may quote a person's words. Pure. */
export function areNamedApart({ param }: Refusal, lessons: readonly Refused[]): boolean {
  const root = /^[a-z_]+/.exec(param)?.[0] ?? "";
  const field = ALIASES[param] ?? ALIASES[root] ?? root;
  const isLimit = (one: Refused): boolean => one.field === "output_cap" || ALIASES[one.field] === "limit";
  return lessons.every((one) => one.field === field || (field === "limit" && isLimit(one)));
}

function isNamed(name: string, words: string): boolean {
  const at = words.indexOf(name);
  if (at === -1) return false;
  const before = words[at - 1] ?? "";
  const behind = words[at + name.length] ?? "";
  if (/\w/.test(before) || /\w/.test(behind)) return false;
  // `tools[0].function.strict`: a part of one tool, not the field.
  if (name === "tools" && /^(?:\[|\.\w)/.test(words.slice(at + name.length))) return false;
  return !PLAIN_WORDS.has(name) || /["'`]/.test(before + behind);
}

/**
 * "supports at most 16384 completion tokens" (OpenAI), "max_tokens: 9000 > 8192" (Anthropic), "less than or equal to
 * `8192`" (Groq), "the valid range of max_tokens is [1, 8192]" (DeepSeek): a number below the sent limit is the
 * server's maximum.
 */
const ofLimit: Rule = ({ code, status, words }, { dialect, limit }, told) => {
  const numbers = Array.from(words.matchAll(/(?<![\w.-])\d{2,9}(?![\w-])/g), ([digits]) => Number(digits));
  // An unknown field has no maximum.
  const isUnknown = UNKNOWN_FIELD.test(`${code} ${words}`) || /\binstead\b/i.test(words);
  const caps = isUnknown ? [] : numbers.filter((number) => number < limit && number !== status);
  const isRange = caps.length > 0;
  if (isRange) return [[told("output_cap", String(Math.max(...caps)))]];
  if (dialect.api === "responses") return [[told("max_output_tokens")]];
  return dialect.api === "messages" || dialect.outputLimit === undefined ? [] : [[told(dialect.outputLimit)]];
};

/** The server does not know the field. */
const UNKNOWN_FIELD =
  /unknown|unrecogni[sz]ed|unsupported[ _]parameter|unexpected|extra (?:input|field)|extra_forbidden|not permitted/i;

/**
 * "Supported values are: 'low', 'medium', 'high', and 'xhigh'.", "set reasoning_effort to 'none'" (OpenAI): only values
 * that a refusal has named are tried.
 */
const ofReasoning: Rule = ({ code, words }, { dialect, known }, told) => {
  const sent = dialect.reasoning ?? ABSENT;
  if (sent !== ABSENT && UNKNOWN_FIELD.test(`${code} ${words}`)) return [[told("reasoning")]];
  const isNamedIn = (effort: Effort): boolean =>
    effort !== sent && ["'", '"', "`"].some((quote) => words.includes(`${quote}${effort}${quote}`));
  const hasNamed = known.filter(({ field }) => field === "reasoning").length > 1;
  const others = hasNamed && !EFFORTS.some(isNamedIn) ? [] : EFFORTS.filter((effort) => !isNamedIn(effort));
  return [[...new Set([sent, ...others])].map((value) => told("reasoning", value))];
};

/** A change after a refusal, in short. Pure. */
export function describeRefused({ field, value }: Pick<Refused, "field" | "value">): string {
  if (field === "api") return `another API than ${value}`;
  if (field === "output_cap") return `at most ${value} tokens`;
  return `without ${field}${value === "" ? "" : ` ${value}`}`;
}
