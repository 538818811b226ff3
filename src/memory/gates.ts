import { z } from "zod";
import type { Entry, ToolResultEntry, UserEntry } from "../core/entry.ts";
import type { Seq } from "../core/ids.ts";
import { type DayRange, MEMORY_TYPES, type MemoryDraft, type MemorySource } from "../core/memory.ts";
import { isExact, splitSentences, tellingTerms } from "../text/terms.ts";
import { displayName, storableLine } from "../text/text.ts";
import { authorOf, mayBear, type Source, whereSaid, Words } from "./line-terms.ts";
import { isInstruction } from "./planted-instructions.ts";
import { holdsSecret } from "./secrets.ts";
import { marksOf } from "./statement-marks.ts";
import { bareTerm, TERM_WORDS } from "./explained-terms.ts";
import { isShown, seenFault, type ShownResult, shownResult } from "./seen-by-tool.ts";
import { isNamed, namedTimes, parseTime, statedTime } from "./named-times.ts";
import { hasRelativeDate } from "./relative-dates.ts";
import { type Fault, type LineContext, statedFault, supportFault } from "./support-gate.ts";
export type { Fault, LineContext } from "./support-gate.ts";
import { containsQuote, countWords, normalWords } from "../text/normal-text.ts";

/** Deterministic checks of the memories that a model proposes. Pure. */

const MAX_MEMORIES = 20;
const MAX_STATEMENT = 500;
const MAX_SUBJECT = 80;
const MAX_QUOTE = 500;
/** Sources of one memory that are read: a model that repeats itself names the same thousands of times. */
const MAX_SOURCES = 50;
const DEFAULT_IMPORTANCE = 0.5;
/** A word in this many lines does not identify one of them. */
const COMMON_LINES = 4;
/** Fewer words are in every prompt by chance. */
const RESTATED_WORDS = 4;

const Item = z.object({
  type: z
    .enum(MEMORY_TYPES)
    .describe(
      "fact: what is so. preference: what somebody likes or wants. decision: what was settled. commitment: what somebody will do. event: what happens on a day. observation: what somebody noticed. goal: what somebody is after. todo: what is still to be done. identity: who somebody is. term: what a word of theirs means.",
    ),
  subject: z
    .string()
    .describe("Whom or what it is about, in a few words, the same ones each time: Ann, the deploy"),
  statement: z.string(),
  quote: z.string(),
  sources: z.array(z.int().min(1).max(1_000_000)).min(1).describe("Numbers of lines"),
  importance: z
    .number()
    .default(DEFAULT_IMPORTANCE)
    .describe("0 to 1. 0.2: a detail; 0.5: of use again; 0.9: whoever forgets it does harm"),
  refers_to: z
    .string()
    .nullish()
    .describe(
      "The day, month or range of days that the statement tells of: 2026-12-03, 2026-12, 2026-12-01/2026-12-07",
    ),
});
type Item = z.infer<typeof Item>;
const Cited = z.looseObject({ sources: z.array(z.unknown()) });

/** Each item is checked by itself, so that a wrong one does not cost the others. */
const Call = z.object({ memories: z.array(z.unknown()) });

/** The first list of the arguments of `memory_save`. */
export const memoryListSchema = z.array(Item).max(MAX_MEMORIES);

export interface MemoryGateContext extends LineContext {
  /** The agent's and the worker's prompts, whose statements are not memories. */
  readonly promptText: string;
  /**
   * `asked`: somebody asks for their own words to be remembered, as they stand. `proofs`: the lines are those alone that prove it. Default: the
   * lines are a whole transcript, and the statement must stand in them.
   */
  readonly lines?: "asked" | "proofs";
  /** Texts that the model has read beside people's lines. Default: `said` is not recorded. */
  readonly beside?: readonly string[];
  /** Entries with the calls of the lines' results. Default: the lines. */
  readonly calls?: readonly Entry[];
}

export interface CheckedMemories {
  readonly kept: MemoryDraft[];
  /** Rejected items, by their place in the call, each with a reason that a model can act on. */
  readonly dropped: ({ readonly index: number } & Fault)[];
}

/**
 * Checks the arguments of `memory_save`, item by item. A kept memory is storable, has absolute dates, and has at least one
 * source that a person said (for a commitment: or the agent) and that contains its quote; sources without the quote are left
 * out. If the statement has terms that these sources lack, the lines that have them become sources too, so that deleting them
 * deletes the memory. Where nobody has said the quote, results of one tool may prove it: then it is that tool's observation, and
 * rests on them alone. Duplicates within one call are merged.
 * @param input the model's arguments, parsed from JSON but not checked
 */
export function checkMemories(input: unknown, context: MemoryGateContext): CheckedMemories {
  const call = Call.safeParse(input);
  if (!call.success) return { kept: [], dropped: [{ index: 0, ...malformed("memories must be a list") }] };
  // Copies, so that each text is read once.
  const sources = new Map([...context.sources].map(([number, entry]) => [number, { ...entry }]));
  const checking = {
    ...context,
    sources,
    words: new Words(context.beside),
    prompt: normalWords(context.promptText),
  };
  const kept: MemoryDraft[] = [];
  const dropped: ({ index: number } & Fault)[] = [];
  for (const [index, raw] of call.data.memories.entries()) {
    const checked =
      index < MAX_MEMORIES ? checkOne(raw, checking) : malformed(`at most ${MAX_MEMORIES} memories a call`);
    if ("why" in checked) dropped.push({ index, ...checked });
    else kept.push(checked);
  }
  return { kept: mergeMemories(kept), dropped };
}

/** Merges memories with the same statement about the same subject, with all their sources. Pure. */
export function mergeMemories(drafts: readonly MemoryDraft[]): MemoryDraft[] {
  const merged = new Map<string, MemoryDraft>();
  for (const draft of drafts) {
    const key = [draft.tool ?? "", draft.type, normalWords(draft.subject), normalWords(draft.statement)].join(
      "\n",
    );
    const known = merged.get(key);
    merged.set(key, known === undefined ? draft : mergeTwo(known, draft));
  }
  return [...merged.values()];
}

function mergeTwo(known: MemoryDraft, again: MemoryDraft): MemoryDraft {
  const added = again.sources.filter(({ seq }) => !known.sources.some((source) => source.seq === seq));
  const { said: _, ...rest } = known;
  return {
    ...rest,
    importance: Math.max(known.importance, again.importance),
    at: known.at > again.at ? known.at : again.at,
    ...(known.refers === undefined && again.refers !== undefined && { refers: again.refers }),
    ...joinedSaid(known, again),
    sources: [...known.sources, ...added],
  };
}

/** Where two drafts' terms are said. Unknown if either draft has not recorded it. */
function joinedSaid(known: MemoryDraft, again: MemoryDraft): Pick<MemoryDraft, "said"> {
  if (known.said === undefined || again.said === undefined) return {};
  const terms = Object.keys({ ...known.said, ...again.said });
  const seqs = (term: string): Seq[] => [
    ...new Set([...(known.said?.[term] ?? []), ...(again.said?.[term] ?? [])]),
  ];
  return { said: Object.fromEntries(terms.map((term) => [term, seqs(term)])) };
}

interface Checking extends MemoryGateContext {
  readonly words: Words;
  /** Its normal words. */
  readonly prompt: string;
}

function checkOne(raw: unknown, context: Checking): MemoryDraft | Fault {
  const parsed = Item.safeParse(withFewSources(raw));
  if (!parsed.success) return malformed(z.prettifyError(parsed.error).replaceAll(/\s+/g, " "));
  const item = { ...parsed.data, ...tidied(parsed.data) };
  const fault = textFault(item, context.prompt);
  if (fault !== null) return fault;
  const found = findSources(item, context);
  if ("why" in found) return found;
  return found.kind === "seen" ? checkSeen(item, found.seen, context) : checkSaid(item, found.said, context);
}

/** A memory that people's words prove. */
function checkSaid(
  item: Item,
  found: readonly [Source, ...Source[]],
  context: Checking,
): MemoryDraft | Fault {
  const noTerm = item.type === "term" ? termFault(item, found, context.words) : null;
  if (noTerm !== null) return noTerm;
  const unsupported = supportOf(item, found, context);
  if (unsupported !== null) return unsupported;
  const refers = timeOf(item, found, context);
  if (refers !== null && "why" in refers) return refers;
  const [first] = found;
  const telling = tellingTerms(`${item.subject} ${item.statement}`);
  const cited = found.map(({ seq }) => ({ seq, quote: item.quote }));
  const proofs = [...cited, ...furtherSources(telling, found, item.type, context)].slice(0, MAX_SOURCES);
  return {
    ...draftOf(item, found, refers),
    assertedBy: first.kind === "user" ? first.author.name : displayName(context.agentName),
    sources: proofs,
    ...(context.beside !== undefined && {
      said: whereSaid(telling, proofs, context.sources.values(), context.words),
    }),
  };
}

/** A memory that results of a tool prove: whatever kind the model names, it is what the tool saw. */
function checkSeen(
  given: Item,
  seen: readonly [ShownResult, ...ShownResult[]],
  context: Checking,
): MemoryDraft | Fault {
  const item = { ...given, type: "observation" as const };
  // Each result proves all of it: what several prove together would outlive one of them.
  const checked = seen.map((one) => ({ one, fault: seenFault(item, [one], context) }));
  const [first, ...rest] = checked.flatMap(({ one, fault }) => (fault === null ? [one] : []));
  if (first === undefined) return checked[0]?.fault ?? malformed("it has no sources");
  const dated = ({ entry, parts }: ShownResult): Dated => ({ text: parts.join("\n"), at: entry.at });
  const refers = timeOf(item, [dated(first), ...rest.map(dated)], context);
  if (refers !== null && "why" in refers) return refers;
  const tool = displayName(first.entry.tool);
  const results = [first, ...rest].map(({ entry }) => entry);
  return {
    ...draftOf(item, results, refers),
    assertedBy: tool,
    tool,
    sources: results.map(({ seq }) => ({ seq, quote: item.quote })),
  };
}

function draftOf(
  { type, subject, statement, importance }: Item,
  proving: readonly Pick<Entry, "at">[],
  refers: DayRange | null,
): Omit<MemoryDraft, "assertedBy" | "sources"> {
  return {
    type,
    subject,
    statement,
    // In hundredths: the column refuses a number too close to 0, and the whole summary would fail with it.
    importance: Math.round(Math.min(1, Math.max(0, importance)) * 100) / 100,
    at: new Date(Math.max(...proving.map(({ at }) => at.getTime()))).toISOString(),
    telling: [...tellingTerms(`${subject} ${statement}`)],
    ...(refers !== null && { refers }),
    ...marksOf(statement),
  };
}

function supportOf(item: Item, found: readonly Source[], context: Checking): Fault | null {
  if (context.lines === "asked") return null;
  const cited = new Map<number, Source>();
  for (const number of item.sources) {
    const entry = found.find((one) => one === context.sources.get(number));
    if (entry !== undefined) cited.set(number, entry);
  }
  return context.lines === "proofs" ? statedFault(item, cited, context) : supportFault(item, cited, context);
}

/** A cited line must have the term, and the statement must say more than the term. */
function termFault({ subject, statement }: Item, cited: readonly Source[], words: Words): Fault | null {
  const term = bareTerm(subject);
  if (countWords(term) > TERM_WORDS)
    return malformed(`the subject of a term is the term alone, of at most ${TERM_WORDS} words`);
  if (!cited.some((entry) => containsQuote(words.of(entry), term)))
    return { reason: "quote", why: "the term, as subject, does not stand in a cited line: copy it exactly" };
  if (tellingTerms(statement).difference(tellingTerms(subject)).size === 0)
    return malformed("the statement does not say what the term means");
  return null;
}

type Dated = Pick<Source, "text" | "at">;

/**
 * The days that a statement refers to: as the model gives them, if a cited line names them; by default as the statement's or
 * the quote's own words do. A fault if the given days are wrong.
 */
function timeOf(
  { refers_to: given, statement, quote }: Item,
  cited: readonly [Dated, ...Dated[]],
  { dayOf }: Checking,
): DayRange | Fault | null {
  if (given === undefined || given === null || given.trim() === "")
    return statedTime(statement, quote, dayOf(cited[0].at));
  const time = parseTime(given);
  if (time === null)
    return malformed(
      "refers_to is no day, month or range: write 2026-12-03 or 2026-12-01/2026-12-07, or leave it out",
    );
  const named = cited.flatMap(({ text, at }) => [
    ...namedTimes(text, dayOf(at)),
    { from: dayOf(at), to: dayOf(at) },
  ]);
  if (isNamed(time, named)) return time;
  return {
    reason: "time",
    why: "no cited line tells of the days in refers_to: give those that it tells of, or leave it out",
  };
}

/** The lines that have the statement's terms which its cited sources lack, each with a quote. */
function furtherSources(
  telling: ReadonlySet<string>,
  cited: readonly Source[],
  type: Item["type"],
  { sources, words }: Checking,
): MemorySource[] {
  const said = new Set(cited.flatMap((entry) => [...words.termsOf(entry), ...tellingTerms(authorOf(entry))]));
  const missing = [...telling].filter((term) => !said.has(term));
  if (missing.length === 0) return [];
  const others = [...sources.values()].filter(
    (entry): entry is Source => mayBear(entry, type) && !cited.includes(entry),
  );
  const found = new Map<Seq, MemorySource>();
  for (const term of missing) {
    const saying = others.filter((entry) => words.termsOf(entry).has(term));
    if (!isExact(term) && saying.length >= COMMON_LINES) continue;
    for (const entry of saying) {
      const quote = found.has(entry.seq) ? undefined : quoteOf(entry, term, words);
      if (quote !== undefined) found.set(entry.seq, { seq: entry.seq, quote });
    }
  }
  return [...found.values()];
}

/** The sentence with the term, or the word alone if the sentence is too long. */
function quoteOf(entry: Source, term: string, words: Words): string | undefined {
  const sentence = splitSentences(entry.text).find((one) => tellingTerms(one).has(term)) ?? "";
  const word = sentence.split(/\s+/).find((one) => tellingTerms(one).has(term)) ?? "";
  const quote = storableLine(sentence.length <= MAX_QUOTE ? sentence : word);
  return quote.length <= MAX_QUOTE && containsQuote(words.of(entry), normalWords(quote)) ? quote : undefined;
}

/** Removes duplicate sources, and those past the limit; malformed input stays as it is. */
function withFewSources(raw: unknown): unknown {
  const { data } = Cited.safeParse(raw);
  return data === undefined ? raw : { ...data, sources: [...new Set(data.sources)].slice(0, MAX_SOURCES) };
}

/** On one line, and without what the log cannot hold. */
function tidied({ subject, statement, quote }: Item): Pick<Item, "subject" | "statement" | "quote"> {
  return { subject: storableLine(subject), statement: storableLine(statement), quote: storableLine(quote) };
}

function textFault({ subject, statement, quote }: Item, prompt: string): Fault | null {
  const texts = [subject, statement, quote];
  // First of all checks: the item is private, so no other reason may be counted for it.
  if (texts.some(holdsSecret) || holdsSecret(texts.join(" ")))
    return {
      reason: "secret",
      why: "it holds a key, a token, a password or a card number: secrets are not kept",
    };
  if (subject === "") return malformed("subject is empty");
  if (subject.length > MAX_SUBJECT) return malformed(`subject is longer than ${MAX_SUBJECT} characters`);
  if (statement.length > MAX_STATEMENT)
    return malformed(`statement is longer than ${MAX_STATEMENT} characters`);
  if (normalWords(statement) === "") return malformed("statement is empty");
  if (quote.length > MAX_QUOTE) return malformed(`quote is longer than ${MAX_QUOTE} characters`);
  if (normalWords(quote) === "") return { reason: "quote", why: "quote has no words" };
  if (hasRelativeDate(statement))
    return {
      reason: "relative_date",
      why: "statement has a relative date: write absolute dates, as 2026-11-21, by the time of the line",
    };
  if (isRestated(statement, prompt) || isRestated(quote, prompt))
    return { reason: "restated_prompt", why: "it restates the instructions" };
  if (texts.some(isInstruction))
    return { reason: "instruction", why: "it tells the agent how to behave, and is no fact" };
  return null;
}

export function malformed(why: string): Fault {
  return { reason: "malformed", why };
}

/** Is a text in the instructions? @param prompt their normal words */
export function isRestated(text: string, prompt: string): boolean {
  const words = normalWords(text);
  return countWords(words) >= RESTATED_WORDS && containsQuote(prompt, words);
}

type Proving =
  | { readonly kind: "said"; readonly said: readonly [Source, ...Source[]] }
  | { readonly kind: "seen"; readonly seen: readonly [ShownResult, ...ShownResult[]] };

/**
 * The cited entries that prove the memory, in citation order; or why there is no such entry. A tool's result proves nothing beside what
 * people said, and nothing beside another tool's.
 */
function findSources(item: Item, context: Checking): Proving | Fault {
  const found = new Map<Seq, Source>();
  const seen = new Map<Seq, ShownResult>();
  const quote = normalWords(item.quote);
  let fault: Fault | null = null;
  for (const number of item.sources) {
    const checked = checkSource(number, { type: item.type, quote }, context);
    if ("why" in checked) fault ??= checked;
    else if ("parts" in checked) seen.set(checked.entry.seq, checked);
    else found.set(checked.seq, checked);
  }
  const [first, ...rest] = found.values();
  if (first !== undefined) return { kind: "said", said: [first, ...rest] };
  const [result, ...others] = seen.values();
  if (result === undefined) return fault ?? malformed("it has no sources");
  return { kind: "seen", seen: [result, ...others.filter(({ entry }) => entry.tool === result.entry.tool)] };
}

function checkSource(
  number: number,
  { type, quote }: Pick<Item, "type" | "quote">,
  context: LineContext & Pick<Checking, "words" | "lines" | "calls">,
): Source | ShownResult | Fault {
  const entry = context.sources.get(number);
  if (entry === undefined) return { reason: "range", why: `there is no line ${number}` };
  if (entry.deleted) return { reason: "range", why: `line ${number} was deleted` };
  if (entry.kind === "tool_result" && context.lines !== "asked")
    return checkResult(number, entry, quote, context);
  const isOwn = entry.kind === "assistant";
  if (!isOwn && (entry.kind !== "user" || entry.author.isBot))
    return { reason: "speaker", why: `line ${number} was not said by a person` };
  if (isOwn && entry.agent !== undefined)
    return { reason: "speaker", why: `line ${number} was said by another agent, whose business it is` };
  if (isOwn && type !== "commitment")
    return {
      reason: "speaker",
      why: `line ${number} is ${context.agentName}'s own: only a commitment may come from it`,
    };
  if (!containsQuote(context.words.of(entry), quote))
    return { reason: "quote", why: `the quote does not stand in line ${number}: copy the words exactly` };
  return entry;
}

function checkResult(
  number: number,
  entry: ToolResultEntry,
  quote: string,
  { sources, calls }: LineContext & Pick<Checking, "calls">,
): ShownResult | Fault {
  if (entry.isFinding !== true || entry.agent !== undefined)
    return {
      reason: "speaker",
      why: `line ${number} was not said by a person, and it is no result of a tool that proves anything`,
    };
  const shown = shownResult(entry, calls ?? sources.values());
  if (shown === null)
    return { reason: "speaker", why: `the call of line ${number} is not known: it may repeat the call` };
  return isShown(quote, shown)
    ? shown
    : { reason: "quote", why: `the quote does not stand in line ${number}: copy the words exactly` };
}

/**
 * The person's line that contains a quote, or why there is no such line.
 * @param quote its normal words
 */
export function findLine(number: number, quote: string, context: LineContext): UserEntry | Fault {
  const found = checkSource(number, { type: "fact", quote }, { ...context, words: new Words() });
  if ("why" in found || ("kind" in found && found.kind === "user")) return found;
  return malformed(`line ${number} is no person's`);
}
