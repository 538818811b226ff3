import { contentParts, type TextEnd } from "../../core/canonical.ts";
import { type ModelImage, type ModelMessage, messageCharacters } from "../../core/context.ts";
import { estimateTokens } from "../../text/tokens.ts";
import type { ModelRequest } from "../model.ts";
import { chooseLife } from "./life.ts";
import type { CacheLife, CacheRule } from "./rules.ts";

export type CachedRequest = Pick<ModelRequest, "messages" | "tools" | "stableEnds" | "waits">;

/** A place that splits a message's text into parts, so that the parts before it are the same in the next request. */
export interface PartEnd extends TextEnd {
  /** The part that ends here carries a mark. */
  readonly isMarked: boolean;
}

export interface CacheMarks extends CacheFields {
  /** Ascending; one message may have several. */
  readonly ends: readonly PartEnd[];
}

const UNMARKED: CacheMarks = { ends: [], ofPart: {}, ofRequest: {} };

/** Turns before the last one whose ends are marked again, since the last turn's request may have failed. */
const REPEATED_TURNS = 2;
/** Anthropic looks for cached parts up to 20 parts before a mark; some messages are split into several. */
const LOOKED_BACK = 15;

/**
 * The marks of a request for a provider's cache. A provider finds an entry only at a mark: so besides the ends of the
 * stable parts, it marks the ends of earlier turns, which their own requests have marked. In a loop of tools it marks
 * the newest result from the second round on, since most such loops continue. Pure.
 * @param rule undefined: no marks
 * @param takesResults the wire can mark a tool's result
 * @param known the life to ask for, or null for none; default: chosen by the pace
 */
export function cacheMarks(
  request: CachedRequest,
  rule: CacheRule | undefined,
  takesResults: boolean,
  known?: CacheLife | null,
): CacheMarks {
  if (rule === undefined || rule.marks === "none") return UNMARKED;
  const { messages, stableEnds = [], waits = [] } = request;
  const stable = distinct(stableEnds.flatMap((end) => markable(messages, end) ?? []));
  const current = stable.at(-1);
  const from = firstCacheable(request, rule.least);
  const isLong = (end: TextEnd): boolean => compareEnds(end, from) >= 0;
  const before = current === undefined ? [] : earlierTurns(messages, current);
  const loop = takesResults && current !== undefined ? endOfLoop(messages, current) : undefined;
  const chosen =
    known === undefined ? chooseLife(rule, waits, freshShare(messages, before[0], current)) : known;
  // The next request of a loop comes at once, however rare the turns are.
  const life = loop === undefined ? chosen : (chosen ?? rule.lives[0]);
  const isCold = waits.length > 0 && (waits.at(-1) ?? 0) > Math.max(...rule.lives.map(({ ms }) => ms));
  // Writing is not worth it; earlier entries are still read.
  if (life === null)
    return {
      ...withEnds(stable, isCold ? [] : before.slice(0, 1).filter(isLong)),
      ...cacheFieldsOf(rule, rule.lives[0]),
    };
  const wanted = [
    current,
    loop,
    ...(rule.marks === "cache_control" && isNear(messages, before[0], current) ? [] : before.slice(0, 1)),
    stable.at(-2),
    stable[0],
    ...before.slice(0, REPEATED_TURNS),
    ...stable.toReversed(),
  ];
  const marked = distinct(wanted.filter((end) => end !== undefined).filter(isLong)).slice(0, rule.most);
  return { ...withEnds(stable, marked), ...cacheFieldsOf(rule, life) };
}

function withEnds(stable: readonly TextEnd[], marked: readonly TextEnd[]): Pick<CacheMarks, "ends"> {
  const ends = distinct([...marked, ...stable]).toSorted(compareEnds);
  const isMarked = (end: TextEnd): boolean => marked.some((one) => compareEnds(one, end) === 0);
  return { ends: ends.map((end) => ({ ...end, isMarked: isMarked(end) })) };
}

export interface MarkedPart {
  readonly text: string;
  readonly isMarked: boolean;
}

export function markedParts(
  message: ModelMessage,
  ends: readonly PartEnd[],
): (MarkedPart | { readonly image: ModelImage })[] {
  const marked = new Set(ends.flatMap(({ length, isMarked }) => (isMarked ? [length] : [])));
  let length = 0;
  return contentParts(
    message,
    ends.map((end) => end.length),
  ).map((part) => {
    if ("image" in part) return part;
    length += part.text.length;
    return { text: part.text, isMarked: marked.has(length) };
  });
}

/** The end itself, or the end of the last text before it that can carry a mark. */
function markable(messages: readonly ModelMessage[], { message, length }: TextEnd): TextEnd | undefined {
  const last = Math.min(message, messages.length - 1);
  for (let place = last; place >= 0; place--) {
    const one = messages[place];
    if (one === undefined || (one.role !== "system" && one.role !== "user")) continue;
    const end = place === message ? Math.min(length, one.text.length) : one.text.length;
    // An empty text takes no mark.
    if (one.text.slice(0, end).trim() !== "") return { message: place, length: end };
  }
  return undefined;
}

/** Ends of earlier turns, newest first: of people's texts before an assistant's message. */
function earlierTurns(messages: readonly ModelMessage[], current: TextEnd): TextEnd[] {
  const ends: TextEnd[] = [];
  for (let place = current.message - 1; place >= 0 && ends.length < REPEATED_TURNS; place--) {
    const one = messages[place];
    if (one?.role !== "user" || one.text.trim() === "" || messages[place + 1]?.role !== "assistant") continue;
    ends.push({ message: place, length: one.text.length });
  }
  return ends;
}

function endOfLoop(messages: readonly ModelMessage[], current: TextEnd): TextEnd | undefined {
  const own = messages.slice(current.message + 1);
  const last = own.findLastIndex(({ role, text }) => role === "tool" && text.trim() !== "");
  const rounds = own.filter(({ role }) => role === "assistant").length;
  const result = own[last];
  if (rounds < 2 || result === undefined) return undefined;
  return { message: current.message + 1 + last, length: result.text.length };
}

/**
 * Whether the ends are few enough parts apart for Anthropic's cache lookup back from the later one to reach the
 * earlier.
 */
function isNear(
  messages: readonly ModelMessage[],
  before: TextEnd | undefined,
  current: TextEnd | undefined,
): boolean {
  if (before === undefined || current === undefined) return true;
  const between = messages.slice(before.message, current.message + 1);
  const parts = between.reduce((sum, one) => sum + 1 + (one.role === "assistant" ? one.calls.length : 0), 0);
  return parts <= LOOKED_BACK;
}

/** The first place with enough estimated tokens before it; if none has, after all messages. */
function firstCacheable({ messages, tools }: CachedRequest, least: number): TextEnd {
  let tokens = tools.length === 0 ? 0 : estimateTokens(JSON.stringify(tools));
  for (const [place, message] of messages.entries()) {
    const own = estimateTokens(message.text);
    if (tokens + own >= least) {
      const share = Math.max(0, least - tokens) / Math.max(1, own);
      return { message: place, length: Math.ceil(share * message.text.length) };
    }
    tokens += own;
  }
  return { message: messages.length, length: 0 };
}

/** The share of the cached text that the last turn has added. */
function freshShare(
  messages: readonly ModelMessage[],
  before: TextEnd | undefined,
  current: TextEnd | undefined,
): number | undefined {
  if (before === undefined || current === undefined) return undefined;
  const charactersOf = (some: readonly ModelMessage[]): number =>
    some.reduce((sum, one) => sum + messageCharacters(one), 0);
  const fresh = charactersOf(messages.slice(before.message + 1, current.message + 1));
  return fresh / Math.max(1, charactersOf(messages.slice(0, current.message + 1)));
}

function distinct(ends: readonly TextEnd[]): TextEnd[] {
  return ends.filter((end, index) => ends.findIndex((one) => compareEnds(one, end) === 0) === index);
}

function compareEnds(a: TextEnd, b: TextEnd): number {
  return a.message - b.message || a.length - b.length;
}

/** A request's cache settings in the fields of a provider's API. */
interface CacheFields {
  readonly ofPart: object;
  readonly ofRequest: object;
}

/**
 * The fields that ask for a request's marks. `mode: "explicit"` keeps OpenAI from marking the latest message, which
 * changes with each request and would be written each time.
 */
function cacheFieldsOf({ marks }: Pick<CacheRule, "marks">, { ttl }: Pick<CacheLife, "ttl">): CacheFields {
  const asked = ttl === undefined ? {} : { ttl };
  switch (marks) {
    case "none":
      return { ofPart: {}, ofRequest: {} };
    case "breakpoints":
      return {
        ofPart: { prompt_cache_breakpoint: { mode: "explicit", ...asked } },
        ofRequest: { prompt_cache_options: { mode: "explicit" } },
      };
    case "cache_control":
      return { ofPart: { cache_control: { type: "ephemeral", ...asked } }, ofRequest: {} };
  }
}
