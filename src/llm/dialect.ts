import { isDeepStrictEqual } from "node:util";
import { plainWord } from "./http/model-failure.ts";
import type { FailureReason } from "./model.ts";

/** How a server is spoken to: OpenAI's Chat Completions, its Responses, Anthropic's Messages. */
export const APIS = ["chat", "responses", "messages"] as const;
export type Api = (typeof APIS)[number];

/**
 * The form in which a model takes what differs between servers, also where they speak the same API. It is made anew of what the model has
 * refused, so that no correction undoes another.
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
  /** Takes `prompt_cache_key`; strict servers refuse what they do not know. */
  readonly takesCacheKey: boolean;
  /** Takes the marks of its cache on a part of a message's text. */
  readonly takesCacheMarkers: boolean;
  /** Takes a user's message right behind results of tools; Mistral's models want an assistant's between. */
  readonly takesUserBehindTool: boolean;
  /** Takes the role `tool`, and calls beside it; strict chat templates raise on it. */
  readonly takesToolRole: boolean;
  readonly takesSystemRole: boolean;
  /** Takes ids of calls as other models have made them; Mistral wants nine letters and digits. */
  readonly takesAnyCallId: boolean;
  /** Takes calls without what was thought before them; DeepSeek wants that field, and takes an empty one. */
  readonly takesBareCalls: boolean;
  /** How much the model is asked to think; undefined: the server's default. */
  readonly reasoning: Effort | undefined;
  /** Other top fields of a body that are left out, by name. */
  readonly without: readonly string[];
}

/** A value of a field that a server has refused for a model, and why. */
export interface Refused {
  /** As the API calls it, or one of ours: `api`, `output_cap` (its value is the most that is taken), `user_behind_tool`, `tool_role`, `system_role`, `call_id`, `bare_call`. */
  readonly field: string;
  /** "": any; "absent": the server wants the field to be there. */
  readonly value: string;
  /** Of HTTP; null: the refusal came in mid-stream. */
  readonly status: number | null;
  /** The server's code or type, a word; "": it told none. */
  readonly code: string;
}

/** What a server has said when it refused a request. */
export interface Refusal {
  /** Undefined: nobody knows it. */
  readonly reason: FailureReason | undefined;
  readonly status: number | null;
  /** "": it told none. */
  readonly code: string;
  readonly type: string;
  /** The field that it names apart from its words; "": none. */
  readonly param: string;
  readonly words: string;
}

/** A request that was refused, as far as a correction needs it. */
export interface SentForm {
  /** What is sent to a model that has refused nothing. */
  readonly base: Dialect;
  /** What the model had refused before. */
  readonly known: readonly Refused[];
  /** The top fields of the body. */
  readonly fields: readonly string[];
  /** The output limit that it had, in tokens. */
  readonly limit: number;
  /** It shows results of tools. */
  readonly hasResults: boolean;
  /** The configuration leaves the API open. */
  readonly mayChangeApi: boolean;
}

const ABSENT = "absent";
const LIMITS = ["max_tokens", "max_completion_tokens"] as const;
/** Values of `reasoning_effort`, from the one that a person waits least for. */
const EFFORTS = ["none", "low", "minimal", "medium", "high", "xhigh", "max"] as const;
export type Effort = (typeof EFFORTS)[number];
/** Flags of a dialect, by the field that they stand for. */
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
/** Fields that a dialect has a place of their own for. */
const PLACED: ReadonlySet<string> = new Set([
  ...Object.keys(FLAGS),
  ...LIMITS,
  "api",
  "output_cap",
  "reasoning",
]);

/**
 * The dialect of a model that has refused these. Pure, and the same in whatever order they were refused: each takes something away, and
 * none gives anything back.
 * @param base what is sent to a model that has refused nothing
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
 * The fields and values that a refusal turns down. Pure.
 * @returns only those that the model had not refused before, so that the corrected request is a new one; empty: the refusal has another
 * subject, or nothing is left to change
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

/** Of a field that has to have some value, each was refused. */
function isRefusedForm({ api, reasoning }: Dialect, refused: readonly Refused[]): boolean {
  return refused.some(
    ({ field, value }) =>
      (field === "api" && value === api) || (field === "reasoning" && value === (reasoning ?? ABSENT)),
  );
}

type Told = (field: string, value?: string) => Refused;
/** @returns lessons, of which the first that changes anything holds */
type Rule = (
  refusal: Refusal,
  sent: SentForm & { readonly dialect: Dialect },
  told: Told,
) => readonly (readonly Refused[])[];

/** How refusals name an API. */
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

/** What a chat template says of roles that it does not have. */
const NO_SYSTEM = /system (?:role|message|prompt)s? (?:is |are )?not supported|(?:role:?|got) ['"`]?system/i;
/**
 * Chat templates of Gemma, Llama and Mistral at vLLM and llama.cpp, mistral-common, others: "Conversation roles must alternate
 * user/assistant/…", "Only user and assistant roles are supported!", "Unexpected role 'tool' after role 'user'", "Invalid content type" (of
 * an assistant that only calls); read in November 2026.
 */
const STRICT_ROLES =
  /roles must alternate|only user(?:,| and) assistant\b|(?:unexpected|unknown|invalid|unsupported) role|invalid content type(?!.{0,20}image)/i;

const formOfMessages: Rule = ({ reason, words }, { hasResults }, told) => [
  ...(/unexpected role '?user'? after role '?tool'?/i.test(words) ? [[told("user_behind_tool")]] : []),
  ...(/tool call ids? (?:.{1,100} must be a-z|should be alphanumeric)/i.test(words)
    ? [[told("call_id")]]
    : []),
  ...(/`?reasoning_content`? .{0,40}must be passed back/i.test(words) ? [[told("bare_call")]] : []),
  // A text is wanted as a text and not in parts (pydantic's words).
  ...(/valid string/i.test(words) ? [[told("cache_control")]] : []),
  ...(reason === "no_tools" ? [[told("tools")]] : []),
  ...(NO_SYSTEM.test(words) ? [[told("system_role")]] : []),
  ...(hasResults && STRICT_ROLES.test(words) ? [[told("tool_role")]] : []),
  ...(STRICT_ROLES.test(words) ? [[told("system_role")]] : []),
];

/** Without these there is no request. */
const NEEDED: ReadonlySet<string> = new Set([
  "model",
  "messages",
  "input",
  "stream",
  "system",
  "instructions",
  "tools",
]);
/** By what refusals call a field that has another name, or stands inside of another. */
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
/** Words of every day: a field is meant only where they stand in quotes. */
const PLAIN_WORDS: ReadonlySet<string> = new Set(["store", "include", "reasoning", "thinking", "tools"]);

/** The refusal names a field that was sent and that is not needed. */
const namedFields: Rule = (refusal, sent, told) => {
  const { param, words } = refusal;
  const inWords = [...Object.keys(ALIASES), ...sent.fields].filter((name) => isNamed(name, words));
  const root = /^[a-z_]+/.exec(param)?.[0] ?? "";
  // A tool's schema that is refused is no reason to do without all tools.
  const names = [param, ...(root === "tools" ? [] : [root]), ...inWords];
  const isSent = (field: string): boolean => sent.fields.includes(field) && !NEEDED.has(field);
  return names.flatMap((name) => {
    const field = ALIASES[name] ?? name;
    if (field === "limit") return ofLimit(refusal, sent, told);
    if (field === "reasoning") return ofReasoning(refusal, sent, told);
    if (field === "tools") return UNKNOWN_FIELD.test(`${refusal.code} ${words}`) ? [[told("tools")]] : [];
    // It stands inside of messages.
    return field === "cache_control" || isSent(field) ? [[told(field)]] : [];
  });
};

/** The server names the field apart from its words, which may quote what a person wrote. Pure. */
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
 * "supports at most 16384 completion tokens" (OpenAI), "max_tokens: 9000 > 8192" (Anthropic), "less than or equal to `8192`" (Groq), "the
 * valid range of max_tokens is [1, 8192]" (DeepSeek): a number below what was sent is the most that the server takes.
 */
const ofLimit: Rule = ({ code, status, words }, { dialect, limit }, told) => {
  const numbers = Array.from(words.matchAll(/(?<![\w.-])\d{2,9}(?![\w-])/g), ([digits]) => Number(digits));
  // A field that the server does not know has no most.
  const isUnknown = UNKNOWN_FIELD.test(`${code} ${words}`) || /\binstead\b/i.test(words);
  const caps = isUnknown ? [] : numbers.filter((number) => number < limit && number !== status);
  const isRange = caps.length > 0;
  if (isRange) return [[told("output_cap", String(Math.max(...caps)))]];
  if (dialect.api === "responses") return [[told("max_output_tokens")]];
  return dialect.api === "messages" || dialect.outputLimit === undefined ? [] : [[told(dialect.outputLimit)]];
};

/** The server does not know the field at all. */
const UNKNOWN_FIELD =
  /unknown|unrecogni[sz]ed|unsupported[ _]parameter|unexpected|extra (?:input|field)|extra_forbidden|not permitted/i;

/**
 * "Supported values are: 'low', 'medium', 'high', and 'xhigh'.", "set reasoning_effort to 'none'" (OpenAI): what no refusal has named is not
 * worth a try.
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

/** What was changed after refusals, in short. Pure. */
export function describeRefused({ field, value }: Pick<Refused, "field" | "value">): string {
  if (field === "api") return `another API than ${value}`;
  if (field === "output_cap") return `at most ${value} tokens`;
  return `without ${field}${value === "" ? "" : ` ${value}`}`;
}
