import type { Entry } from "../core/entry.ts";
import { EDGELESS_SCRIPTS } from "../text/scripts.ts";
import { displayName } from "../text/text.ts";
import { normalWords } from "../text/normal-text.ts";
import type { Source } from "./line-terms.ts";
import type { MemoryRejection } from "../core/memory.ts";
import {
  EXACT_LINES,
  isCovered,
  namesPerson,
  nearLine,
  type NearLine,
  unfoundPart,
  WORD_LINES,
} from "./statement-support.ts";
import {
  clausesOf,
  closestClauses,
  comparesTwo,
  denies,
  hasSelf,
  isAgreement,
  isAttributed,
  isOfOthersSelf,
  isOfSelf,
  isOfUs,
  isUndone,
  noFact,
  opposes,
  inSmallLetters,
  polarityOf,
  sentencesAround,
  tellsOfListener,
  tellsOfPerson,
} from "./told-as.ts";

/** Whether a statement says what its quote says, as its speaker meant it. Pure. */

const EDGELESS = new RegExp(`^[${EDGELESS_SCRIPTS}]`, "u");
/** Lines after a proposal that may agree to it. */
const AGREEING_LINES = 5;
/** Lines after a joke in which its speaker may call it one. */
const JOKING_LINES = 2;
/** Words that a clause shares with another that says the same. */
const SAME_WORDS = 2;
/** In a clause of as many words one is enough. */
const SHORT_CLAUSE = 4;

/** Why something is not kept. */
export interface Fault {
  readonly reason: MemoryRejection;
  readonly why: string;
}

export interface SupportedItem {
  readonly type: string;
  readonly subject: string;
  readonly statement: string;
  readonly quote: string;
}

export interface LineContext {
  /** The entries that the transcript shows, by the numbers of its lines. */
  readonly sources: ReadonlyMap<number, Entry>;
  /** As whom the agent's own commitments are kept. */
  readonly agentName: string;
  /** The ISO day of a time, where the agent is. */
  readonly dayOf: (at: Date) => string;
}

/** What is wrong with a statement; null: nothing. @param cited its lines, by number */
export function supportFault(
  item: SupportedItem,
  cited: ReadonlyMap<number, Source>,
  lines: LineContext,
): Fault | null {
  const { statement } = item;
  const unfound = unfoundPart(item, around(cited, lines, EXACT_LINES), peopleOf(lines));
  if (unfound !== null)
    return {
      reason: "unsaid",
      why: `"${unfound.slice(0, 60)}" stands neither in the cited lines nor near them: state only what they say`,
    };
  // What a word means is told in other words.
  if (
    item.type !== "term" &&
    !isCovered(statement, around(cited, lines, WORD_LINES), around(cited, lines, 0))
  )
    return {
      reason: "unsaid",
      why: "the cited lines hardly have a word of the statement: cite the line that says it, and use its words",
    };
  return statedFault(item, cited, lines);
}

/** The same of its quote alone: wherever other lines are not known. */
export function statedFault(
  item: SupportedItem,
  cited: ReadonlyMap<number, Source>,
  lines: LineContext,
): Fault | null {
  const faults = [...cited].map(([number, entry]) => quoteFault(item, number, entry, lines));
  return faults.some((fault) => fault === null) ? null : (faults[0] ?? null);
}

function quoteFault(item: SupportedItem, number: number, entry: Source, lines: LineContext): Fault | null {
  const { type, subject, statement, quote } = item;
  const next = [...Array(AGREEING_LINES).keys()].map((by) => lines.sources.get(number + by + 1));
  const fact = noFact({
    statement,
    quote,
    line: entry.text,
    isOfSpeaker:
      entry.kind === "user" &&
      namesPerson(statement.split(/[\s,、はがも]+/, 3).join(" "), displayName(entry.author.name)),
    after: next
      .slice(0, JOKING_LINES)
      .filter((one) => isSameSpeaker(one, entry))
      .map((one) => one?.text ?? ""),
    isAgreed:
      type === "decision" &&
      next.some((one) => one?.kind === "user" && !isSameSpeaker(one, entry) && isAgreement(one.text)),
  });
  // The agent's own promises are worded as it words them.
  if (entry.kind === "assistant") return null;
  if (fact !== null) return { reason: "no_fact", why: `the quote is ${fact}, and no fact` };
  const isOfAnyone = [...peopleOf(lines)].some((name) => namesPerson(`${subject} ${statement}`, name));
  if (
    (isOfAnyone ? hasSelf(quote) : isOfSelf(quote)) &&
    !isAttributed(statement) &&
    !namesOf(entry, lines).some((name) => namesPerson(`${subject} ${statement}`, name))
  )
    return {
      reason: "speaker",
      why: `the quote is of line ${number}'s speaker: say so by name, or cite the line of whom it is about`,
    };
  if (
    isOfAnother(item, entry, lines) ||
    (isPlainlyOf(item, entry, lines) && isOfRelative(statement, quote, entry.text))
  )
    return {
      reason: "speaker",
      why: `the quote is not of the one whom the statement is about: cite the line of whom it is about`,
    };
  return isTurned(statement, quote, entry.text)
    ? { reason: "negation", why: "the statement denies what the quote affirms, or affirms what it denies" }
    : null;
}

/** Whether a statement begins with its speaker's name, has no other, and is not of a thing of theirs: "Ann's rent". */
function isPlainlyOf({ statement }: SupportedItem, entry: Source, lines: LineContext): boolean {
  if (entry.kind !== "user") return false;
  const names = namesOf(entry, lines).flatMap((name) => normalWords(name).split(" "));
  const words = inSmallLetters(statement);
  const name = names.find((one) => one !== "" && words.startsWith(one));
  if (name === undefined || /^(?:'|\p{Script=Latin}|の)/u.test(words.slice(name.length))) return false;
  return ![...peopleOf(lines)].some((one) => !names.includes(one) && namesPerson(statement, one));
}

/** Whether a statement begins with another person's name than the speaker's, and the quoted message names no other person. */
function isOfAnother({ statement, quote }: SupportedItem, entry: Source, lines: LineContext): boolean {
  if (entry.kind !== "user") return false;
  const words = normalWords(statement);
  const people = peopleOf(lines);
  // Scripts without spaces have no first word.
  const first =
    [...people].find((name) => EDGELESS.test(name) && words.startsWith(name)) ?? words.split(" ")[0] ?? "";
  const names = namesOf(entry, lines);
  if (!people.has(first) || names.some((name) => namesPerson(first, name))) return false;
  if (isOfUs(quote) && names.some((name) => namesPerson(statement, name))) return false;
  if (tellsOfPerson(entry.text, first)) return false;
  return !(tellsOfListener(quote) || (isOfOthersSelf(quote) && isNamedBefore(first, entry, lines)));
}

/** The names under which the speaker of an entry speaks in the lines. */
function namesOf(entry: Extract<Source, { kind: "user" }>, { sources }: LineContext): string[] {
  const own = [...sources.values()].filter((one) => isSameSpeaker(one, entry));
  return [
    ...new Set([entry, ...own].map((one) => (one.kind === "user" ? displayName(one.author.name) : ""))),
  ];
}

/** "He" and "she" are of somebody whom the lines before name. */
function isNamedBefore(name: string, { seq }: Source, { sources }: LineContext): boolean {
  const before = [...sources.values()].filter((one) => one.seq < seq).slice(-EXACT_LINES);
  return before.some(({ text }) => tellsOfPerson(text, name));
}

function isSameSpeaker(one: Entry | undefined, other: Source): boolean {
  return one?.kind === "user" && other.kind === "user" && one.author.id === other.author.id;
}

/** Whether one of them is negated and the other is not: by the clauses that say the same. */
export function isTurned(statement: string, quote: string, line: string): boolean {
  const clauses = clausesOf(inSmallLetters(statement));
  const quoted = sentencesAround(quote, line).flatMap((sentence) => clausesOf(inSmallLetters(sentence)));
  const all = clausesOf(inSmallLetters(line));
  return clauses.some((clause) => {
    const polarity = polarityOf(clause);
    const closest = closestClauses(clause, quoted);
    if (polarity === "denied") {
      const near = closest.shared > 0 ? closest : closestClauses(clause, all);
      return !(near.shared > 0 ? near.clauses : all).some((one) => denies(one, clause));
    }
    if (polarity === "averse" || comparesTwo(clause)) return false;
    if (isUndone(clause, quoted)) return true;
    const isShort = clause.split(" ").length <= SHORT_CLAUSE && closest.shared > 0;
    const isNear = isShort || closest.shared >= SAME_WORDS;
    return closest.clauses.every((one) => {
      if (polarityOf(one) === "denied") return isNear;
      const isAlike = isNear || (closest.shared > 0 && one.split(" ").length <= SHORT_CLAUSE);
      return isAlike && opposes(one, clause);
    });
  });
}

function around(
  cited: ReadonlyMap<number, Source>,
  { sources, agentName, dayOf }: LineContext,
  within: number,
): NearLine[] {
  const numbers = new Set(
    [...cited.keys()].flatMap((number) =>
      [...Array(2 * within + 1).keys()].map((by) => number - within + by),
    ),
  );
  return [...numbers].flatMap((number) => {
    const entry = sources.get(number);
    const line = entry === undefined ? null : nearLine(entry, agentName, dayOf);
    return line === null ? [] : [line];
  });
}

const PEOPLE = new WeakMap<ReadonlyMap<number, Entry>, ReadonlySet<string>>();

/** The names of those who speak in the lines, and their parts. */
export function peopleOf({ sources }: LineContext): ReadonlySet<string> {
  const known = PEOPLE.get(sources);
  if (known !== undefined) return known;
  const names = new Set<string>();
  for (const entry of sources.values())
    if (entry.kind === "user")
      for (const part of normalWords(entry.author.name).split(" ")) if (part.length > 1) names.add(part);
  PEOPLE.set(sources, names);
  return names;
}

/** Compounds have the relation at their end: "grandmother", "Schwiegermutter". */
const RELATION = [
  "\\p{L}*(?:mother|father|brother|sister|daughter|child|children|parents?)s?|sons?|grandsons?|stepsons?|mums?|moms?|mommy|dads?|daddy|grandmas?|grandpas?|granny|grandad|siblings?|twins?|kids?|bab(?:y|ies)|wi(?:fe|ves)|husbands?|hubby|spouse|partners?|fianc[eé]e?s?|(?:boy|girl)?friends?|uncles?|aunts?|auntie|cousins?|nephews?|nieces?|famil(?:y|ies)|boss|manager|co-?workers?|colleagues?|(?:room|flat|house|team|class)mates?|neighbou?rs?|ex",
  "\\p{L}*(?:mutter|vater|bruder|schwester|tochter|sohn|eltern|kind|kinder|töchter|söhne|brüder|schwestern)s?|mama|papa|oma|opa|frau|mann|ehefrau|ehemann|partnerin|freund(?:in|e|innen)?|verlobte[rn]?|onkel|tante|cousine?|neffe|nichte|chef(?:in)?|kolleg(?:e|in|en|innen)|nachbar(?:in|n)?|mitbewohner(?:in)?|familie",
  "herman[oa]s?|madre|padres?|mamá|papá|hij[oa]s?|abuel[oa]s?|ti[oa]s?|tíos?|tías?|prim[oa]s?|sobrin[oa]s?|suegr[oa]s?|cuñad[oa]s?|espos[oa]s?|marido|mujer|novi[oa]|pareja|jef[ea]|amig[oa]s?|vecin[oa]s?|compañer[oa]s?|familia",
  "mère|père|parents|maman|frères?|sœurs?|soeurs?|fils|filles?|enfants?|grand-mère|grand-père|oncle|tante|cousine?s?|neveux?|nièces?|femme|mari|conjointe?|copine?|copain|ami[es]*|patronne?|voisine?s?|collègues?|famille",
  "fratell[oi]|sorell[ae]|figli[oae]?|nonn[oaie]|zi[oaei]|cugin[oaei]|nipot[ei]|moglie|marito|fidanzat[oa]|capo|amic[oai]|irmã[os]*|irmãos|filh[oa]s?|mãe|pai|avó|avô|marido|esposa|namorad[oa]|chefe|amig[oa]s?",
  "мама|мать|папа|отец|брат|сестра|сын|дочь|муж|жена|бабушка|дедушка|друг|подруга|начальник|родители|дети",
].join("|");
const UNSPACED_RELATION =
  "お?(?:母|父|祖母|祖父|兄|姉|弟|妹|妻|夫|嫁|旦那|主人|息子|娘|子供|子ども|両親|友達|友人|上司|同僚|彼女|彼氏|家内|家族|従兄弟|いとこ|叔父|叔母|甥|姪)(?:さん|ちゃん)?|(?:妈妈|爸爸|哥哥|姐姐|弟弟|妹妹|儿子|女儿|老婆|老公|妻子|丈夫|奶奶|爷爷|朋友|老板|同事|父母|孩子)";
const ANY_RELATION = new RegExp(
  `(?<![\\p{L}\\p{M}])(?:${RELATION})(?![\\p{L}\\p{M}])|${UNSPACED_RELATION}`,
  "u",
);
const MY = "my|mein|meine|mi|mis|mon|ma|mes|mio|mia|il mio|la mia|meu|minha|o meu|a minha|мой|моя|мои";
const CONNECTIVES =
  "and|so|but|also|well|yeah|yes|oh|because|since|that|now|today|und|aber|auch|ja|weil|dass|y|pero|et|mais|e|ma|и|а|но";
/** The clause's subject, alone: not "my brother's wedding", "my brother and I". */
const RELATIVE_SUBJECT = new RegExp(
  `^(?:(?:${CONNECTIVES}) ){0,3}(?:${MY}) (?:\\p{L}+ ){0,2}(?:${RELATION})(?:-in-law)?(?![\\p{L}\\p{M}'])(?!,? (?:and|und|y|et|e|и) )`,
  "u",
);
const UNSPACED_SUBJECT = new RegExp(
  `^(?:(?:私|僕|俺|うち|わたし|ぼく)の|我的?)?(?:${UNSPACED_RELATION})(?:は|が|も|(?<=[\u4e00-\u9fff]{2})(?=[是在有住会]))`,
  "u",
);
/** The speaker has a part in it: "my brother gave me a dog". */
const SPEAKER =
  /(?<![\p{L}'])(?:i|i'\p{L}+|me|us|we|ich|mir|mich|uns|wir|je|j'\p{L}+|me|nous|yo|nos|io|mi|ci|eu|я|мне|меня|нам|нас)(?![\p{L}])|私(?!の)|僕(?!の)|俺(?!の)|くれ|もらっ/u;

/** Whether the clauses closest to a statement have a relative or friend of the speaker as their subject, and the statement names none. */
function isOfRelative(statement: string, quote: string, line: string): boolean {
  const told = inSmallLetters(statement);
  if (ANY_RELATION.test(told)) return false;
  const quoted = sentencesAround(quote, line).flatMap((sentence) => clausesOf(inSmallLetters(sentence)));
  const { clauses } = closestClauses(told, quoted);
  // "Mi hermana": the first word of the subject is the speaker's, and no object.
  return (
    clauses.length > 0 &&
    clauses.every(
      (clause) =>
        (RELATIVE_SUBJECT.test(clause) && !SPEAKER.test(clause.replace(RELATIVE_SUBJECT, " "))) ||
        UNSPACED_SUBJECT.test(clause),
    )
  );
}
