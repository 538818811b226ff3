import { z } from "zod";
import { WISH_TOPICS, type WishDraft, WISH_LIST } from "./wish.ts";
import type { UserEntry } from "../../core/entry.ts";
import { containsQuote, normalWords } from "../../text/normal-text.ts";
import { terms } from "../../text/terms.ts";
import { storableLine } from "../../text/text.ts";
import {
  type Fault,
  findLine,
  isRestated,
  type LineContext,
  malformed,
  type MemoryGateContext,
} from "../../memory/gates.ts";
import type { CheckedList, SaveList } from "../../memory/save-call.ts";
import { overridesRules } from "../../memory/planted-instructions.ts";
import { holdsSecret } from "../../memory/secrets.ts";

/**
 * Checks of the wishes about answers that a model proposes. A wish is by nature an instruction, so only plain words for the
 * manner of an answer pass, and hardly any others. Pure.
 */

const MAX_WISHES = 8;
const MAX_WISH = 160;
const MAX_QUOTE = 200;
/** Lines of one wish that are looked at. */
const MAX_SOURCES = 10;
/** Words that a wish may have beside those of manner, all of them said in its message: a metaphor, a nickname. */
const MAX_FREE_WORDS = 2;

const Item = z.object({
  wish: z.string(),
  topic: z.enum(WISH_TOPICS),
  act: z.enum(["want", "stop"]).default("want"),
  for: z.enum(["speaker", "channel"]),
  quote: z.string(),
  sources: z.array(z.int().min(1).max(1_000_000)).min(1).max(MAX_SOURCES),
});
type Item = z.infer<typeof Item>;

/**
 * The wishes of `memory_save`. A kept wish is about the manner of an answer, and a person said it in a line of the transcript; a wish for
 * a speaker is for the author of its line.
 */
export const wishList: SaveList = {
  name: WISH_LIST,
  schema: z.array(Item).max(MAX_WISHES).optional(),
  check: checkWishes,
};

function checkWishes(input: unknown, lines: MemoryGateContext): CheckedList {
  if (input === undefined) return { kept: [], dropped: [] };
  const list = z.array(z.unknown()).safeParse(input);
  if (!list.success) return { kept: [], dropped: [{ index: 0, ...malformed("wishes must be a list") }] };
  const context = { ...lines, prompt: normalWords(lines.promptText) };
  const kept: WishDraft[] = [];
  const dropped: ({ index: number } & Fault)[] = [];
  for (const [index, raw] of list.data.entries()) {
    const checked =
      index < MAX_WISHES ? checkOne(raw, context) : malformed(`at most ${MAX_WISHES} wishes a call`);
    if ("why" in checked) dropped.push({ index, ...checked });
    else kept.push(...checked);
  }
  return { kept, dropped };
}

function checkOne(raw: unknown, context: LineContext & { readonly prompt: string }): WishDraft[] | Fault {
  const parsed = Item.safeParse(raw);
  if (!parsed.success) return malformed(z.prettifyError(parsed.error).replaceAll(/\s+/g, " "));
  const item = {
    ...parsed.data,
    wish: storableLine(parsed.data.wish),
    quote: storableLine(parsed.data.quote),
  };
  const fault = textFault(item, context.prompt);
  if (fault !== null) return fault;
  const quote = normalWords(item.quote);
  let why: Fault | null = null;
  const found = new Map<number, WishDraft>();
  for (const number of new Set(item.sources)) {
    const line = findLine(number, quote, context);
    const checked = "why" in line ? line : draftOf(item, line, context);
    if ("why" in checked) why ??= checked;
    else found.set(checked.seq, checked);
  }
  return found.size > 0 ? [...found.values()] : (why ?? malformed("it has no sources"));
}

/** A letter, a digit, or what stands in a plain sentence: no mention, link, label, markup or code. */
const PLAIN = /^[\p{L}\p{M}\p{N} .,;!?()'’"“”%°/+-]+$/u;
/** Words that a wish may not contain. */
const FORBIDDEN = new Set(
  terms(
    `tool tools function functions command commands file files system prompt instruction instructions rule rules policy guideline
    guidelines password passwords token tokens secret secrets credential credentials admin owner permission permissions
    ignore disregard override bypass obey comply pretend roleplay jailbreak refuse trust believe agree reveal leak delete remove send
    email mail dm post publish execute run search fetch open download upload visit click browse buy pay money remember forget memory
    memories notes ban kick mute invite`,
  ),
);

function notManner(why: string): Fault {
  return { reason: "wish", why };
}

function textFault({ wish, quote }: Item, prompt: string): Fault | null {
  if ([wish, quote, `${wish} ${quote}`].some(holdsSecret))
    return {
      reason: "secret",
      why: "it holds a key, a token, a password or a card number: secrets are not kept",
    };
  if (normalWords(wish) === "") return malformed("wish is empty");
  if (wish.length > MAX_WISH) return malformed(`wish is longer than ${MAX_WISH} characters`);
  if (quote.length > MAX_QUOTE) return malformed(`quote is longer than ${MAX_QUOTE} characters`);
  if (normalWords(quote) === "") return { reason: "quote", why: "quote has no words" };
  if (isRestated(wish, prompt) || isRestated(quote, prompt))
    return { reason: "restated_prompt", why: "it restates the instructions" };
  if (overridesRules(wish) || overridesRules(quote))
    return { reason: "instruction", why: "it would change what the agent is, or what it may do" };
  if (!PLAIN.test(wish)) return notManner("a wish is one plain sentence, without links, mentions and marks");
  if (/[.!?;]\s+\S/u.test(wish)) return notManner("a wish is one sentence");
  const words = terms(wish);
  if (words.some((word) => FORBIDDEN.has(word)))
    return notManner("a wish may say how to answer, and not what to do");
  const isOfManner = words.some((word) => MANNER.has(word) || languages().has(word));
  return isOfManner ? null : notManner(`say it in English, in plain words for ${WISH_TOPICS.join(", ")}`);
}

function draftOf(item: Item, line: UserEntry, context: LineContext): WishDraft | Fault {
  if (line.unheard === true)
    return { reason: "speaker", why: "its line was said by somebody whom nobody answers there" };
  if (!containsQuote(normalWords(spokenPart(line.text)), normalWords(item.quote)))
    return {
      reason: "quote",
      why: "the quote stands in what the line quotes or forwards: it is somebody else's",
    };
  const own = new Set(terms(line.author.name));
  const said = new Set(terms(line.text));
  const free = new Set(terms(item.wish).filter((word) => !MANNER.has(word) && !languages().has(word)));
  const others = new Set(
    [...context.sources.values()].flatMap((entry) =>
      entry.kind === "user" && entry.author.id !== line.author.id ? terms(entry.author.name) : [],
    ),
  );
  if (!free.difference(own).isDisjointFrom(others)) return notManner("it is about somebody else");
  const unsaid = [...free].find((word) => !said.has(word) && !own.has(word));
  if (unsaid !== undefined)
    return notManner(`"${unsaid}" is no plain word for how to answer, and was not said in that line`);
  if (free.difference(own).size > MAX_FREE_WORDS)
    return notManner("it says more than how to answer: use plain words for that alone");
  if (item.topic === "names" && item.for === "channel")
    return notManner("how somebody wants to be called is for that person: for must be speaker");
  return {
    seq: line.seq,
    act: item.act,
    topic: item.topic,
    person: item.for === "speaker" ? line.author.id : null,
    asker: line.author.id,
    wish: item.wish,
    quote: item.quote,
    at: line.at.toISOString(),
  };
}

/** Start of borrowed words in a message: a forwarded message, a file, and on Discord everything after `>>>`. */
const BORROWED = /^(?:\[forwarded message\]|\[file [^\n]*\]$|[^\S\r\n\u2028\u2029]*>>>)/mu;
const QUOTED_LINE = /^[^\S\r\n\u2028\u2029]*>.*$/gmu;

/** A message's own words: without quotes, forwarded messages and attachments. */
function spokenPart(text: string): string {
  const end = text.search(BORROWED);
  return (end < 0 ? text : text.slice(0, end)).replaceAll(QUOTED_LINE, "");
}

/** Plain words for the manner of an answer. */
const MANNER: ReadonlySet<string> = new Set(
  terms(
    `answer answers reply replies respond write speak talk use give keep put make begin start end finish stay always never only
    channel conversation everyone everybody question questions message messages each every before after without between instead
    language languages translate translation both same original
    short shorter brief briefly concise terse long longer line lines sentence sentences word words paragraph paragraphs length limit
    under most least more less fewer maximum minimum detail details detailed verbose summary summaries
    zero one two three four five six seven eight nine ten eleven twelve fifteen twenty thirty fifty hundred half
    1 2 3 4 5 6 7 8 9 10 11 12 15 20 25 30 40 50 60 80 100 150 200 250 300 400 500 1000
    list lists bullet bullets point points numbered number numbers table tables heading headings bold italic markdown plain text
    code block blocks example examples step steps link links source sources quote quotes emoji emojis first last final top bottom
    title format layout column columns unit units metric imperial celsius fahrenheit date dates time times hour hours currency
    clock avoid skip include add show explain explanation explanations
    tone style formal formally informal informally casual friendly polite politely blunt direct directly neutral serious funny humour
    humor humorous joke jokes sarcasm sarcastic irony ironic simple simply easy technical beginner beginners expert experts child
    children metaphor metaphors analogy analogies encouraging warm dry professional jargon slang exclamation mark marks greeting
    greetings apology apologies flattery praise literal calm cheerful gentle kind honest small talk pun puns rhyme rhymes
    name names nickname call address pronoun pronouns surname title`,
  ),
);

let languageWords: ReadonlySet<string> | null = null;

function languages(): ReadonlySet<string> {
  return (languageWords ??= namesOfLanguages());
}

function namesOfLanguages(): ReadonlySet<string> {
  const names = new Intl.DisplayNames(["en"], { type: "language", fallback: "none" });
  const letters = Array.from("abcdefghijklmnopqrstuvwxyz");
  const codes = letters.flatMap((first) => letters.map((second) => first + second));
  return new Set(codes.flatMap((code) => terms(names.of(code) ?? "")));
}
