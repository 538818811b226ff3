import {
  type Absence,
  type AssistantEntry,
  type Entry,
  type EntryReference,
  objectJson,
  QUOTE_TOKENS,
  type RecalledStatement,
  type ToolCallEntry,
  type ToolResultEntry,
  type UnseenAnswer,
  type UserEntry,
} from "../core/entry.ts";
import { SliceCounter, type Slices } from "../async/cooperative.ts";
import type { ModelMessage, ToolSpec } from "../core/context.ts";
import type { AgentId, Seq } from "../core/ids.ts";
import { isDueWork } from "../core/message.ts";
import { type Summary, type SummarySpan, viewOrder } from "../core/history.ts";
import { capMessage, capText, stubOf, type StubSize } from "./cap.ts";
import { escapeLabels } from "./labels.ts";
import { headForm, type HeadForm, type LineBefore, lineHead } from "../text/line-head.ts";
import { counted, displayName, displayTitle } from "../text/text.ts";
import { formatDays, type TimeFormat } from "../text/time.ts";
import { estimateTokens, LINE_BREAK_TOKENS, MESSAGE_OVERHEAD } from "../text/tokens.ts";

/** Texts for entries besides their own, from the templates in `prompts/`. */
export interface EntryTexts {
  editNote(values: { author: string; original: string; text: string }): string;
  /** @param values.from, values.to the limits of the time in which messages were missed */
  absence(values: { kind: Absence["kind"]; from: string; to: string }): string;
  /** @param values.kind where in the answer something is missing */
  undelivered(values: { kind: UnseenPlace; asked: string; missing: number; of: number }): string;
  deleted(): string;
  /** A user's first line before an assistant's. */
  opening(): string;
  /** An assistant's line for a turn that ended after its calls. */
  closing(): string;
  /** The text before the pictures of a tool's result. @param values.call its place among the `calls` made at once, from 1 */
  resultImages(values: { tool: string; count: number; call: number; calls: number }): string;
}

export interface Rendered {
  readonly entry: Entry;
  /** Null: the model does not see it. */
  readonly message: ModelMessage | null;
  readonly tokens: number;
  /** The parts of this line on which the next head depends. */
  readonly line: LineBefore | null;
}

/** A person's message as a line. */
interface Said {
  readonly minute: string;
  /** Identifies the speaker, since people may share a name. Null: Weir's own work. */
  readonly speaker: string | null;
  /** The entry's own text, escaped. */
  readonly body: string;
  readonly form: HeadForm;
  readonly head: string;
  /** Of head and body together. */
  readonly tokens: number;
}

/** A message without an entry. */
interface RenderedText {
  readonly message: ModelMessage;
  readonly tokens: number;
}

export interface RenderOptions {
  /** Longest text, in tokens; undefined: all of it. */
  readonly cap?: number;
  /** An old tool result is shortened. */
  readonly stub?: boolean;
}

/** The agent whose requests a renderer makes: other agents' answers are lines with their names, and their calls are left out. */
export interface Perspective {
  /** Null: the channel's own agent. */
  readonly self: AgentId | null;
  /** @param agent null: the channel's own */
  nameOf(agent: AgentId | null): string;
}

const OF_CHANNEL: Perspective = { self: null, nameOf: (agent) => agent ?? "you" };

/** Characters that are rendered before other work has its turn, and those that an entry costs beside its text. */
const SLICE_CHARACTERS = 20_000;
const ENTRY_CHARACTERS = 100;

const STUB_SIZE: StubSize = { stubOver: 400, stubLength: 200 };

/**
 * Renders entries, each once. While an entry and the line before it are in the view, neither changes, so its bytes stay
 * the same, and the request's prefix stays in the provider's cache.
 */
export class Renderer {
  readonly #time: TimeFormat;
  readonly #texts: EntryTexts;
  readonly #stub: StubSize;
  readonly #as: Perspective;
  readonly #whole = new WeakMap<Entry, Omit<Rendered, "line">>();
  /** Head and body apart: joined, they would be a copy of the entry's text. */
  readonly #said = new WeakMap<Entry, Said>();
  readonly #toolTokens = new WeakMap<readonly ToolSpec[], number>();
  /** A summary stays for many turns, and is measured once. */
  readonly #summaries = new WeakMap<Summary, RenderedText>();
  #system: RenderedText | null = null;
  readonly #fillers: Partial<Record<"opening" | "closing", RenderedText>> = {};

  constructor(time: TimeFormat, texts: EntryTexts, stub = STUB_SIZE, as: Perspective = OF_CHANNEL) {
    this.#time = time;
    this.#texts = texts;
    this.#stub = stub;
    this.#as = as;
  }

  /** @param before the line before it in the same request; null: none */
  render(entry: Entry, options: RenderOptions = {}, before: LineBefore | null = null): Rendered {
    const whole = this.#renderWhole(entry, before);
    const isStub = options.stub === true && entry.kind === "tool_result";
    if (whole.message === null || (!isStub && (options.cap === undefined || whole.tokens <= options.cap)))
      return whole;
    let message = whole.message;
    if (isStub) message = { ...message, text: stubOf(message.text, this.#stub) };
    if (options.cap !== undefined) {
      const said = this.#said.get(entry);
      message =
        said === undefined
          ? capMessage(message, options.cap)
          : { ...message, text: capText(said.body, options.cap, said.head) };
    }
    return { entry, message, tokens: estimateMessage(message), line: whole.line };
  }

  /** Estimated tokens of each of these entries, in a request with all of them and with old tool results shortened. */
  stubTokens(entries: readonly Entry[]): (entry: Entry) => number {
    let tokens: Map<Entry, number> | null = null;
    const count = (): Map<Entry, number> => {
      let before: LineBefore | null = null;
      const counts = new Map<Entry, number>();
      for (const entry of viewOrder(entries)) {
        const rendered = this.render(entry, { stub: true }, before);
        before = rendered.line;
        const isLine = rendered.message?.role === "user";
        counts.set(entry, isLine ? joinedTokens(rendered.tokens) : rendered.tokens);
      }
      return counts;
    };
    return (entry) => (tokens ??= count()).get(entry) ?? 0;
  }

  /** Renders entries ahead of a request with all of them: it then finds them rendered, and takes the thread for a moment only. */
  *ahead(entries: readonly Entry[]): Slices<void> {
    const slice = new SliceCounter(SLICE_CHARACTERS);
    let before: LineBefore | null = null;
    for (const entry of viewOrder(entries)) {
      before = this.render(entry, {}, before).line;
      if (slice.isOver(ENTRY_CHARACTERS + entry.text.length)) yield;
    }
  }

  /** The system prompt as a message. It is the same for many requests, and measured once. */
  system(text: string): RenderedText {
    if (this.#system?.message.text === text) return this.#system;
    const message: ModelMessage = { role: "system", text };
    this.#system = { message, tokens: estimateMessage(message) };
    return this.#system;
  }

  /** `[Compaction Summary]: (2026-05-01 10:00 – 05-03 18:20, 120 messages from #12) …`, which the static prompt explains. */
  summary(summary: Summary): RenderedText {
    const known = this.#summaries.get(summary);
    if (known !== undefined) return known;
    const label = summaryLabel(this.#time, summary.span, summary.fromSeq);
    const text = `${label} ${withQuotedLines(summary.text)}`;
    const message: ModelMessage = { role: "user", text };
    const made = { message, tokens: estimateMessage(message) };
    this.#summaries.set(summary, made);
    return made;
  }

  /** Fills in for a missing turn of a role. */
  filler(kind: "opening" | "closing"): RenderedText {
    const known = this.#fillers[kind];
    if (known !== undefined) return known;
    const message: ModelMessage =
      kind === "opening"
        ? { role: "user", text: this.#texts.opening() }
        : { role: "assistant", text: this.#texts.closing(), calls: [] };
    return (this.#fillers[kind] = { message, tokens: estimateMessage(message) });
  }

  imagesText(values: Parameters<EntryTexts["resultImages"]>[0]): string {
    return this.#texts.resultImages(values);
  }

  /** Estimated tokens of the tools, measured once. */
  toolTokens(tools: readonly ToolSpec[]): number {
    if (tools.length === 0) return 0;
    const known = this.#toolTokens.get(tools);
    if (known !== undefined) return known;
    const tokens = estimateTokens(JSON.stringify(tools)) + tools.length * 8;
    this.#toolTokens.set(tools, tokens);
    return tokens;
  }

  /** `[2026-11-21 14:05] NAME: text`: a person's message as a single line. */
  line(at: Date, author: string, text: string): string {
    return lineHead("dated", this.#time.minute(at), `${displayName(author)}: `) + escapeLabels(text);
  }

  /**
   * The head of a quoted line: `[2026-11-21] NAME: `, `[] NAME: ` after a line of the same day; of today with the minute, as in the
   * conversation. Times of day long ago tell little, and take as much as a tenth of the lines.
   * @param before the line before it; null: there is none
   */
  quotedHead(at: Date, author: string, { before, now }: { before: Date | null; now: Date }): string {
    const [minute, day] = [this.#time.minute(at), this.#time.day(at)];
    const name = `${displayName(author)}: `;
    if (day !== this.#time.day(now))
      return lineHead(before !== null && this.#time.day(before) === day ? "named" : "dated", day, name);
    const line = before === null ? null : { minute: this.#time.minute(before), speaker: null };
    return lineHead(headForm({ minute, speaker: null }, line), minute, name);
  }

  /**
   * `[2026-11-21] NAME (event of 2026-12-03): statement`: the form of a memory, with its days if the statement does not
   * name them; of an ended one also up to which day it held. `[2026-11-21] seen by TOOL [tool]: statement`: of what a tool has found, since
   * no name has brackets.
   */
  memoryLine(memory: RecalledStatement): string {
    const { at, assertedBy, tool, type, refers, statement, until, otherwise = [] } = memory;
    const isNamed = refers === undefined || statement.includes(refers.from);
    const days = isNamed ? "" : ` of ${formatDays(refers)}`;
    const ended = until === undefined ? "" : `, until ${this.#time.day(until)}`;
    const others = otherwise.map(
      (other) => `; ${displayName(other.assertedBy)} said otherwise on ${this.#time.day(other.at)}`,
    );
    const told =
      tool === undefined
        ? `${displayName(assertedBy)} (${type}${days}${ended}${others.join("")})`
        : `seen by ${displayName(tool)} [tool${days}${ended}]`;
    return `[${this.#time.day(at)}] ${told}: ${escapeLabels(statement)}`;
  }

  /** The author of a quoted line, under the name in these requests. */
  authorOf({ author, agent }: Pick<EntryReference, "author" | "agent">): string {
    // No other speaker has such a name.
    if (agent === undefined && author !== "you") return author;
    const by = agent ?? null;
    return by === this.#as.self ? "you" : this.#as.nameOf(by);
  }

  #isForeign(entry: Entry): entry is AssistantEntry | ToolCallEntry | ToolResultEntry {
    if (!("turnId" in entry)) return false;
    const { agent = null }: { agent?: AgentId | null } = entry;
    return agent !== this.#as.self;
  }

  #renderSaid(entry: UserEntry | AssistantEntry, before: LineBefore | null): Rendered {
    const said = this.#saidBehind(entry, before);
    return { entry, message: { role: "user", text: said.head + said.body }, tokens: said.tokens, line: said };
  }

  #speaker(entry: UserEntry | AssistantEntry): { readonly key: string | null; readonly who: string } {
    if (entry.kind === "assistant") {
      const name = displayName(this.#as.nameOf(entry.agent ?? null));
      return { key: `agent\n${name}`, who: `${name}: ` };
    }
    const { id, name } = entry.author;
    return isDueWork(entry.messageId)
      ? { key: null, who: `[Weir: ${displayTitle(name)}] ` }
      : { key: `${id}\n${name}`, who: `${displayName(name)}: ` };
  }

  #saidBehind(entry: UserEntry | AssistantEntry, before: LineBefore | null): Said {
    const known = this.#said.get(entry);
    // A long channel is rendered several times for one request: names are made readable once.
    if (known !== undefined && headForm(known, before) === known.form) return known;
    const { key, who } = this.#speaker(entry);
    const line = known ?? { minute: this.#time.minute(entry.at), speaker: key };
    const form = headForm(line, before);
    const body = known?.body ?? escapeLabels(entry.deleted ? this.#texts.deleted() : entry.text);
    const head = lineHead(form, line.minute, who);
    const tokens = estimateMessage({ role: "user", text: head + body });
    const said = { minute: line.minute, speaker: line.speaker, body, form, head, tokens };
    this.#said.set(entry, said);
    return said;
  }

  #renderWhole(entry: Entry, before: LineBefore | null): Rendered {
    if (entry.kind === "user") return this.#renderSaid(entry, before);
    if (this.#isForeign(entry)) {
      const isSaid = entry.kind === "assistant" && entry.text !== "";
      return isSaid ? this.#renderSaid(entry, before) : { entry, message: null, tokens: 0, line: before };
    }
    let whole = this.#whole.get(entry);
    if (whole === undefined) {
      const message = this.#message(entry);
      whole = { entry, message, tokens: message === null ? 0 : estimateMessage(message) };
      this.#whole.set(entry, whole);
    }
    const isNothing = whole.message === null || before === null || before.speaker === null;
    return { ...whole, line: isNothing ? before : { minute: before.minute, speaker: null } };
  }

  #message(entry: Exclude<Entry, UserEntry>): ModelMessage | null {
    switch (entry.kind) {
      case "assistant":
        // A request shows no empty message.
        return entry.text.trim() === "" ? null : { role: "assistant", text: entry.text, calls: [] };
      case "tool_call":
        return { role: "assistant", text: entry.text, calls: entry.calls };
      case "tool_result":
        return { role: "tool", callId: entry.callId, text: this.toolText(entry) };
      case "notice":
        return this.#note(entry);
    }
  }

  /** Notices of failures are not the agent's words, and are left out. The model reads notices of edits and missed messages. */
  #note(entry: Entry & { kind: "notice" }): ModelMessage | null {
    if (entry.absence !== undefined)
      return { role: "user", text: absenceText(entry.absence, this.#time, this.#texts) };
    if (entry.undelivered !== undefined)
      return { role: "user", text: unseenText(entry.undelivered, this.#time, this.#texts) };
    if (entry.edits === null || entry.text === "") return null;
    const { author, at } = entry.edits;
    const values = {
      author: displayName(author),
      original: this.#time.minute(at),
      text: escapeLabels(entry.text),
    };
    return { role: "user", text: this.#texts.editNote(values).trim() };
  }

  /** A tool result as a model reads it. */
  toolText(result: Pick<ToolResultEntry, "text" | "deleted" | "references" | "memories">): string {
    const { text, deleted, references, memories } = result;
    // By its number a model reads on from a line.
    const quoted = references.map((reference) => {
      const { seq, at } = reference;
      const said = capText(reference.text ?? this.#texts.deleted(), QUOTE_TOKENS);
      return `${seq}. ${this.line(at, this.authorOf(reference), said)}`;
    });
    const remembered = memories.map(({ memory }) =>
      memory === null ? this.#texts.deleted() : this.memoryLine(memory),
    );
    const own = deleted ? this.#texts.deleted() : escapeLabels(text);
    return [own, ...quoted, ...remembered].filter((line) => line !== "").join("\n");
  }
}

const SUMMARY_LABEL = "[Compaction Summary]:";
/** Most estimated tokens of a summary's label within a message. */
export const SUMMARY_LABEL_TOKENS = 40;

/** @param from number of the first message, by which its reader reads them; default: its reader cannot */
export function summaryLabel(time: TimeFormat, span: SummarySpan | null, from?: Seq): string {
  return span === null ? SUMMARY_LABEL : `${SUMMARY_LABEL} ${spanNote(time, span, from)}`;
}

/** Marks quoted lines with heads in a summary, so that none reads as a new message after it. */
export function withQuotedLines(text: string): string {
  return text.replaceAll("\n[", "\n> [");
}

/**
 * `(2026-05-01 10:00 – 05-03 18:20, 120 messages from #12)`; the end shows only what differs from the beginning. Of two years, the days
 * suffice.
 */
export function spanNote(time: TimeFormat, { messages, firstAt, lastAt }: SummarySpan, from?: Seq): string {
  const [first, last] = [time.minute(firstAt), time.minute(lastAt)];
  const isSame = (length: number): boolean => first.slice(0, length) === last.slice(0, length);
  const end = last.slice(isSame("2026-05-01 ".length) ? "2026-05-01 ".length : "2026-".length);
  const within = first === last ? first : `${first} – ${end}`;
  const times = isSame("2026".length) ? within : `${time.day(firstAt)} – ${time.day(lastAt)}`;
  const number = from === undefined ? "" : ` from #${from}`;
  return `(${times}, ${counted(messages, "message")}${number})`;
}

export type UnseenPlace = "all" | "beginning" | "middle" | "end" | "file";

/** A notice of an answer that people have not seen whole. */
export function unseenText(
  unseen: UnseenAnswer,
  time: Pick<TimeFormat, "minute">,
  texts: Pick<EntryTexts, "undelivered">,
): string {
  const { missing, of, kind } = unseenParts(unseen);
  return texts.undelivered({ kind, asked: time.minute(unseen.askedAt), missing, of }).trim();
}

/** How much of an answer is missing, and where. Pure. */
export function unseenParts({ of, gaps }: Pick<UnseenAnswer, "of" | "gaps">): {
  readonly kind: UnseenPlace;
  readonly missing: number;
  readonly of: number;
} {
  const missing = gaps.reduce((sum, { from, to }) => sum + to - from, 0);
  const [first] = gaps;
  if (first === undefined) return { kind: "file", missing, of };
  if (gaps.length > 1) return { kind: "middle", missing, of };
  const isEnd = first.to >= of;
  if (first.from === 0) return { kind: isEnd ? "all" : "beginning", missing, of };
  return { kind: isEnd ? "end" : "middle", missing, of };
}

export function absenceText(
  { kind, from, to }: Absence,
  time: Pick<TimeFormat, "minute">,
  texts: Pick<EntryTexts, "absence">,
): string {
  return texts.absence({ kind, from: time.minute(from), to: time.minute(to) }).trim();
}

export function estimateMessage(message: ModelMessage): number {
  let tokens = estimateTokens(message.text) + MESSAGE_OVERHEAD;
  if (message.role === "assistant") {
    for (const call of message.calls)
      tokens += estimateTokens(call.name + objectJson(call.arguments)) + MESSAGE_OVERHEAD;
  }
  return tokens;
}

/** Estimated tokens of a message that joins the one before it: a line break replaces the role and its marks. */
export function joinedTokens(tokens: number): number {
  return tokens - MESSAGE_OVERHEAD + LINE_BREAK_TOKENS;
}
