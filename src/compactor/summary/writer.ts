import { jsonOf } from "../../core/json.ts";
import { canonical } from "../../core/canonical.ts";
import type { ModelMessage, ToolSpec } from "../../core/context.ts";
import type { Entry, ToolCall } from "../../core/entry.ts";
import type { MemoryRejection } from "../../core/memory.ts";
import { MEASURED_IN_CHARACTERS } from "../../text/scripts.ts";
import { storableText } from "../../text/text.ts";
import type { TimeFormat } from "../../text/time.ts";
import { estimateTokens } from "../../text/tokens.ts";
import { capText } from "../../context/cap.ts";
import { estimateMessage } from "../../context/render.ts";
import {
  type ModelAnswer,
  type ModelCallRecord,
  ModelError,
  type ModelErrorKind,
  type ModelRequest,
} from "../../llm/model.ts";
import type { MadeRequest, RetryingModel } from "../../llm/retrying-model.ts";
import {
  type CheckedSave,
  countSaved,
  joinSaved,
  type MemorySave,
  NOTHING_SAVED,
  type SavedDrafts,
} from "../../memory/save-call.ts";
import { withoutOffer } from "./not-a-summary.ts";
import {
  isBetter,
  quotedFacts,
  type SecondTry,
  type SummaryFault,
  SummaryJudge,
  withSentences,
} from "./second-try.ts";
import type { SourceLine } from "./source.ts";
import { cleanSummary, type SummaryRejection, mostOf, rejectionOf } from "./summary-checks.ts";
import { withoutOrders } from "./summary-orders.ts";

/** Calls reserved for a summary's text and for a shorter or better version of it; the other calls may be rounds of `memory_save`. */
export const TEXT_CALLS = 2;
const MEMORY_SAVE = "memory_save";
/** Share of the wanted length to ask of a shorter version, since models count badly. */
const SHORTER = 0.75;
/** A much longer first text says little about the next one. */
const LEAST_SHARE = 0.4;

export interface WriterTexts {
  readonly memorySave: string;
  memoryResult(values: { readonly kept: number; readonly dropped: readonly string[] }): string;
  shorten(values: LengthLimit): string;
  again(values: AgainValues): string;
}

interface AgainValues extends LengthLimit {
  readonly reason: SummaryFault["reason"];
  readonly script: string;
  readonly missing: readonly string[];
}

/** The model calls left to one attempt. Every request counts, also a failed one that is retried or passed to a fallback. */
export class CallBudget {
  #left: number;

  constructor(calls: number) {
    this.#left = calls;
  }

  get left(): number {
    return this.#left;
  }

  take(): void {
    this.#left--;
  }
}

export interface WriterOptions {
  readonly model: RetryingModel;
  readonly modelName: string;
  readonly windowTokens: number;
  /** Tokens of a fallback's window. Default: the same as the model's. */
  readonly windowOf?: (model: string) => Promise<number>;
  /** Called with each request before it is sent. Default: no listener. */
  readonly onMade?: (made: MadeRequest) => void;
  /** Called for a fallback that is skipped because the request does not fit its window. Default: no listener. */
  readonly onTooSmall?: (model: string, window: number) => void;
  readonly agentName: string;
  readonly time: Pick<TimeFormat, "day">;
  readonly texts: WriterTexts;
  readonly memorySave: Pick<MemorySave, "parameters" | "check">;
  readonly budget: CallBudget;
  readonly secondTry: SecondTry;
  readonly signal: AbortSignal;
  /** Called before each attempt at a model. Default: no listener. */
  readonly onAttempt?: (model: string, estimatedTokens: number) => void;
  readonly onCall: (record: ModelCallRecord, estimatedTokens: number) => void;
  /** Called with the reasons for refused memories. Default: no listener. */
  readonly onRejected?: (reasons: readonly MemoryRejection[]) => void;
}

export interface WritingTask {
  readonly messages: readonly ModelMessage[];
  /** A longer text is refused, estimated tokens. */
  readonly capTokens: number;
  /** Length to ask for, if that is less. Default: the cap. */
  readonly askedTokens?: number;
  readonly sourceTokens: number;
  /** The sources are summaries, whose content is worth keeping. */
  readonly isDense?: boolean;
  readonly maxOutputTokens: number;
  /** The lines that memories may cite, by number; null: memories are not asked for. */
  readonly sources: ReadonlyMap<number, Entry> | null;
  /** All entries of the transcript of which these lines are a part: a call may stand in another part than its results. Default: none. */
  readonly calls?: readonly Entry[];
  /** Texts of the messages besides people's words in these lines. Default: none. */
  readonly beside?: readonly string[];
  /** A text in the language of the summary. */
  readonly sample: string;
  /** What is summarised. */
  readonly lines: readonly SourceLine[];
  /** Calls of the attempt that are reserved for later summaries. */
  readonly keptCalls: number;
}

/** The inputs for choosing a length. */
export type Limits = Pick<WritingTask, "capTokens" | "askedTokens" | "sourceTokens" | "isDense">;

export type Written =
  | { readonly kind: "written"; readonly text: string; readonly model: string; readonly saved: SavedDrafts }
  | { readonly kind: "refused"; readonly rejection: SummaryRejection };

/** Length to ask for, in tokens: it fits the cap, with a margin against inflation. */
export function wantedTokens({
  capTokens,
  askedTokens = capTokens,
  sourceTokens,
  isDense = false,
}: Limits): number {
  return Math.min(capTokens, askedTokens, sourceTokens * (isDense ? DENSE_SHARE : RAW_SHARE));
}

/** Length to ask for, as a share of the source: of raw text, and of summaries. */
const RAW_SHARE = 0.5;
const DENSE_SHARE = 0.8;

/** A summary's maximum length, in units that a model can count. */
export interface LengthLimit {
  readonly limit: number;
  readonly unit: "words" | "characters";
}

const WORD = /[\p{L}\p{M}]+/gu;
const IN_CHARACTERS = new RegExp(`[${MEASURED_IN_CHARACTERS}]`, "gu");
/** Share of such letters from which a text is measured in characters. */
const CHARACTERS_SHARE = 0.3;
/** Characters at a text's beginning that determine its script. */
const SAMPLE = 20_000;
const MIN_LIMIT = 12;
/**
 * Estimated tokens of a summary for each word, over those of a word in what it summarises. English talk has 1.22 for a word,
 * summaries of it 1.56 with their signs and numbers, 99 of 100 at most 1.72.
 */
const OVER_TALK = 1.35;
const OVER_SUMMARIES = 1.2;
/** Signs and numbers among characters. */
const OVER_CHARACTERS = 1.1;
/** Bounds of a word's tokens. Texts full of code or data would seem to have far longer words than their summary. */
const PER_WORD = { least: 1.65, most: 3.5 } as const;
const PER_CHARACTER = { least: 0.6, most: 1.1 } as const;

/**
 * Converts tokens into words or characters, which a model can count. Languages differ by a factor of two, so the tokens of a word are
 * measured on the text that is summarised.
 * @param tokens estimated
 * @param sample a text in the language of the summary
 * @param isDense the sample consists of summaries
 */
export function lengthLimit(tokens: number, sample: string, isDense = false): LengthLimit {
  const head = sample.slice(0, SAMPLE);
  const letters = head.match(/\p{L}/gu)?.length ?? 0;
  const characters = head.match(IN_CHARACTERS) ?? [];
  const isInCharacters = characters.length > letters * CHARACTERS_SHARE;
  const perUnit = isInCharacters
    ? tokensOf(characters, "", OVER_CHARACTERS, PER_CHARACTER)
    : tokensOf(head.match(WORD) ?? [], " ", isDense ? OVER_SUMMARIES : OVER_TALK, PER_WORD);
  const limit = Math.floor(tokens / perUnit);
  const rounded = limit > 100 ? Math.floor(limit / 10) * 10 : limit;
  return { limit: Math.max(MIN_LIMIT, rounded), unit: isInCharacters ? "characters" : "words" };
}

function tokensOf(
  units: readonly string[],
  between: string,
  factor: number,
  { least, most }: { readonly least: number; readonly most: number },
): number {
  const each = units.length === 0 ? 0 : estimateTokens(units.join(between)) / units.length;
  return Math.min(most, Math.max(least, each * factor));
}

/** The summariser's tools: `memory_save`, or none if memories are not asked for. */
export function memoryTools(
  { texts, memorySave }: Pick<WriterOptions, "texts" | "memorySave">,
  isOffered: boolean,
): ToolSpec[] {
  if (!isOffered) return [];
  return [{ name: MEMORY_SAVE, description: texts.memorySave, parameters: memorySave.parameters }];
}

/** Estimated tokens of a request. */
export function estimateRequest(messages: readonly ModelMessage[], tools: readonly ToolSpec[]): number {
  const toolTokens = tools.length === 0 ? 0 : estimateTokens(JSON.stringify(tools));
  return messages.reduce((sum, message) => sum + estimateMessage(message), toolTokens);
}

/** A conversation with a summariser up to its first text. */
interface Conversation {
  readonly model: string;
  readonly messages: readonly ModelMessage[];
  readonly tools: readonly ToolSpec[];
  readonly saved: SavedDrafts;
}

/**
 * Has a model write one summary: rounds of `memory_save` first, then the text. A text that is too long is asked for once
 * more, shorter; one with another fault once more, with what is wrong, if the attempt has not done so before.
 * @throws ModelError
 */
export async function writeSummary(task: WritingTask, options: WriterOptions): Promise<Written> {
  const tools = memoryTools(options, task.sources !== null);
  let messages = task.messages;
  let saved = NOTHING_SAVED;
  let { modelName } = options;
  for (;;) {
    const callsLeft = options.budget.left - task.keptCalls;
    if (callsLeft <= 0) return { kind: "refused", rejection: CALLS_SPENT };
    const fits = estimateRequest(messages, tools) + task.maxOutputTokens <= options.windowTokens;
    // Earlier rounds are dropped if they no longer fit; their memories are kept.
    if (!fits) messages = task.messages;
    const maySave = fits && task.sources !== null && callsLeft > TEXT_CALLS;
    const toolChoice = maySave ? "auto" : "none";
    const answer = await ask(task, options, { model: modelName, messages, tools, toolChoice });
    if (answer === null) return { kind: "refused", rejection: emptyRejection(task) };
    // Asking the failed model first again would cost calls each time.
    modelName = answer.model;
    if (!maySave || answer.calls.length === 0) {
      const conversation = { model: modelName, messages, tools, saved };
      return settle(answer, conversation, callsLeft > 1, task, options);
    }
    const checked = runCalls(answer.calls, task, options);
    saved = joinSaved(saved, checked);
    messages = [
      ...messages,
      { role: "assistant", text: answer.text, calls: answer.calls },
      ...checked.results,
    ];
  }
}

/** Checks a first text, and asks for another one if need be. */
async function settle(
  answer: ModelAnswer,
  conversation: Conversation,
  mayAskAgain: boolean,
  task: WritingTask,
  options: WriterOptions,
): Promise<Written> {
  const text = summaryIn(answer, task);
  const rejection = rejectionOf({ text, finish: answer.finish }, task);
  const judge = new SummaryJudge(task.lines, {
    sourceTokens: task.sourceTokens,
    wantedTokens: wantedTokens(task),
  });
  const written = { kind: "written", text, model: answer.model, saved: conversation.saved } as const;
  if (rejection !== null) {
    if (!mayAskAgain || !isTooLong(text, rejection, task)) return { kind: "refused", rejection };
    const shorter = shortenMessage(rejection, task, options);
    const messages = askedAgain(answer.text, shorter, conversation, task, options);
    return completed(await secondText({ ...conversation, messages }, judge, task, options), task);
  }
  // The stand-in's extract is what the facts are taken from, and it cannot obey.
  const fault = answer.isStandIn === true ? null : await judge.faultOf(text);
  if (fault === null) return written;
  const asIs: Written =
    fault.rejection === null
      ? completed({ written, fault }, task)
      : { kind: "refused", rejection: fault.rejection };
  const messages = askedAgain(answer.text, againMessage(fault, task, options), conversation, task, options);
  const tokens = estimateRequest(messages, conversation.tools) + task.maxOutputTokens;
  const mayAsk = mayAskAgain && options.budget.left > task.keptCalls && tokens <= options.windowTokens;
  if (!mayAsk || !options.secondTry.take(fault.reason)) return asIs;
  try {
    const second = await secondText({ ...conversation, messages }, judge, task, options);
    const isSecond =
      asIs.kind === "refused" || (second.written.kind === "written" && isBetter(fault, second.fault));
    return isSecond ? completed(second, task) : asIs;
  } catch (error) {
    // The first one is paid for, and may be committed.
    if (!(error instanceof ModelError) || asIs.kind === "refused") throw error;
    return asIs;
  }
}

interface SecondText {
  readonly written: Written;
  /** What is wrong with it; null: nothing, or it is refused for its form. */
  readonly fault: SummaryFault | null;
}

/** The second text of a conversation: nothing further is asked for. */
async function secondText(
  { model, messages, tools, saved }: Conversation,
  judge: SummaryJudge,
  task: WritingTask,
  options: WriterOptions,
): Promise<SecondText> {
  const refused = (rejection: SummaryRejection): SecondText => {
    return { written: { kind: "refused", rejection }, fault: null };
  };
  if (options.budget.left <= task.keptCalls) return refused(CALLS_SPENT);
  const answer = await ask(task, options, { model, messages, tools, toolChoice: "none" });
  if (answer === null) return refused(emptyRejection(task));
  const text = summaryIn(answer, task);
  const rejection = rejectionOf({ text, finish: answer.finish }, task);
  if (rejection !== null) return refused(rejection);
  const fault = await judge.faultOf(text);
  if (fault !== null && fault.rejection !== null) return refused(fault.rejection);
  return { written: { kind: "written", text, model: answer.model, saved }, fault };
}

/** A text that is the last of its conversation, with what it lacks as far as its length allows. */
function completed({ written, fault }: SecondText, task: WritingTask): Written {
  if (written.kind !== "written" || fault === null || fault.missing.length === 0) return written;
  const room = Math.min(task.capTokens, mostOf(task)) - estimateTokens(written.text);
  return { ...written, text: withoutOrders(withSentences(written.text, fault.missing, room), task.lines) };
}

function summaryIn({ text }: ModelAnswer, { lines }: WritingTask): string {
  return withoutOrders(withoutOffer(cleanSummary(text)), lines);
}

/** A conversation with what is wrong with its text, and as much of the text as fits the window. */
function askedAgain(
  text: string,
  request: ModelMessage,
  { messages, tools }: Conversation,
  task: WritingTask,
  options: WriterOptions,
): ModelMessage[] {
  const taken = estimateRequest([...messages, request], tools) + task.maxOutputTokens;
  const shown = capText(text, options.windowTokens - taken);
  if (shown === "") return [...task.messages, request];
  return [...messages, { role: "assistant", text: shown, calls: [] }, request];
}

function againMessage(
  { reason, script, missing }: SummaryFault,
  task: WritingTask,
  { texts }: WriterOptions,
): ModelMessage {
  const limit = lengthLimit(wantedTokens(task), task.sample, task.isDense);
  return { role: "user", text: texts.again({ reason, script, missing: quotedFacts(missing), ...limit }) };
}

/** Asks for as much less as the text is too long, if it is much too long. */
function shortenMessage(
  { timesTooLong = 1 }: SummaryRejection,
  task: WritingTask,
  { texts }: WriterOptions,
): ModelMessage {
  const share = Math.max(LEAST_SHARE, Math.min(SHORTER, 1 / timesTooLong));
  const limit = lengthLimit(wantedTokens(task) * share, task.sample, task.isDense);
  return { role: "user", text: texts.shorten(limit) };
}

/** Whether the text was rejected only for its length, or cut off when it was over the cap already. */
function isTooLong(text: string, { kind }: SummaryRejection, { capTokens }: WritingTask): boolean {
  if (kind === "over_cap" || kind === "inflated") return true;
  return kind === "cut_off" && estimateTokens(text) > capTokens;
}

const CALLS_SPENT: SummaryRejection = { kind: "calls_spent", why: "its model calls are used up" };

function emptyRejection(task: WritingTask): SummaryRejection {
  return rejectionOf({ text: "", finish: "stop" }, task) ?? { kind: "empty", why: "it says nothing" };
}

type Asking = Pick<ModelRequest, "model" | "messages" | "tools" | "toolChoice">;

/**
 * Asks the model, which may retry and pass the request to fallbacks until the budget is spent.
 * @returns null: an answer without text and calls
 * @throws ModelError
 */
async function ask(task: WritingTask, options: WriterOptions, asking: Asking): Promise<ModelAnswer | null> {
  const { budget, signal } = options;
  const { messages } = canonical(asking.messages);
  const estimated = estimateRequest(messages, asking.tools);
  const spent = new AbortController();
  let records = 0;
  let lastFailure: ModelErrorKind = "unavailable";
  // The first record belongs to this call.
  budget.take();
  const onCall = (record: ModelCallRecord): void => {
    if (records++ > 0) budget.take();
    options.onCall(record, estimated);
    if (record.outcome === "answered") return;
    lastFailure = record.outcome;
    // By then the failed call is over, and the next one has not begun.
    if (budget.left <= 0) queueMicrotask(() => spent.abort());
  };
  const { maxOutputTokens } = task;
  const make = async (model: string): Promise<MadeRequest | null> => {
    const window = model === asking.model ? options.windowTokens : await options.windowOf?.(model);
    if (window !== undefined && model !== asking.model && estimated + maxOutputTokens > window) {
      options.onTooSmall?.(model, window);
      return null;
    }
    const same = {
      maxOutputTokens,
      temperature: undefined,
      task: "summarise",
      textLimit: wantedTokens(task),
    } as const;
    const request = { ...asking, messages, model, ...same };
    const made = { request, estimated, window: window ?? options.windowTokens, reserve: maxOutputTokens };
    options.onMade?.(made);
    return made;
  };
  try {
    return await options.model.answer(
      // The caller cuts a summary's text into smaller pieces.
      { model: asking.model, make, isShortenedByCaller: true },
      {
        signal: AbortSignal.any([signal, spent.signal]),
        onAttempt: (model) => options.onAttempt?.(model, estimated),
        onCall,
      },
    );
  } catch (error) {
    if (!(error instanceof ModelError)) throw error;
    const isSpent = error.kind === "aborted" && spent.signal.aborted && !signal.aborted;
    const kind = isSpent ? lastFailure : error.kind;
    if (kind === "empty") return null;
    throw isSpent ? new ModelError(kind, error.model, "the attempt's model calls are used up") : error;
  }
}

/** Checks what a model's calls save, and answers each call; does not throw. */
function runCalls(calls: readonly ToolCall[], task: WritingTask, options: WriterOptions) {
  let saved = NOTHING_SAVED;
  const results = calls.map((call): ModelMessage => {
    const checked = checkCall(call, task, options);
    saved = joinSaved(saved, checked);
    options.onRejected?.(checked.dropped.map(({ reason }) => reason));
    const dropped = checked.dropped.map(({ place, why }) => `${place}: ${storableText(why)}`);
    const kept = countSaved(checked);
    return { role: "tool", callId: call.id, text: options.texts.memoryResult({ kept, dropped }) };
  });
  return { ...saved, results };
}

function checkCall(
  call: ToolCall,
  task: WritingTask,
  { agentName, time, memorySave }: WriterOptions,
): CheckedSave {
  if (call.name !== MEMORY_SAVE) return nothingKept(`the only tool is ${MEMORY_SAVE}`);
  const input = jsonOf(call.arguments);
  if (input === undefined) return nothingKept("the arguments are not valid JSON");
  const promptText = task.messages.flatMap(({ role, text }) => (role === "system" ? [text] : [])).join("\n");
  return memorySave.check(input, {
    sources: task.sources ?? new Map(),
    promptText,
    beside: task.beside ?? [],
    calls: task.calls ?? [],
    agentName,
    dayOf: (at) => time.day(at),
  });
}

function nothingKept(why: string): CheckedSave {
  return { ...NOTHING_SAVED, dropped: [{ place: "memories[0]", why, reason: "malformed" }] };
}
