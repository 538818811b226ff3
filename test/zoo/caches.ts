/** Prompt caches as providers count them; what each request paid. */
import { type Asked, countTokens, promptTokens, textOf } from "./asked.ts";

/**
 * `prefix`: any common head is read, in steps. `breakpoints`: only at the end of a marked piece, or of the latest message where the
 * request marks none by itself. `marks`: only at marked pieces, looked for 20 blocks back from each.
 */
export interface CacheRule {
  readonly rule: "prefix" | "breakpoints" | "marks";
  /** Shortest prefix that is kept, tokens. */
  readonly from: number;
  /** Tokens. */
  readonly step: number;
}

/** Tokens of one request's input, by price. */
export interface Paid {
  readonly plain: number;
  readonly read: number;
  readonly written: number;
}

const LOOKED_BACK = 20;
/** New places of one request. */
const MOST_WRITTEN = 4;

export class Cache {
  readonly #rule: CacheRule | null;
  /** Per model: whole prompts, or their marked heads. */
  readonly #kept = new Map<string, string[]>();

  constructor(rule: CacheRule | null) {
    this.#rule = rule;
  }

  /** What a request that is answered costs; it is kept. */
  pay(asked: Asked): Paid {
    const total = promptTokens(asked);
    const { read, written } = this.#use(asked);
    return { plain: total - read - written, read, written };
  }

  #use(asked: Asked): { read: number; written: number } {
    const rule = this.#rule;
    if (rule === null) return { read: 0, written: 0 };
    const kept = this.#kept.get(asked.model) ?? [];
    this.#kept.set(asked.model, kept);
    const heads = headsOf(asked);
    const whole = heads.at(-1)?.text ?? "";
    if (rule.rule === "prefix") {
      const shared = countTokens(Math.max(0, ...kept.map((one) => sharedLength(one, whole))));
      kept.push(whole);
      return { read: shared < rule.from ? 0 : Math.floor(shared / rule.step) * rule.step, written: 0 };
    }
    const isLong = ({ text }: Head): boolean => countTokens(text.length) >= rule.from;
    const marked = heads.filter((head) => head.isMarked);
    const isImplicit = rule.rule === "breakpoints" && !isExplicit(asked);
    const places = (isImplicit ? [...marked, ...heads.slice(-1)] : marked).filter(isLong);
    const seen = (isImplicit || rule.rule === "breakpoints" ? places : lookedAt(heads, places)).filter(
      isLong,
    );
    const hit = seen.findLast(({ text }) => kept.includes(text));
    const read = hit === undefined ? 0 : countTokens(hit.text.length);
    const fresh = places.filter(({ text }) => !kept.includes(text)).slice(-MOST_WRITTEN);
    kept.push(...fresh.map(({ text }) => text));
    const last = fresh.at(-1);
    return { read, written: last === undefined ? 0 : Math.max(0, countTokens(last.text.length) - read) };
  }
}

interface Head {
  readonly text: string;
  readonly isMarked: boolean;
}

/** The request up to the end of each piece. */
function headsOf({ toolText, turns }: Asked): Head[] {
  const heads: Head[] = [];
  let text = toolText;
  for (const turn of turns) {
    text += `<${turn.role}>`;
    for (const piece of turn.pieces) {
      text += piece.text;
      heads.push({ text, isMarked: piece.isMarked });
    }
    if (turn.pieces.length === 0) heads.push({ text: `${text}${textOf(turn)}`, isMarked: false });
  }
  return heads;
}

function lookedAt(heads: readonly Head[], places: readonly Head[]): Head[] {
  const indexes = places.map((place) => heads.indexOf(place));
  return heads.filter((_, index) => indexes.some((place) => index <= place && index > place - LOOKED_BACK));
}

function isExplicit({ body }: Asked): boolean {
  return JSON.stringify(body["prompt_cache_options"] ?? "").includes("explicit");
}

function sharedLength(one: string, other: string): number {
  let length = 0;
  while (length < one.length && length < other.length && one[length] === other[length]) length++;
  return length;
}
