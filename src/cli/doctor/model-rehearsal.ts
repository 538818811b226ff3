import type { StaffedAgent } from "../../agents.ts";
import { RequestBuilder } from "../../compactor/summary/requests.ts";
import { wholeTranscript } from "../../compactor/summary/chunks.ts";
import { transcribe } from "../../compactor/summary/transcript.ts";
import { memoryTools } from "../../compactor/summary/writer.ts";
import { assemble } from "../../context/assemble.ts";
import { usableTokens } from "../../context/usage.ts";
import type { ToolSpec } from "../../core/context.ts";
import { contextRequest } from "../../core/context-request.ts";
import type { Entry, ToolCall } from "../../core/entry.ts";
import type { History } from "../../core/history.ts";
import { type TurnId, turnId } from "../../core/ids.ts";
import { NOTHING_LEARNED } from "../../core/learned.ts";
import type { ModelRequest } from "../../llm/model.ts";
import { budgetOf } from "../../turn/agent.ts";
import { nextSources, type Scene } from "../../turn/context-sources.ts";

/**
 * Requests of the form that a conversation makes them in, out of one that is made up: a summary, lines of two people, an earlier call with
 * its result, and a message to answer. Pure.
 */

const SCENE: Scene = { platform: "terminal", channel: "a check of Weir's own", names: [], fileNames: [] };
const BEFORE = turnId(-2);
const NOW = turnId(-3);
/** The message that the next request is to answer stands here. */
const DUE = 10;
/** Seconds between messages. */
const PACE = 20;

/** The last message of each kind of request. */
export const ASKS = {
  word: "This is a check that you can be reached. Please answer with one short sentence: where is the parcel?",
  call: (tool: string): string =>
    `This is a check of your tools. Please call ${tool} now, with "parcel" wherever it wants a text, and write nothing else.`,
} as const;

/** The read-only tool of the trial call. Undefined: the agent has no such tool. */
export function triedTool({ agent }: StaffedAgent): ToolSpec | undefined {
  const specs = agent.tools.map(({ spec }) => spec);
  return specs.find(({ name }) => name === "search_history") ?? specs.find(({ name }) => name === "skip");
}

/** One answer in a conversation. @param made calls that the model has made in this turn; each has its result in the request */
export function turnRequest(
  staff: StaffedAgent,
  model: string,
  words: string,
  made: readonly ToolCall[],
  now: Date,
): ModelRequest {
  const { agent } = staff;
  const { config } = agent;
  const budget = budgetOf(agent, model);
  const tool = triedTool(staff)?.name;
  const history = conversation(words, tool, made, now);
  const running = made.length === 0 ? null : { id: NOW, fromSeq: DUE, toSeq: DUE };
  const situation = { running, now, scene: SCENE, usable: usableTokens(budget) };
  const context = assemble(nextSources(agent, history, situation));
  return {
    model,
    ...contextRequest(context),
    tools: context.tools,
    toolChoice: "auto",
    maxOutputTokens: Math.min(config.maxOutputTokens, budget.reserve),
    temperature: config.temperature ?? undefined,
    cacheKey: "weir-doctor",
  };
}

/**
 * A request for one summary.
 * @param windowTokens of the model
 */
export function summaryRequest(
  { compactorAgent }: StaffedAgent,
  model: string,
  windowTokens: number,
  now: Date,
): ModelRequest {
  const { entries, summaries } = conversation(ASKS.word, undefined, [], now);
  const [background = null] = summaries;
  const builder = new RequestBuilder(compactorAgent, {
    windowTokens,
    thinkingAllowance: compactorAgent.thinkingAllowance,
    isMemory: true,
    isRedo: false,
    background,
  });
  const lines = transcribe(entries, compactorAgent);
  const text = wholeTranscript(lines);
  const limits = { capTokens: SUMMARY_TOKENS, sourceTokens: SUMMARY_TOKENS };
  return {
    model,
    messages: builder.transcript(text, lines, limits, { part: 1, parts: 1 }),
    tools: memoryTools(compactorAgent, true),
    toolChoice: "none",
    maxOutputTokens: builder.outputTokens(SUMMARY_TOKENS),
    temperature: undefined,
    task: "summarise",
    textLimit: SUMMARY_TOKENS,
  };
}

const SUMMARY_TOKENS = 200;

function conversation(
  words: string,
  tool: string | undefined,
  made: readonly ToolCall[],
  now: Date,
): History {
  const from = now.getTime() - DUE * PACE * 1000;
  const at = (seq: number): Date => new Date(from + seq * PACE * 1000);
  const base = (seq: number) => ({ seq, at: at(seq), deleted: false, tokens: 20 });
  const said = (seq: number, name: "Ann" | "Ben", text: string, addressed = false): Entry => ({
    ...base(seq),
    kind: "user",
    author: { id: name.toLowerCase(), name, isBot: false },
    text,
    messageId: `check-${seq}`,
    replyTo: null,
    addressed,
  });
  const ours = (seq: number, id: TurnId, after: number) => ({ ...base(seq), turnId: id, after });
  const called = (seq: number, id: TurnId, after: number, calls: readonly ToolCall[]): Entry[] => [
    { ...ours(seq, id, after), kind: "tool_call", text: "", calls },
    ...calls.map(({ id: callId, name }, index): Entry => ({
      ...ours(seq + 1 + index, id, after),
      kind: "tool_result",
      callId,
      tool: name,
      text: "Nothing was found.",
      references: [],
      memories: [],
    })),
  ];
  const earlier =
    tool === undefined ? [] : [{ id: "check0001", name: tool, arguments: '{"query":"parcel"}' }];
  const entries: Entry[] = [
    said(3, "Ann", "I have put the parcel on the shelf by the door."),
    said(4, "Ben", "Thanks, I will take it along."),
    said(5, "Ann", "Where is the parcel?", true),
    ...(earlier.length > 0 ? called(6, BEFORE, 5, earlier) : []),
    { ...ours(8, BEFORE, 5), kind: "assistant", text: "On the shelf by the door.", stopped: false },
    said(9, "Ben", "I have it now."),
    said(DUE, "Ann", words, true),
    ...(made.length > 0 ? called(DUE + 1, NOW, DUE, made) : []),
  ];
  const span = { messages: 2, firstAt: at(1), lastAt: at(2) };
  const summary = { fromSeq: 1, toSeq: 2, span, level: 1, tokens: 20, needsRedo: false };
  return {
    summaries: [{ ...summary, kind: "model", text: "Ann expects a parcel for Ben." }],
    coveredTo: 2,
    omittedTo: 0,
    settledTo: 9,
    lastSeq: entries.at(-1)?.seq ?? DUE,
    omission: null,
    entries,
    ahead: [],
    learned: NOTHING_LEARNED,
  };
}
