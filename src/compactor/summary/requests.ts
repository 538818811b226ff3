import { capText } from "../../context/cap.ts";
import { type EntryTexts, spanNote, summaryLabel, withQuotedLines } from "../../context/render.ts";
import type { ModelMessage } from "../../core/context.ts";
import type { Entry } from "../../core/entry.ts";
import type { Summary } from "../../core/history.ts";
import type { AgentId } from "../../core/ids.ts";
import type { TimeFormat } from "../../text/time.ts";
import { collectHints, type Hints } from "./hints.ts";
import {
  estimateRequest,
  type LengthLimit,
  lengthLimit,
  type Limits,
  memoryTools,
  wantedTokens,
  type WriterOptions,
  type WriterTexts,
} from "./writer.ts";
import { besidePeople, type TranscriptLine } from "./transcript.ts";

/** The prompt texts of a summariser; the templates are in `prompts/`. */
export interface CompactorTexts
  extends WriterTexts, Pick<EntryTexts, "editNote" | "absence" | "undelivered"> {
  instructions(values: { readonly agentName: string; readonly agentPrompt: string }): string;
  background(values: { readonly text: string }): string;
  task(values: TaskValues): string;
  merge(values: LengthLimit & { readonly count: number }): string;
  revise(values: { readonly older: readonly string[]; readonly fresh: readonly string[] }): string;
  /** Describes the tool of `revise`. */
  readonly memoryRevise: string;
}

interface TaskValues extends LengthLimit, Hints {
  readonly first: number;
  readonly last: number;
  readonly part: number;
  readonly parts: number;
  readonly redo: boolean;
  readonly memory: boolean;
  /** As JSON text; "": nothing. */
  readonly focus: string;
}

export interface WorkerAgent {
  /** Its role and instructions; "": none. */
  readonly systemText: string;
  readonly agentName: string;
  /** Another agent that spoke in the same channel; default: its id. */
  readonly nameOf?: (agent: AgentId) => string;
  readonly time: TimeFormat;
  readonly texts: CompactorTexts;
  readonly memorySave: WriterOptions["memorySave"];
}

/** Tokens kept free, since estimates may be slightly low. */
const SLACK_TOKENS = 512;
/** Output for one `memory_save` besides the summary; at most an eighth of the window. */
const MEMORY_OUTPUT_TOKENS = 1024;
/** Share of the summariser's window for the agent's own prompt. */
const AGENT_SHARE = 0.25;

export interface RequestOptions {
  readonly windowTokens: number;
  /** Output tokens for the model's reasoning, at most an eighth of its window. */
  readonly thinkingAllowance: number;
  /** Whether `memory_save` is offered. */
  readonly isMemory: boolean;
  readonly isRedo: boolean;
  /** The asker's words for the most important content; default: none. */
  readonly focus?: string;
  readonly background: SummaryText | null;
}

export type RequestLimits = Pick<RequestOptions, "windowTokens" | "thinkingAllowance" | "focus">;

/**
 * Builds a summariser's requests: the instructions; the summary before the range, as background; the transcript and
 * nothing else (so that a retry sends the same bytes), or the summaries to merge; and last the task with its limit.
 */
export class RequestBuilder {
  readonly #agent: WorkerAgent;
  readonly #options: RequestOptions;

  constructor(agent: WorkerAgent, options: RequestOptions) {
    this.#agent = agent;
    this.#options = options;
  }

  /** Texts of a transcript's request besides people's words in these lines. */
  beside(lines: readonly TranscriptLine[]): string[] {
    const { background, focus = "" } = this.#options;
    return [background?.text ?? "", focus, ...besidePeople(lines)];
  }

  transcript(
    text: string,
    lines: readonly TranscriptLine[],
    limits: Limits,
    place: { readonly part: number; readonly parts: number },
  ): ModelMessage[] {
    const ends = { first: lines[0]?.number ?? 1, last: lines.at(-1)?.number ?? 1 };
    const entries = lines.map(({ entry }) => entry);
    const task = this.#task({ ...place, ...ends }, entries, lengthLimit(wantedTokens(limits), text));
    return [...this.#opening(), user(text), task];
  }

  #task(
    place: Pick<TaskValues, "first" | "last" | "part" | "parts">,
    entries: readonly Entry[],
    limit: LengthLimit,
  ): ModelMessage {
    const { isRedo: redo, isMemory: memory } = this.#options;
    const same = { redo, memory, focus: this.#focus };
    return user(this.#agent.texts.task({ ...place, ...collectHints(entries), ...limit, ...same }));
  }

  /** @param summaries of one channel, oldest first */
  merge(summaries: readonly SummaryText[], limits: Limits): ModelMessage[] {
    const { texts, time } = this.#agent;
    const limit = lengthLimit(wantedTokens(limits), summaries.map(({ text }) => text).join("\n"), true);
    const task = texts.merge({ count: summaries.length, ...limit });
    return [this.#system(), ...summaryMessages(summaries, time), user(task)];
  }

  outputTokens(capTokens: number): number {
    const { windowTokens, thinkingAllowance, isMemory } = this.#options;
    const eighth = Math.floor(windowTokens / 8);
    const forMemories = isMemory ? Math.min(MEMORY_OUTPUT_TOKENS, eighth) : 0;
    return capTokens + Math.min(thinkingAllowance, eighth) + forMemories;
  }

  /** Tokens that the window leaves for a transcript of these entries, or for summaries to merge. */
  room(entries: readonly Entry[], capTokens: number): number {
    const { windowTokens, isMemory } = this.#options;
    const place = { first: 1, last: entries.length, part: 1, parts: 2 };
    const task = this.#task(place, entries, lengthLimit(capTokens, ""));
    const fixed = estimateRequest([...this.#opening(), task], memoryTools(this.#agent, isMemory));
    return Math.floor(windowTokens - this.outputTokens(capTokens) - SLACK_TOKENS - fixed);
  }

  /** Quoted as a person's text, apart from the request's own words. */
  get #focus(): string {
    const { focus = "" } = this.#options;
    return focus === "" ? "" : JSON.stringify(focus);
  }

  #opening(): ModelMessage[] {
    const { background } = this.#options;
    if (background === null) return [this.#system()];
    const { time, texts } = this.#agent;
    const { span } = background;
    const text = span === null ? background.text : `${spanNote(time, span)}\n${background.text}`;
    return [this.#system(), user(texts.background({ text }))];
  }

  #system(): ModelMessage {
    const { systemText, agentName, texts } = this.#agent;
    const agentPrompt = capText(systemText, Math.floor(this.#options.windowTokens * AGENT_SHARE));
    return { role: "system", text: texts.instructions({ agentName, agentPrompt }) };
  }
}

export type SummaryText = Pick<Summary, "text" | "span">;

export function summaryMessages(summaries: readonly SummaryText[], time: TimeFormat): ModelMessage[] {
  return summaries.map(({ text, span }) => user(summaryLabel(time, span) + withQuotedLines(`\n${text}`)));
}

function user(text: string): ModelMessage {
  return { role: "user", text };
}
