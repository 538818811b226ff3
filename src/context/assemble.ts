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
import { type History, type TurnRange, turnView } from "../core/history.ts";
import type { Seq } from "../core/ids.ts";
import type { LineBefore } from "../text/line-head.ts";
import { type Pruning, stubbedTo } from "./pruning.ts";
import { estimateMessage, joinedTokens, type Renderer, type RenderOptions } from "./render.ts";

/** The values of the dynamic part: never stored, made anew for each turn. */
export interface DynamicPart {
  /**
   * Its text and what that is made of beside its own words, given the omission as it stands.
   * @param room tokens that names and recalled passages may take; undefined: as many as they like
   * @param due messages that stand before it and wait for the answer; default: none
   */
  make(
    omission: History["omission"],
    room?: number,
    due?: number,
  ): { readonly text: string; readonly sections: readonly Section[] };
}

/** Pictures of a message that is to be answered. */
export interface DueImages {
  /** The platform's id of the message. */
  readonly messageId: string;
  readonly images: readonly ModelImage[];
}

/** Pictures that a tool has brought. */
export interface ResultImages {
  /** Of the result. */
  readonly seq: Seq;
  readonly images: readonly ModelImage[];
}

/** All that a context is made of. */
export interface ContextSources {
  readonly tools: readonly ToolSpec[];
  /** Identity, policy, instructions, the date: the same bytes all day. */
  readonly system: string;
  /** What of the system prompt comes from the agent's folder. */
  readonly sections: readonly Section[];
  /** Null: there was nothing to choose from. */
  readonly focus: Focus | null;
  readonly history: History;
  readonly turn: TurnRange;
  readonly dynamic: DynamicPart;
  /** Shown with the messages to answer, and in no later turn: so the prefix stays. */
  readonly images: readonly DueImages[];
  /** Shown behind this turn's results, and in no later turn. */
  readonly resultImages: readonly ResultImages[];
  readonly renderer: Renderer;
  /** Which results of tools are shown in their short form; default: all of earlier turns. */
  readonly pruning?: Pruning;
}

/** What is left out of a request; none of it touches the log. */
export interface Trims {
  /** Longest item of a part, in tokens. */
  readonly cap: { readonly before?: number; readonly due?: number; readonly own?: number };
  /** Room for names and recalled passages, in tokens. */
  readonly room?: number;
  /** All results of earlier turns are shown in their short form, whatever the agent is to keep whole. */
  readonly stubs?: true;
  /** Pictures are not shown. */
  readonly withoutImages?: true;
  /** Calls and results before here are not shown. */
  readonly callsFrom?: Seq;
}

export const NO_TRIMS: Trims = { cap: {} };

/** Puts a context together, from the most to the least stable part. Pure. */
export function assemble(sources: ContextSources, trims: Trims = NO_TRIMS): Context {
  const { pruning } = sources;
  if (pruning === undefined || pruning.fromTokens <= 0 || trims.stubs === true)
    return assembleWith(sources, trims, pruning);
  const whole = assembleWith(sources, trims, null);
  return whole.tokens < pruning.fromTokens ? whole : assembleWith(sources, trims, pruning);
}

/** @param pruning null: results stay whole; undefined: those of earlier turns are short */
function assembleWith(sources: ContextSources, trims: Trims, pruning: Pruning | null | undefined): Context {
  const { tools, system, sections, focus, history, turn, dynamic, renderer } = sources;
  const view = turnView(history, turn);
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
      if (message !== null) shown.push({ entry, message, tokens });
    }
    return shown;
  };
  const cap = (limit: number | undefined): Pick<RenderOptions, "cap"> =>
    limit === undefined ? {} : { cap: limit };
  // By default results are short from the next turn on: these messages have been in no request's prefix before.
  const stubsTo = trims.stubs === true ? Infinity : stubbedTo(view.before, pruning);
  const before = render(view.before, { ...cap(trims.cap.before), stub: (entry) => entry.seq <= stubsTo });
  const due = render(view.due, cap(trims.cap.due));
  const own = render(view.own, cap(trims.cap.own));
  const now = dynamic.make(history.omission, trims.room, due.length);
  const summaries = history.summaries.filter(({ kind }) => kind !== "reset");
  const turns = new Turns(renderer);
  const isImageless = trims.withoutImages === true;
  const segments = [
    segment("system", "system prompt", [renderer.system(system)]),
    segment("summaries", "summaries", turns.take(summaries.map((summary) => renderer.summary(summary)))),
    segment("history", "raw history", turns.take(before)),
    segment("due", "messages to answer", turns.take(isImageless ? due : withImages(due, sources.images))),
    // Behind the messages to answer, so that these are in the prefix of the next turn's request.
    segment("dynamic", "now, people, recalled", turns.take(counted([{ role: "user", text: now.text }]))),
    segment("turn", "this turn's tool calls", turns.take(isImageless ? own : withResultImages(own, sources))),
  ];
  const toolSegment: Segment = {
    key: "tools",
    label: "tools",
    tokens: renderer.toolTokens(tools),
    count: tools.length,
    messages: [],
  };
  const all = [toolSegment, ...segments];
  return {
    tools,
    sections: [...sections, ...now.sections],
    focus,
    segments: all,
    tokens: all.reduce((sum, { tokens }) => sum + tokens, 0),
  };
}

/** A message and its estimate: rendered entries bring theirs, so that a long channel is not counted again. */
interface Counted {
  readonly message: ModelMessage;
  readonly tokens: number;
}

/** With the entry that it shows: entries that show nothing are left out, so places in the two lists differ. */
interface Shown extends Counted {
  readonly entry: Entry;
}

function counted(messages: readonly ModelMessage[]): Counted[] {
  return messages.map((message) => ({ message, tokens: estimateMessage(message) }));
}

/** Lets pieces take turns: it puts in what has to stand between them, and counts as a line what joins the message before it. */
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

/** What providers count for a picture of usual size, at most; tokens. */
const IMAGE_TOKENS = 1600;

function withImages(shown: readonly Shown[], images: readonly DueImages[]): readonly Counted[] {
  if (images.length === 0) return shown;
  const byMessage = new Map(images.map((one) => [one.messageId, one.images]));
  return shown.map(({ entry, message, tokens }) => {
    const own = entry.kind === "user" && !entry.deleted ? (byMessage.get(entry.messageId) ?? []) : [];
    if (message.role !== "user" || own.length === 0) return { message, tokens };
    return { message: { ...message, images: own }, tokens: tokens + own.length * IMAGE_TOKENS };
  });
}

/** No server takes pictures in a result: they stand in messages behind all results of the same answer. */
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
