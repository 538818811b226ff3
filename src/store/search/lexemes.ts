import { BoundedMap } from "../../async/bounded-map.ts";
import type { Queryable } from "../database/queryable.ts";

/**
 * Splits a text into its words and numbers, each once and in lower case. Pure.
 * @returns `words`: of letters alone, of which the server makes lexemes; `numbers`: with digits, which are lexemes as they are. Null: the
 *   text has other letters, or tokens that are neither, such as a link
 */
export function plainWords(
  text: string,
): { readonly words: readonly string[]; readonly numbers: readonly string[] } | null {
  const tokens = text.split(/[ \t\r\n]+/).filter((token) => token !== "");
  if (!tokens.every(isPlain)) return null;
  const all = [...new Set(text.toLowerCase().match(/[a-z0-9]+/g) ?? [])];
  return { words: all.filter((one) => !/\d/.test(one)), numbers: all.filter((one) => /\d/.test(one)) };
}

/**
 * A word, several parted by apostrophes or low lines, or a number, with marks around it. The server makes more than words of
 * a link, a file or a compound with a hyphen. It reads other letters and marks by the rules of the database's locale.
 */
const PLAIN =
  /^["'([]{0,3}(?:[A-Za-z]{1,40}(?:['_][A-Za-z]{1,40}){0,3}|[A-Za-z0-9]{1,40})["')\]]{0,3}[,.!?;:]{0,3}["')\]]{0,3}$/;
/** Marks alone. Those that begin a path, a tag or an address are left out. */
const MARKS = /^[-!"'()*+,.:;=?[\]]{1,8}$/;
/** To the server these are the name of a folder (at a text's beginning also without letters), and a number with an exponent. */
const TWO_DOTS = /(?:^|[^.])\.\.$/;
const EXPONENT = /[0-9][Ee][0-9]/;

function isPlain(token: string): boolean {
  if (TWO_DOTS.test(token) || EXPONENT.test(token)) return false;
  return MARKS.test(token) || PLAIN.test(token);
}

/**
 * Words of a text that may be acronyms; by the same rule as the index (`acronyms`). A text
 * all in capitals has none. Pure.
 */
function capitalsIn(text: string): string[] {
  const isShouted = !/[a-z]{2}/.test(text) && /\S\s+\S/.test(text);
  return isShouted ? [] : (text.match(/\b[A-Z]{2,5}\b/g) ?? []);
}

/** Words whose lexemes are kept: more than most people use in a year. */
const KNOWN_WORDS = 10_000;
/** Most new words of one text that are learned. */
const LEARNED_AT_ONCE = 100;
/** Texts whose lexemes are kept for those who ask for them in the same moment. */
const KNOWN_TEXTS = 64;
/** What stands for a word that every text has: it has no lexeme. */
const NONE = "";

/**
 * What the search index knows a text's words by: stemmed, without stop words, but for what is one only in small letters (`=US`).
 * A turn waits for it, so words that the server was asked for before are not asked for again: what becomes of a plain word does
 * not depend on those around it.
 */
export class Lexemes {
  readonly #db: Queryable;
  readonly #words = new BoundedMap<string>(KNOWN_WORDS);
  /** By text: memories and entries are recalled with the same words. */
  readonly #texts = new BoundedMap<Promise<string[]>>(KNOWN_TEXTS);

  constructor(db: Queryable) {
    this.#db = db;
  }

  /** Of a whole text, each once, in the order of a tsvector; acronyms behind. */
  async of(text: string): Promise<string[]> {
    const asked = this.#texts.get(text);
    if (asked !== undefined) return asked;
    const plain = plainWords(text);
    const known = plain?.words.map((word) => this.#words.get(word));
    if (plain !== null && known !== undefined && known.every((lexeme) => lexeme !== undefined))
      return [...inOrder([...known, ...plain.numbers]), ...this.#acronyms(text)];
    const asking = this.#ask(text, plain?.words ?? []);
    this.#texts.set(text, asking);
    // What failed is asked again.
    asking.catch(() => this.#texts.delete(text));
    return asking;
  }

  /** Of a text whose words are all known. */
  #acronyms(text: string): string[] {
    const capitals = capitalsIn(text).filter(
      (word) => word === "US" || this.#words.get(word.toLowerCase()) === NONE,
    );
    return [...new Set(capitals)].toSorted().map((word) => `=${word}`);
  }

  async #ask(text: string, words: readonly string[]): Promise<string[]> {
    const fresh = words.filter((word) => !this.#words.has(word)).slice(0, LEARNED_AT_ONCE);
    const [row] = await this.#db.query<{ lexemes: string[]; learned: string[] }>(
      "search_lexemes",
      `select tsvector_to_array(to_tsvector('english', $1)) || acronyms($1) as lexemes,
              array(select coalesce((tsvector_to_array(to_tsvector('english', word)))[1], '${NONE}')
                      from unnest($2::text[]) with ordinality w (word, place) order by place) as learned`,
      [text, fresh],
    );
    for (const [index, word] of fresh.entries()) this.#words.set(word, row?.learned[index] ?? NONE);
    return row?.lexemes ?? [];
  }
}

/** By their bytes: lexemes of plain words are plain, too. */
function inOrder(lexemes: readonly string[]): string[] {
  return [...new Set(lexemes)].filter((lexeme) => lexeme !== NONE).toSorted();
}
