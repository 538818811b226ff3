import { createHash } from "node:crypto";
import { setImmediate as nextTick } from "node:timers/promises";

import type { ToolSpec } from "../../core/context.ts";
import type { ToolCall } from "../../core/entry.ts";
import { rankSentences } from "../../text/rank-sentences.ts";
import { splitSentences, terms } from "../../text/terms.ts";
import { sliceWhole } from "../../text/text.ts";
import { estimateTokens } from "../../text/tokens.ts";
import { inSlices } from "../../async/cooperative.ts";
import {
  ModelError,
  type Model,
  type ModelAnswer,
  type ModelCallOptions,
  type ModelRequest,
} from "../model.ts";
import { notify } from "../notify.ts";
import { findMemories } from "./memories.ts";
import { findQuotes, isGood, type Quote } from "./quotes.ts";
import {
  agentNames,
  DUE_WORK_AUTHOR,
  numberedLines,
  OWN_SENTENCES,
  readTranscript,
  spokenLines,
  type Transcript,
} from "./transcript.ts";

export const OFFLINE_MODEL = "offline";

const MAX_QUOTES = 3;
/** Characters. */
const MAX_QUERY = 400;
const SEARCH_TOOL = "search_history";
const SAVE_TOOL = "memory_save";

/**
 * The model if none is set up, so that everything can be tried without a key. It is no language model and says so. It
 * quotes the sentences that share the rarest words with the question, says of a statement that it is noted, and summarises by
 * extraction (`task: "summarise"`). It is deterministic. It calls `search_history` at most once a turn, if nothing in view fits well, and
 * `memory_save` at most once a summary. Token usage is unknown: there are no tokens.
 */
export function createOfflineModel(): Model {
  return {
    async answer(request, options) {
      options.onAttempt?.(OFFLINE_MODEL);
      const startedAt = performance.now();
      let outcome: "answered" | ModelError["kind"] = "answered";
      try {
        return await answerOffline(request, options);
      } catch (error) {
        if (error instanceof ModelError) outcome = error.kind;
        throw error;
      } finally {
        const totalMs = performance.now() - startedAt;
        notify(options.onCall, {
          model: OFFLINE_MODEL,
          outcome,
          usage: undefined,
          isPaid: outcome === "answered",
          receivedTokens: 0,
          firstTokenMs: totalMs,
          totalMs,
        });
      }
    },
  };
}

async function said(request: ModelRequest): Promise<Reply> {
  if (request.task === "summarise") return summarise(request);
  return request.task === "revise" ? { text: "Nothing changes.", calls: [] } : reply(request);
}

async function answerOffline(request: ModelRequest, options: ModelCallOptions): Promise<ModelAnswer> {
  throwIfAborted(options.signal);
  const { text, calls } = await said(request);
  if (text === "" && calls.length === 0)
    throw new ModelError("empty", OFFLINE_MODEL, "there is nothing to summarise");
  for (const piece of text.match(/\s+\S*|\S+/g) ?? []) {
    notify(options.onText, piece);
    await nextTick();
    throwIfAborted(options.signal);
  }
  return {
    model: OFFLINE_MODEL,
    text,
    isStandIn: true,
    calls,
    finish: calls.length > 0 ? "tool_calls" : "stop",
    usage: undefined,
  };
}

function throwIfAborted(signal: AbortSignal): void {
  if (signal.aborted) throw new ModelError("aborted", OFFLINE_MODEL, "the caller ended the call");
}

interface Reply {
  readonly text: string;
  readonly calls: readonly ToolCall[];
}

function reply(request: ModelRequest): Reply {
  const transcript = readTranscript(request.messages);
  const due = transcript.questions.filter(({ author }) => author === DUE_WORK_AUTHOR);
  if (due.length > 0) return { text: due.map(({ text }) => text).join("\n"), calls: [] };
  const quotes = findQuotes(transcript.questions, transcript.sources, MAX_QUOTES);
  const isAsked = transcript.questions.some(({ text }) => isQuestion(text));
  if (!isGood(quotes[0]) && !isAsked) return { text: heard(transcript), calls: [] };
  const search = isGood(quotes[0]) ? undefined : searchCall(request, transcript);
  if (search !== undefined) return { text: "", calls: [search] };
  return { text: fitting(quotes, request.maxOutputTokens), calls: [] };
}

/** A question mark of any script, before a sentence's end. */
const QUESTION_MARK = /[?\uff1f\u061f\u037e\u055e]/;
/** Links hold question marks that ask nothing. */
const LINKS = /(?<!\S)\S+:\/\/\S+/g;
/** Ends a question in scripts that need no mark. */
const UNMARKED_END = /(?:か|かな|吗|呢|嗎|까|나요)[。.!！]?$/;
/** Words that begin a question, or a request to tell something. */
const FIRST_WORDS = new Set(
  `who what when where why which whose whom how is are was were do does did has have can could will would should may
  tell show find search list quote give explain describe summarise summarize recall
  wer was wann wo warum wieso weshalb welche welcher welches wessen wem wen wie ist sind war waren hat haben kann kannst wird
  sag sage zeig zeige finde suche nenne erzähl erzähle
  qui que quoi quand où pourquoi quel quelle quels quelles comment combien est-ce dis montre cherche trouve
  quién quien qué cuándo cuando dónde donde cuál cual cómo cuánto dime muestra busca
  chi cosa quando dove perché quale quali come quanto dimmi mostra cerca
  quem onde porque qual quais quanto diz mostre procure
  wie wat wanneer waar waarom welk welke hoe zeg toon zoek`.split(/\s+/),
);

/** True: a sentence asks. A question mark says so, or the sentence's first word. */
function isQuestion(text: string): boolean {
  return splitSentences(text.replaceAll(LINKS, " ")).some((sentence) => {
    const plain = sentence.trim().toLowerCase();
    const [first = ""] = plain.replace(/^[¿¡"'“‘(\s]+/u, "").split(/[\s,:]+/u);
    return QUESTION_MARK.test(plain) || UNMARKED_END.test(plain) || FIRST_WORDS.has(first);
  });
}

/** Statements with fewer terms, such as a greeting, are not worth asking for. */
const MIN_NOTED_TERMS = 2;

/** The answer to statements: nobody asks for a quote. */
function heard({ questions }: Transcript): string {
  const { noted, invitation, onlyQuotes, setup } = OWN_SENTENCES;
  const isWorthAsking = terms(questions.map(({ text }) => text).join("\n")).length >= MIN_NOTED_TERMS;
  return `${isWorthAsking ? noted : invitation} ${onlyQuotes} ${setup}`;
}

/** As many quotes as `maxOutputTokens` allows; if none fits, a sentence that may exceed it. */
function fitting(quotes: readonly Quote[], maxOutputTokens: number): string {
  for (let count = quotes.length; count > 0; count--) {
    const text = quoting(quotes.slice(0, count));
    if (estimateTokens(text) <= maxOutputTokens) return text;
  }
  const { nothing, onlyQuotes, setup } = OWN_SENTENCES;
  return `${nothing} ${onlyQuotes} ${setup}`;
}

function quoting(quotes: readonly Quote[]): string {
  const blocks = quotes.map(({ text, author, time }) => {
    const source = [author, time].filter((part) => part !== "").join(", ");
    return `> ${text.replaceAll("\n", "\n> ")}\n— ${source === "" ? "earlier" : source}`;
  });
  return `${OWN_SENTENCES.quoting}\n\n${blocks.join("\n\n")}`;
}

/** The turn's only search; undefined if none is offered, one was made, or there is no search term. */
function searchCall(request: ModelRequest, transcript: Transcript): ToolCall | undefined {
  const tool = request.tools.find(({ name }) => name === SEARCH_TOOL);
  if (tool === undefined || request.toolChoice === "none" || transcript.hasSearched) return undefined;
  const question = transcript.questions.map(({ text }) => text).join("\n");
  if (terms(question).length === 0) return undefined;
  const query = sliceWhole(question, 0, MAX_QUERY);
  const json = JSON.stringify({ [queryParameter(tool)]: query });
  return { id: callId(request, question), name: SEARCH_TOOL, arguments: json };
}

/** A hash, so that the same request makes the same call. */
function callId({ messages }: ModelRequest, about: string): string {
  return createHash("sha256").update(`${messages.length}\n${about}`).digest("hex").slice(0, 9);
}

/** Saves a transcript's memories, before its summary; undefined if there are none, or if they were saved. */
function saveCall(request: ModelRequest): ToolCall | undefined {
  const { messages, tools, toolChoice } = request;
  const isOffered = toolChoice !== "none" && tools.some(({ name }) => name === SAVE_TOOL);
  if (!isOffered || messages.some(({ role }) => role === "tool")) return undefined;
  const names = agentNames(messages);
  const memories = findMemories(numberedLines(messages), (author) => names.has(author));
  if (memories.length === 0) return undefined;
  const json = JSON.stringify({ memories });
  return { id: callId(request, json), name: SAVE_TOOL, arguments: json };
}

function queryParameter(tool: ToolSpec): string {
  const properties = tool.parameters["properties"];
  if (typeof properties !== "object" || properties === null || "query" in properties) return "query";
  return Object.keys(properties)[0] ?? "query";
}

async function summarise(request: ModelRequest): Promise<Reply> {
  const save = saveCall(request);
  if (save !== undefined) return { text: "", calls: [save] };
  const { messages } = request;
  // A little below the limit: texts that look like heads are escaped afterwards, which lengthens them.
  const maxTokens = Math.floor(Math.min(request.maxOutputTokens, request.textLimit ?? Infinity) * 0.95);
  const lines = spokenLines(messages);
  const length = lines.reduce(
    (sum, { time, author, text }) => sum + `[${time}] ${author}: ${text}`.length,
    0,
  );
  // At most half of the text, heads included, or it would be no summary.
  let limit = Math.min(Math.ceil(length / 2), maxTokens * 4);
  const digestWithin = await inSlices(rankSentences(lines));
  for (;;) {
    const text = await inSlices(digestWithin(limit));
    if (estimateTokens(text) <= maxTokens || limit < 40) return { text, calls: [] };
    limit = Math.floor(limit * 0.8);
  }
}
