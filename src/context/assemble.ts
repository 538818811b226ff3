/**
 * Contexts: what a model reads in a request, and whether it fits the model's window. The room is pure: it renders,
 * measures, trims and orders, and neither reads the store nor calls models.
 */

import type {
  Context,
  Focus,
  ModelImage,
  ModelMessage,
  Section,
  Segment,
  SegmentKey,
  ToolSpec,
} from "../core/context.ts";
import { isWordless, joins, missingBetween } from "../core/canonical.ts";
import type { Entry } from "../core/entry.ts";
import { type History, type TurnRange, type TurnView, turnView } from "../core/history.ts";
import type { Seq, TurnId } from "../core/ids.ts";
import type { LineBefore } from "../text/line-head.ts";
import { estimateMessage, joinedTokens, type Renderer, type RenderOptions } from "./render.ts";

/** The part that is made again for each turn, and never stored. */
export interface DynamicPart {
  /**
   * Its text and the sections in it, by the present omission.
   * @param room tokens for names and recalled passages; undefined: no limit
   * @param due number of messages before it that wait for the answer; default: none
   */
  make(
    omission: History["omission"],
    room?: number,
    due?: number,
    /** Tokens for recalled passages alone; default: no limit. */
    recalled?: number,
  ): { readonly text: string; readonly sections: readonly Section[] };
}

export interface DueImages {
  readonly messageId: string;
  readonly images: readonly ModelImage[];
}

export interface ResultImages {
  /** The result's. */
  readonly seq: Seq;
  readonly images: readonly ModelImage[];
}

export interface ContextSources {
  readonly tools: readonly ToolSpec[];
  /** Identity, policy, instructions, the date: the same bytes all day. */
  readonly system: string;
  /** The system prompt's sections from the agent's folder. */
  readonly sections: readonly Section[];
  /** Null: no section could depend on it. */
  readonly focus: Focus | null;
  readonly history: History;
  readonly turn: TurnRange;
  readonly dynamic: DynamicPart;
  /** Shown with the messages to answer, and in no later turn, so that the prefix stays. */
  readonly images: readonly DueImages[];
  /** Shown after this turn's results, and in no later turn. */
  readonly resultImages: readonly ResultImages[];
  readonly renderer: Renderer;
  /** Which tool results are shortened; default: all of earlier turns. */
  readonly pruning?: Pruning;
}

/** Cuts of a request. None touches the log. */
export interface Trims {
  /** Longest item of a part, in tokens. */
  readonly cap: { readonly before?: number; readonly due?: number; readonly own?: number };
  /** Room for names and recalled passages, in tokens. */
  readonly room?: number;
  /** Room for recalled passages alone, in tokens. */
  readonly recalled?: number;
  /** Shortens all results of earlier turns, whatever the agent keeps whole. */
  readonly stubs?: true;
  readonly withoutImages?: true;
  /** Leaves out calls and results before this entry. */
  readonly callsFrom?: Seq;
}

export const NO_TRIMS: Trims = { cap: {} };

/** Assembles a context, from the most to the least stable part. Pure. */
export function assemble(sources: ContextSources, trims: Trims = NO_TRIMS): Context {
  const { pruning } = sources;
  if (pruning === undefined || pruning.fromTokens <= 0 || trims.stubs === true)
    return assembleWith(sources, trims, pruning);
  const whole = assembleWith(sources, trims, null);
  return whole.tokens < pruning.fromTokens ? whole : assembleWith(sources, trims, pruning);
}

/** @param pruning null: results stay whole; undefined: those of earlier turns are shortened */
function assembleWith(sources: ContextSources, trims: Trims, pruning: Pruning | null | undefined): Context {
  const { tools, system, sections, focus, history, turn, dynamic, renderer } = sources;
  const view = turnView(history, turn);
  const steering = takenIn(view);
  let lineBefore: LineBefore | null = null;
  const render = (
    entries: readonly Entry[],
    { stub, ...options }: Pick<RenderOptions, "cap"> & { readonly stub?: (entry: Entry) => boolean },
  ): Shown[] => {
    const shown: Shown[] = [];
    for (const entry of entries) {
      if (trims.callsFrom !== undefined && isToolEntry(entry) && entry.seq < trims.callsFrom) continue;
      const { message, tokens, line } = renderer.render(
        entry,
        { ...options, stub: stub?.(entry) ?? false },
        lineBefore,
      );
      lineBefore = line;
      if (message === null) continue;
      const isSteering = message.role === "user" && steering.has(entry);
      shown.push({ entry, message: isSteering ? { ...message, isSteering } : message, tokens });
    }
    return shown;
  };
  const cap = (limit: number | undefined): Pick<RenderOptions, "cap"> =>
    limit === undefined ? {} : { cap: limit };
  // By default results are shortened from the next turn on, since these messages have been in no request's prefix yet.
  const stubsTo = trims.stubs === true ? Infinity : stubbedTo(view.before, pruning);
  const before = render(view.before, { ...cap(trims.cap.before), stub: (entry) => entry.seq <= stubsTo });
  const due = render(view.due, cap(trims.cap.due));
  const own = render(view.own, cap(trims.cap.own));
  const now = dynamic.make(history.omission, trims.room, due.length, trims.recalled);
  const summaries = history.summaries.filter(({ kind }) => kind !== "reset");
  const turns = new Turns(renderer);
  const isImageless = trims.withoutImages === true;
  const pictured = (shown: readonly Shown[]): readonly Shown[] =>
    isImageless ? shown : withImages(shown, sources.images);
  const segments = [
    segment("system", "system prompt", [renderer.system(system)]),
    segment("summaries", "summaries", turns.take(summaries.map((summary) => renderer.summary(summary)))),
    segment("history", "raw history", turns.take(before)),
    segment("due", "messages to answer", turns.take(pictured(due))),
    // After the messages to answer, which are thus in the prefix of the next turn's request.
    segment("dynamic", "now, people, recalled", turns.take([counted({ role: "user", text: now.text })])),
    segment(
      "turn",
      "this turn's tool calls",
      turns.take(isImageless ? own : withResultImages(pictured(own), sources)),
    ),
  ];
  const toolTokens = renderer.toolTokens(tools);
  const all: Segment[] = [
    { key: "tools", label: "tools", tokens: toolTokens, count: tools.length, messages: [] },
    ...segments,
  ];
  return {
    tools,
    sections: [...sections, ...now.sections],
    focus,
    segments: all,
    tokens: all.reduce((sum, { tokens }) => sum + tokens, 0),
  };
}

/** The messages that turns have taken in: between entries of one turn, or behind those of the running one. */
function takenIn({ before, own }: TurnView): ReadonlySet<Entry> {
  const taken = new Set<Entry>();
  let turn: TurnId | null = null;
  let behind: Entry[] = [];
  for (const entry of [...before, ...own]) {
    if (!("turnId" in entry)) behind.push(entry);
    else {
      if (entry.turnId === turn) for (const one of behind) taken.add(one);
      turn = entry.turnId;
      behind = [];
    }
  }
  if (own.length > 0) for (const one of behind) taken.add(one);
  return taken;
}

/** A message with its estimate. Rendered entries bring theirs, so that a long channel is not measured again. */
interface Counted {
  readonly message: ModelMessage;
  readonly tokens: number;
}

/** With its entry: entries without a message are left out, so places in the two lists differ. */
interface Shown extends Counted {
  readonly entry: Entry;
}

function counted(message: ModelMessage): Counted {
  return { message, tokens: estimateMessage(message) };
}

/** Alternates roles: inserts missing fillers, and counts a message that joins the one before it as a line. */
class Turns {
  readonly #renderer: Renderer;
  #before: ModelMessage | null = null;

  constructor(renderer: Renderer) {
    this.#renderer = renderer;
  }

  take(pieces: readonly Counted[]): Counted[] {
    const taken: Counted[] = [];
    for (const { message, tokens } of pieces) {
      if (isWordless(message)) continue;
      const missing = missingBetween(this.#before, message);
      if (missing !== null) this.#push(taken, this.#renderer.filler(missing));
      this.#push(taken, { message, tokens });
    }
    return taken;
  }

  #push(taken: Counted[], { message, tokens }: Counted): void {
    const isJoined = this.#before !== null && joins(this.#before, message);
    taken.push({ message, tokens: isJoined ? joinedTokens(tokens) : tokens });
    this.#before = message;
  }
}

/** Most tokens that providers count for a picture of usual size. */
const IMAGE_TOKENS = 1600;

function withImages(shown: readonly Shown[], images: readonly DueImages[]): readonly Shown[] {
  if (images.length === 0) return shown;
  const byMessage = new Map(images.map((one) => [one.messageId, one.images]));
  return shown.map(({ entry, message, tokens }) => {
    const own = entry.kind === "user" && !entry.deleted ? (byMessage.get(entry.messageId) ?? []) : [];
    if (message.role !== "user" || own.length === 0) return { entry, message, tokens };
    return { entry, message: { ...message, images: own }, tokens: tokens + own.length * IMAGE_TOKENS };
  });
}

/** Servers take no pictures in a result, so these follow all results of the same answer as messages. */
function withResultImages(
  shown: readonly Shown[],
  { resultImages, renderer }: Pick<ContextSources, "resultImages" | "renderer">,
): readonly Counted[] {
  if (resultImages.length === 0) return shown;
  const bySeq = new Map(resultImages.map(({ seq, images }) => [seq, images]));
  const all: Counted[] = [];
  let results: Entry[] = [];
  for (const [index, one] of shown.entries()) {
    all.push(one);
    results = one.entry.kind === "tool_result" ? [...results, one.entry] : [];
    if (shown[index + 1]?.entry.kind === "tool_result") continue;
    for (const [place, result] of results.entries()) {
      const images = bySeq.get(result.seq) ?? [];
      if (result.kind !== "tool_result" || result.deleted || images.length === 0) continue;
      const values = { tool: result.tool, count: images.length, call: place + 1, calls: results.length };
      const message: ModelMessage = {
        role: "user",
        text: renderer.imagesText(values),
        images,
        isOfImages: true,
      };
      all.push({ message, tokens: estimateMessage(message) + images.length * IMAGE_TOKENS });
    }
  }
  return all;
}

function segment(key: SegmentKey, label: string, parts: readonly Counted[]): Segment {
  const tokens = parts.reduce((sum, part) => sum + part.tokens, 0);
  return { key, label, tokens, count: parts.length, messages: parts.map(({ message }) => message) };
}

export function isToolEntry(entry: Entry): boolean {
  return entry.kind === "tool_call" || entry.kind === "tool_result";
}

/** Which tool results of earlier turns a request shortens. */
export interface Pruning {
  /** Turns before the running one whose results stay whole. Every turn with an entry in the view counts, even without calls. */
  readonly wholeTurns: number;
  /** Number of turns whose results are shortened at once. */
  readonly stepTurns: number;
  /** Estimated tokens of the whole request below which all results stay whole. */
  readonly fromTokens: number;
}

/**
 * The last entry whose result is shortened. It moves in steps of whole turns, since each move changes a prefix that the
 * provider has cached. Pure: it depends on the entries alone.
 * @param entries of earlier turns, in the order of the view
 * @param pruning null: all results stay whole; undefined: none does
 */
export function stubbedTo(entries: readonly Entry[], pruning: Pruning | null | undefined): Seq {
  if (pruning === null) return 0;
  if (pruning === undefined || pruning.wholeTurns === 0) return Infinity;
  // A turn is identified by the last message that it answers.
  const last = new Map<Seq, Seq>();
  for (const entry of entries)
    if (entry.kind !== "user" && entry.after !== null) last.set(entry.after, entry.seq);
  const ends = [...last.values()];
  const old = Math.max(0, ends.length - pruning.wholeTurns);
  const short = Math.floor(old / pruning.stepTurns) * pruning.stepTurns;
  return ends[short - 1] ?? 0;
}
