import { PAIRED_SCRIPTS } from "../text/scripts.ts";
import { sliceWhole } from "../text/text.ts";

/** Which terms of a query pick the candidates of a search. Pure. */

/** A lexeme that the planner's statistics do not list is rarer than this. */
const RARE = 0.0005;
/** Assumed frequency of a lexeme while there are no statistics: the longest are picked first. */
const UNKNOWN = 0.01;
/** About how many entries the picking terms may bring together; at most twice as many are ranked. */
export const CANDIDATES = 100;
/** Most terms of one query; a pasted log is no question. */
const MAX_TERMS = 32;
/** Most pairs of terms that pick. */
const MAX_PAIRS = 12;
/** Most entries of a channel that a term of a pair may be expected in: the index reads all that hold it. */
const MOST_PAIRED = 1000;

/** A term of a query, with about how many entries of its channel hold it. */
export interface ExpectedTerm {
  readonly lexeme: string;
  readonly expected: number;
}

export interface SearchTerms {
  /** The rarest terms: each picks by itself. */
  readonly pick: readonly string[];
  /** Two more common terms pick together. */
  readonly pairs: readonly (readonly [string, string])[];
  /** All terms, the rarest first: they rank. */
  readonly rank: readonly ExpectedTerm[];
}

/**
 * All terms through the index cost 109 ms in a channel of 100,000 entries, the rarest alone 1.1 ms: so the rarest
 * pick, as many as together bring about {@link CANDIDATES} entries, and all rank. Lines that hold two of the more common terms
 * ("Ann" and "dog") are picked as well, as many once more.
 * @param frequencies share of entries that hold a lexeme; common ones only
 * @param size entries of the channel
 */
export function chooseTerms(
  lexemes: readonly string[],
  frequencies: ReadonlyMap<string, number>,
  size: number,
  candidates: number = CANDIDATES,
): SearchTerms {
  const unlisted = frequencies.size === 0 ? UNKNOWN : RARE;
  const rank = lexemes
    .map((lexeme) => ({ lexeme, expected: (frequencies.get(lexeme) ?? unlisted) * size }))
    .toSorted((a, b) => a.expected - b.expected || b.lexeme.length - a.lexeme.length)
    .slice(0, MAX_TERMS);
  let expected = 0;
  const pick = rank.filter((term, index) => {
    expected += term.expected;
    return index === 0 || expected <= candidates;
  });
  const pairs = pairsOf(rank.slice(pick.length), size, candidates);
  return { pick: pick.map(({ lexeme }) => lexeme), pairs, rank };
}

/** The pairs that bring the fewest entries, as if terms stood together by chance alone. */
function pairsOf(terms: readonly ExpectedTerm[], size: number, candidates: number): [string, string][] {
  const rare = terms.filter(({ expected }) => expected <= MOST_PAIRED);
  const all = rare.flatMap((one, index) =>
    rare.slice(index + 1).map((other) => ({
      lexemes: [one.lexeme, other.lexeme] satisfies [string, string],
      expected: (one.expected * other.expected) / size,
    })),
  );
  let expected = 0;
  return all
    .toSorted((a, b) => a.expected - b.expected)
    .slice(0, MAX_PAIRS)
    .filter((pair) => (expected += pair.expected) <= candidates)
    .map(({ lexemes }) => lexemes);
}

/** Lexemes OR-ed as a tsquery literal: AND found 10 % of the evidence of a public benchmark, OR 58 %. */
export function orQuery(lexemes: readonly string[]): string {
  return lexemes.map((lexeme) => `'${lexeme.replaceAll("\\", "\\\\").replaceAll("'", "''")}'`).join(" | ");
}

/** The same, where a word must be in the line itself, and not in the line before it: pairs and parts of identifiers always are. */
export function saidQuery(lexemes: readonly string[]): string {
  return lexemes
    .map((lexeme) => (/^[=~]/.test(lexeme) ? orQuery([lexeme]) : `${orQuery([lexeme])}:A`))
    .join(" | ");
}

/** The query that picks candidates. */
export function pickQuery({ pick, pairs }: Pick<SearchTerms, "pick" | "pairs">): string {
  const together = pairs.map(([one, other]) => `(${saidQuery([one])} & ${saidQuery([other])})`);
  return [saidQuery(pick), ...together].filter((query) => query !== "").join(" | ");
}

/** Full-text search finds 1 % of these runs. */
const UNSPACED = new RegExp(`[${PAIRED_SCRIPTS}]{2,}`, "gu");
/**
 * The characters of paths, links, versions, snake_case and camelCase; the index splits identifiers the same way
 * (`identifier_parts`).
 */
const RUN = /[\w@#~+./:?=&%-]+/g;
/** Longest run that is searched: some patterns examine each place of it several times. */
const MAX_RUN = 200;
const JOINED = /[\w@#][./:_-]/;
const CAMEL_CASE = /(?<!\w)[a-z]+[A-Z]\w*/;

/** A literal without a part of this length (12:30, e.g., v1.2) hardly identifies a text. */
const TELLING = /[A-Za-z0-9]{4}/;

/** The pairs of neighbouring characters of such runs, each as the lexeme that the index has (`character_pairs`). */
export function pairLexemes(unspaced: string): string[] {
  const pairs = unspaced.split(" ").flatMap((run) => {
    const characters = Array.from(run);
    return characters.slice(1).map((character, index) => `~${characters[index]}${character}`);
  });
  return [...new Set(pairs)];
}

const MAX_LITERAL = 80;
/** Of longer parts the index knows the beginning. */
const MAX_PART = 40;

/** Cuts an identifier to the longest literal. A cut part would not be found, so it is left out, unless the index cuts it as well. */
function shorten(identifier: string): string {
  if (identifier.length <= MAX_LITERAL) return identifier;
  const cut = identifier.slice(0, MAX_LITERAL);
  const [rest = ""] = /(?<![A-Za-z0-9])[A-Za-z0-9]+$/.exec(cut) ?? [];
  const isCut = rest.length < MAX_PART && /[A-Za-z0-9]/.test(identifier.charAt(MAX_LITERAL));
  return isCut ? cut.slice(0, cut.length - rest.length) : cut;
}

/** Most entries of a channel that a literal may be expected in: in more, it does not identify one. */
const COMMON = 1000;
/**
 * Those that are worth looking for: a link's server alone is in every tenth entry of some channels, and to read them all
 * took 30 ms of 100,000.
 * @param frequencies share of entries that hold a lexeme; common ones only
 * @param size entries of the channel
 */
export function tellingLiterals(
  literals: readonly string[],
  frequencies: ReadonlyMap<string, number>,
  size: number,
): string[] {
  return literals.filter((literal) =>
    literal
      .toLowerCase()
      .split(/[^a-z0-9]+/)
      .some((part) => part !== "" && (frequencies.get(`=${part.slice(0, MAX_PART)}`) ?? 0) * size <= COMMON),
  );
}

/**
 * Parts of a query that full-text search does not find.
 * @returns at most 4 literals, each of at most 80 characters, and at most 80 characters of scripts without spaces
 */
export function findPieces(query: string): {
  readonly literals: readonly string[];
  readonly unspaced: string;
} {
  const literals = (query.match(RUN) ?? [])
    .flatMap((run) => identifierIn(run.slice(0, MAX_RUN)))
    .map(shorten)
    .filter((one) => TELLING.test(one));
  const unspaced = sliceWhole((query.match(UNSPACED) ?? []).join(" "), 0, 80);
  return { literals: [...new Set(literals)].slice(0, 4), unspaced };
}

/** Without the marks around it: a dot after it ends a sentence. */
function identifierIn(run: string): string[] {
  const bare = run.replace(/^[./:?=&%]+/, "").replace(/(?<!\W)\W+$/, "");
  return JOINED.test(bare) ? [bare] : (bare.match(CAMEL_CASE) ?? []);
}
