import { estimateMessage } from "../../src/context/render.ts";
import type { ModelMessage } from "../../src/core/context.ts";
import { estimateTokens, LINE_BREAK_TOKENS } from "../../src/text/tokens.ts";
import type { ModelRequest } from "../../src/llm/model.ts";
import { piecesOf } from "../../src/llm/offline/transcript.ts";
import { formFaults } from "../support/request-form.ts";
import { MARKER } from "./texts.ts";

/** A turn's request, taken apart as the design orders it. */
export interface Prompt {
  readonly model: string;
  /** Name of the agent whose request it is. */
  readonly by: string;
  readonly tools: string;
  readonly system: string;
  readonly summaries: readonly string[];
  readonly history: readonly ModelMessage[];
  readonly dynamic: string;
  /** The messages to answer, and the turn's own calls and results. */
  readonly newest: readonly ModelMessage[];
  /** Its pieces: each line of a user's message alone. */
  readonly messages: readonly ModelMessage[];
  /** What strict templates would refuse of it. */
  readonly formFaults: readonly string[];
  readonly tokens: number;
  readonly maxOutputTokens: number;
  readonly markers: ReadonlySet<string>;
}

/** Stands where the middle of a text was left out, or behind the beginning of one. */
export const CUT = /\[… cut: \d+ characters in all …\]| \[…\]$/;
const DYNAMIC = "[System: what is true just now";
const SUMMARY = "[Compaction Summary]: ";
/** Behind it: from when to when, and how many messages. */
const SPAN = /^\(\d[^()]*, [\d,]+ messages?(?: from #\d+)?\) /;

const prompts = new WeakMap<ModelRequest, Prompt>();

/** Once a request. */
export function takeApart(request: ModelRequest): Prompt {
  const prompt = prompts.get(request) ?? split(request);
  prompts.set(request, prompt);
  return prompt;
}

function split(request: ModelRequest): Prompt {
  const { model } = request;
  const messages = piecesOf(request.messages);
  const at = messages.findIndex(({ role, text }) => role === "user" && text.startsWith(DYNAMIC));
  const due = dueCount(messages[at]?.text ?? "");
  const before = messages.slice(1, at - due);
  const summaries = before.filter(({ role, text }) => role === "user" && text.startsWith(SUMMARY));
  return {
    model,
    by: /^You are (\w+)\./.exec(messages[0]?.text ?? "")?.[1] ?? "",
    tools: JSON.stringify(request.tools),
    system: messages[0]?.text ?? "",
    summaries: summaries.map(({ text }) => plainSummary(text.slice(SUMMARY.length).replace(SPAN, ""))),
    history: before.slice(summaries.length),
    dynamic: messages[at]?.text ?? "",
    newest: [...messages.slice(at - due, at), ...messages.slice(at + 1)],
    messages,
    formFaults: formFaults(request.messages),
    tokens: estimateRequest(request),
    maxOutputTokens: request.maxOutputTokens,
    markers: markersIn(messages),
  };
}

/** A summary as its row has it: heads of lines that it quotes are marked in a request. */
export function plainSummary(text: string): string {
  return text.replaceAll("\n> [", "\n[");
}

/** How many messages before the dynamic part wait for the answer, by its last line. */
function dueCount(dynamic: string): number {
  const [, count] = /\nAnswer the newest (?:message|(\d+) messages, together,) above\.$/.exec(dynamic) ?? [
    null,
    "0",
  ];
  return Number(count ?? 1);
}

export function markersIn(messages: readonly ModelMessage[]): Set<string> {
  return new Set(messages.flatMap(({ text }) => text.match(MARKER) ?? []));
}

/** How people's messages begin. */
export const LINE = /^\[(?:\d{4}-\d\d-\d\d \d\d:\d\d|\d\d:\d\d|\+?)\] /;
/** Work of Weir's own that has come due, and what another agent has answered: lines that no person said. */
const OWN_LINE = /^\[[^\]]*\] \[Weir: /;
const OTHERS_ANSWER = /^\[[^\]]*\] (?:\w+: )?(answer \d+:)/;

/** A line of Weir's own. */
export function isOwnLine({ role, text }: ModelMessage): boolean {
  return role === "user" && OWN_LINE.test(text);
}

/** What people have said, as the raw view and the messages to answer show it. */
export function saidIn({ history, newest }: Prompt): ModelMessage[] {
  return [...history, ...newest].filter(
    (message) =>
      message.role === "user" &&
      LINE.test(message.text) &&
      !isOwnLine(message) &&
      !OTHERS_ANSWER.test(message.text),
  );
}

/** Markers by which those are known. */
export function linesIn(prompt: Prompt): string[] {
  return saidIn(prompt).flatMap(({ text }) => text.match(MARKER)?.slice(0, 1) ?? []);
}

/** How the answers that a prompt shows begin: its agent's, and those of another one. */
export function answersIn({ history, newest }: Prompt): string[] {
  return [...history, ...newest].flatMap(({ role, text }) => {
    if (role === "assistant") return text.match(/^answer \d+:/gm) ?? [];
    return role === "user" ? (OTHERS_ANSWER.exec(text)?.slice(1, 2) ?? []) : [];
  });
}

const estimates = new WeakMap<object, number>();

/** By the formula of the code under test, put together anew; once a request. */
export function estimateRequest(request: Pick<ModelRequest, "messages" | "tools">): number {
  const { messages, tools } = request;
  const known = estimates.get(messages);
  if (known !== undefined) return known;
  const toolTokens = tools.length === 0 ? 0 : estimateTokens(JSON.stringify(tools)) + tools.length * 8;
  let tokens = toolTokens;
  for (const message of messages) {
    // Each piece is rounded up, and joins the one before it by a line break.
    const [first, ...rest] = piecesOf([message]);
    tokens += estimateMessage(first ?? message);
    for (const { text } of rest) tokens += estimateTokens(text) + LINE_BREAK_TOKENS;
  }
  estimates.set(messages, tokens);
  return tokens;
}
