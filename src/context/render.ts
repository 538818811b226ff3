import {
  type Absence,
  type AssistantEntry,
  type Entry,
  type EntryReference,
  objectJson,
  QUOTE_TOKENS,
  type RememberedStatement,
  type ToolCallEntry,
  type ToolResultEntry,
  type UserEntry,
} from "../core/entry.ts";
import type { ModelMessage, ToolSpec } from "../core/context.ts";
import type { AgentId } from "../core/ids.ts";
import { isDueWork } from "../core/message.ts";
import { type Summary, type SummarySpan, viewOrder } from "../core/history.ts";
import { capMessage, capText } from "./cap.ts";
import { escapeLabels } from "./labels.ts";
import { stubOf, type StubSize } from "./stub.ts";
import { headForm, type HeadForm, lineHead, type LineBefore } from "../text/line-head.ts";
import { counted, displayName } from "../text/text.ts";
import { formatDays, type TimeFormat } from "../text/time.ts";
import { estimateTokens, LINE_BREAK_TOKENS, MESSAGE_OVERHEAD } from "../text/tokens.ts";

/** The texts that entries need besides their own; the templates in `prompts/` have them. */
export interface EntryTexts {
  editNote(values: { author: string; original: string; text: string }): string;
  /** @param values.from, values.to the times between which something was not heard */
  absence(values: { kind: Absence["kind"]; from: string; to: string }): string;
  deleted(): string;
  /** What a user says first, where an assistant would. */
  opening(): string;
  /** What an assistant says of a turn that ended behind its calls. */
  closing(): string;
  /** What stands before the pictures of a tool's result. @param values.call which of the `calls` made at once, from 1 */
  resultImages(values: { tool: string; count: number; call: number; calls: number }): string;
}

/** An entry as the model reads it. */
export interface Rendered {
  readonly entry: Entry;
  /** Null: the model is not shown it. */
  readonly message: ModelMessage | null;
  readonly tokens: number;
  /** What the head of the next line depends on. */
  readonly line: LineBefore | null;
}

/** What a person said, as its line has it. */
interface Said {
  readonly minute: string;
  /** Who said it: the same name may be another person's. Null: nobody, it is work of Weir's own. */
  readonly speaker: string | null;
  /** The entry's own text, escaped. */
  readonly body: string;
  readonly form: HeadForm;
  readonly head: string;
  /** Of head and body. */
  readonly tokens: number;
}

/** A message that stands for no entry. */
interface RenderedText {
  readonly message: ModelMessage;
  readonly tokens: number;
}

/** How much of an entry is shown. */
export interface RenderOptions {
  /** Longest text, in tokens; undefined: all of it. */
  readonly cap?: number;
  /** An old tool result in its short form. */
  readonly stub?: boolean;
}

/** Whose requests a renderer is for: what other agents said is a line with their name, and what they called is not shown. */
export interface Perspective {
  /** Null: the channel's own agent. */
  readonly self: AgentId | null;
  /** @param agent null: the channel's own */
  nameOf(agent: AgentId | null): string;
}

const OF_CHANNEL: Perspective = { self: null, nameOf: (agent) => agent ?? "you" };

const STUB_SIZE: StubSize = { stubOver: 400, stubLength: 200 };

/**
 * Renders entries, each once: neither an entry nor the line before it changes while both are in the view, so its bytes do not
 * either, and the prefix of the request stays what the provider has cached.
 */
export class Renderer {
  readonly #time: TimeFormat;
  readonly #texts: EntryTexts;
  readonly #stub: StubSize;
  readonly #as: Perspective;
  readonly #whole = new WeakMap<Entry, Omit<Rendered, "line">>();
  /** Head and text apart: together they would be a copy of the entry's text. */
  readonly #said = new WeakMap<Entry, Said>();
  readonly #toolTokens = new WeakMap<readonly ToolSpec[], number>();
  /** A summary stays for many turns, and is counted once. */
  readonly #summaries = new WeakMap<Summary, RenderedText>();
  #system: RenderedText | null = null;
  readonly #fillers: Partial<Record<"opening" | "closing", RenderedText>> = {};

  constructor(time: TimeFormat, texts: EntryTexts, stub = STUB_SIZE, as: Perspective = OF_CHANNEL) {
    this.#time = time;
    this.#texts = texts;
    this.#stub = stub;
    this.#as = as;
  }

  /** @param before the line before it in the same request; null: it is the first */
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

  /** Estimated tokens of each of these entries, as a request shows them all with old tool results in their short form. */
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

  /** The system prompt as a message; it is the same for request after request, and counted once. */
  system(text: string): RenderedText {
    if (this.#system?.message.text === text) return this.#system;
    const message: ModelMessage = { role: "system", text };
    this.#system = { message, tokens: estimateMessage(message) };
    return this.#system;
  }

  /** `[Compaction Summary]: (2026-05-01 10:00 – 05-03 18:20, 120 messages) …`; the static prompt says what that is. */
  summary(summary: Summary): RenderedText {
    const known = this.#summaries.get(summary);
    if (known !== undefined) return known;
    const text = `${summaryLabel(this.#time, summary.span)} ${withQuotedLines(summary.text)}`;
    const message: ModelMessage = { role: "user", text };
    const made = { message, tokens: estimateMessage(message) };
    this.#summaries.set(summary, made);
    return made;
  }

  /** What stands where a role's turn would be missing. */
  filler(kind: "opening" | "closing"): RenderedText {
    const known = this.#fillers[kind];
    if (known !== undefined) return known;
    const message: ModelMessage =
      kind === "opening"
        ? { role: "user", text: this.#texts.opening() }
        : { role: "assistant", text: this.#texts.closing(), calls: [] };
    return (this.#fillers[kind] = { message, tokens: estimateMessage(message) });
  }

  /** What a model reads before the pictures of a result. */
  imagesText(values: Parameters<EntryTexts["resultImages"]>[0]): string {
    return this.#texts.resultImages(values);
  }

  /** Estimated tokens of the tools, counted once. */
  toolTokens(tools: readonly ToolSpec[]): number {
    if (tools.length === 0) return 0;
    const known = this.#toolTokens.get(tools);
    if (known !== undefined) return known;
    const tokens = estimateTokens(JSON.stringify(tools)) + tools.length * 8;
    this.#toolTokens.set(tools, tokens);
    return tokens;
  }

  /** `[2026-11-21 14:05] NAME: text`, the form of what a person said where it stands alone. */
  line(at: Date, author: string, text: string): string {
    return lineHead("dated", this.#time.minute(at), `${displayName(author)}: `) + escapeLabels(text);
  }

  /** The head of such a line behind another one: it says only what that one does not. @param before null: there is none */
  lineHeadBehind(at: Date, author: string, before: Date | null): string {
    const minute = this.#time.minute(at);
    const line = before === null ? null : { minute: this.#time.minute(before), speaker: null };
    return lineHead(headForm({ minute, speaker: null }, line), minute, `${displayName(author)}: `);
  }

  /**
   * `[2026-11-21] NAME (event of 2026-12-03): statement`, the form of everything that is remembered; with the days where it does
   * not name them.
   */
  memoryLine({ at, assertedBy, type, refers, statement, otherwise = [] }: RememberedStatement): string {
    const isNamed = refers === undefined || statement.includes(refers.from);
    const days = isNamed ? "" : ` of ${formatDays(refers)}`;
    const others = otherwise.map(
      (other) => `; ${displayName(other.assertedBy)} said otherwise on ${this.#time.day(other.at)}`,
    );
    const head = `[${this.#time.day(at)}] ${displayName(assertedBy)} (${type}${days}${others.join("")})`;
    return `${head}: ${escapeLabels(statement)}`;
  }

  /** Who said a quoted line, as these requests name them. */
  authorOf({ author, agent }: Pick<EntryReference, "author" | "agent">): string {
    // Nobody else has that name.
    if (agent === undefined && author !== "you") return author;
    const by = agent ?? null;
    return by === this.#as.self ? "you" : this.#as.nameOf(by);
  }

  /** Something that another agent wrote. */
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
      ? { key: null, who: `[Weir: ${displayName(name)}] ` }
      : { key: `${id}\n${name}`, who: `${displayName(name)}: ` };
  }

  #saidBehind(entry: UserEntry | AssistantEntry, before: LineBefore | null): Said {
    const known = this.#said.get(entry);
    const { key, who } = this.#speaker(entry);
    const line = known ?? { minute: this.#time.minute(entry.at), speaker: key };
    const form = headForm(line, before);
    if (known?.form === form) return known;
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
        // A request shows no message without a word.
        return entry.text.trim() === "" ? null : { role: "assistant", text: entry.text, calls: [] };
      case "tool_call":
        return { role: "assistant", text: entry.text, calls: entry.calls };
      case "tool_result":
        return { role: "tool", callId: entry.callId, text: this.toolText(entry) };
      case "notice":
        return this.#note(entry);
    }
  }

  /** Failures that a person was told of are not the agent's words; an edit, or what was not heard, is news that it must read. */
  #note(entry: Entry & { kind: "notice" }): ModelMessage | null {
    if (entry.absence !== undefined)
      return { role: "user", text: absenceText(entry.absence, this.#time, this.#texts) };
    if (entry.edits === null || entry.text === "") return null;
    const { author, at } = entry.edits;
    const values = {
      author: displayName(author),
      original: this.#time.minute(at),
      text: escapeLabels(entry.text),
    };
    return { role: "user", text: this.#texts.editNote(values).trim() };
  }

  /** What a model reads of the result of a call. */
  toolText({
    text,
    deleted,
    references,
    memories,
  }: Pick<ToolResultEntry, "text" | "deleted" | "references" | "memories">): string {
    const quoted = references.map((reference) =>
      this.line(
        reference.at,
        this.authorOf(reference),
        capText(reference.text ?? this.#texts.deleted(), QUOTE_TOKENS),
      ),
    );
    const remembered = memories.map(({ memory }) =>
      memory === null ? this.#texts.deleted() : this.memoryLine(memory),
    );
    const own = deleted ? this.#texts.deleted() : escapeLabels(text);
    return [own, ...quoted, ...remembered].filter((line) => line !== "").join("\n");
  }
}

const SUMMARY_LABEL = "[Compaction Summary]:";
/** The longest label of a summary as a message has it, in estimated tokens. */
export const SUMMARY_LABEL_TOKENS = 40;

/** What stands before a summary that a model is shown. */
export function summaryLabel(time: TimeFormat, span: SummarySpan | null): string {
  return span === null ? SUMMARY_LABEL : `${SUMMARY_LABEL} ${spanNote(time, span)}`;
}

/** A summary may quote lines with their heads; quoted so, none of them is read as a new message after the summary. */
export function withQuotedLines(text: string): string {
  return text.replaceAll("\n[", "\n> [");
}

/** `(2026-05-01 10:00 – 05-03 18:20, 120 messages)`; of the end stands what differs from the beginning. */
export function spanNote(time: TimeFormat, { messages, firstAt, lastAt }: SummarySpan): string {
  const [first, last] = [time.minute(firstAt), time.minute(lastAt)];
  const isSame = (length: number): boolean => first.slice(0, length) === last.slice(0, length);
  const end = isSame("2026-05-01 ".length) ? last.slice("2026-05-01 ".length) : last.slice(isSame(5) ? 5 : 0);
  const times = first === last ? first : `${first} – ${end}`;
  return `(${times}, ${counted(messages, "message")})`;
}

/** What was not heard, in words. */
export function absenceText(
  { kind, from, to }: Absence,
  time: Pick<TimeFormat, "minute">,
  texts: Pick<EntryTexts, "absence">,
): string {
  return texts.absence({ kind, from: time.minute(from), to: time.minute(to) }).trim();
}

/** Estimated tokens of one message of a request. */
export function estimateMessage(message: ModelMessage): number {
  let tokens = estimateTokens(message.text) + MESSAGE_OVERHEAD;
  if (message.role === "assistant") {
    for (const call of message.calls)
      tokens += estimateTokens(call.name + objectJson(call.arguments)) + MESSAGE_OVERHEAD;
  }
  return tokens;
}

/** Estimated tokens of a message that joins the one before it: a line break stands for the role and the marks round it. */
export function joinedTokens(tokens: number): number {
  return tokens - MESSAGE_OVERHEAD + LINE_BREAK_TOKENS;
}
