import type { ContextSources, DueImages, ResultImages } from "../context/assemble.ts";
import { chooseSections, type SectionScene } from "../context/sections/choose.ts";
import { builtInSection } from "../context/sections/list.ts";
import { sectionLimits } from "../context/sections/fit.ts";
import type { AgentFile, AskedMessage } from "../context/sections/section.ts";
import type { BuiltInKind, Section } from "../core/context.ts";
import { quotedName } from "./quoted-name.ts";
import { leastRecalled, MOST_RECALLED } from "../context/usage.ts";
import { escapeLabels } from "../context/labels.ts";
import { capText } from "../context/cap.ts";
import { begunTo, dueMessages, type History, type Omission, type TurnRange } from "../core/history.ts";
import { type Seq, turnId } from "../core/ids.ts";
import { isDueWork } from "../core/message.ts";
import type { EntryReference, RecalledStatement } from "../core/entry.ts";
import { tellingTerms } from "../text/terms.ts";
import { displayName, sliceWhole } from "../text/text.ts";
import { estimateTokens, HEAVIEST_UNIT } from "../text/tokens.ts";
import { inPageOrder } from "../memory/people.ts";
import { type Wanted, wantedBy } from "../memory/recall-worth.ts";
import type { Agent } from "./agent.ts";

/** Number of recent speakers that the dynamic part names. */
const PEOPLE = 12;
/** Shown length of a recalled message, in UTF-16 units: of the best ones, and of the others where nothing is asked. */
const BEST_PASSAGES = 4;
const BEST_LENGTH = 400;
const PASSAGE_LENGTH = 200;
/** Share of the usable window for all recalled messages, by how much is asked for. */
const RECALLED_SHARE: Readonly<Record<Wanted, number>> = { told: 0, one: 0.25, several: 0.26 };
/** Separates recalled messages that are not adjacent, so that they do not read as question and answer. */
const GAP = "…";
/** Replied-to messages that are shown, and the shown length of each, in UTF-16 units. */
const MAX_REPLIES = 5;
const REPLY_LENGTH = 300;
const QUOTE_LENGTH = 4000;

export interface LookedUp {
  /** The best first. */
  readonly recalled: readonly EntryReference[];
  /** The best first; those that stand on pages alone last, page by page. */
  readonly remembered: readonly RecalledStatement[];
  readonly attached: Attached;
  /** An extract of the omitted range; null: nothing is omitted, or no extract came in time. */
  readonly extract: OmittedExtract | null;
  readonly channelFiles: readonly AgentFile[];
  readonly activeTexts: readonly string[];
  readonly waitedFor: readonly WaitedFor[];
  /** The look-up of a question ended in time and found nothing. */
  readonly isUnfound: boolean;
}

/** Lines about work of a feature for which the agent waits, as a section. */
export interface WaitedFor {
  readonly kind: BuiltInKind;
  readonly lines: readonly string[];
}

/** An extract of the entries that are omitted from the view, up to here. */
export interface OmittedExtract {
  readonly toSeq: Seq;
  readonly text: string;
  /** Estimated. */
  readonly tokens: number;
}

/** Replies and pictures of the messages to answer. */
export interface Attached {
  readonly replies: readonly Reply[];
  readonly images: readonly DueImages[];
}

/** A message that replies to an earlier one. */
export interface Reply {
  readonly author: string;
  readonly to: EntryReference;
  /** The log does not have it, so that no search finds more of it. */
  readonly isUnheard?: true;
}

export const NOTHING_ATTACHED: Attached = { replies: [], images: [] };
/** For a request that only measures. */
export const NOTHING_LOOKED_UP: LookedUp = {
  recalled: [],
  remembered: [],
  attached: NOTHING_ATTACHED,
  extract: null,
  channelFiles: [],
  activeTexts: [],
  waitedFor: [],
  isUnfound: false,
};

export interface TurnSituation extends LookedUp {
  /** Tokens of the window that the request may use. */
  readonly usable: number;
  /** The same in estimated tokens, for what is chosen anew in each turn; default: `usable`. */
  readonly usableEstimated?: number;
  /** Pictures from this turn's tools; default: none. */
  readonly resultImages?: readonly ResultImages[];
  readonly history: History;
  readonly turn: TurnRange;
  readonly now: Date;
  readonly scene: Scene;
}

/**
 * The sources of the next request, without look-ups: with the running turn's own part, or with the due messages as the
 * next turn's. Pure. @param situation.channelFiles, active texts and work of the channel; default: none
 */
export function nextSources(
  agent: Agent,
  history: History,
  {
    running,
    ...situation
  }: { readonly running: TurnRange | null } & Pick<TurnSituation, "now" | "scene" | "usable"> &
    Partial<Pick<TurnSituation, "channelFiles" | "activeTexts" | "waitedFor">>,
): ContextSources {
  const next = history.lastSeq + 1;
  const fromSeq = running?.fromSeq ?? dueMessages(history)[0]?.seq ?? next;
  const turn = { id: running?.id ?? turnId(-1), fromSeq, toSeq: next };
  return contextSources(agent, { history, turn, ...NOTHING_LOOKED_UP, ...situation });
}

/** Where a turn takes place: for people, and as the names of files in the agent's folder. */
export interface Scene extends SectionScene {
  readonly channel: string;
  /** One person's direct conversation: due work there is answered to that person. */
  readonly isDirect?: true;
}

/** The sources of a context of this agent. Pure. */
export function contextSources(agent: Agent, situation: TurnSituation): ContextSources {
  const { history, turn, remembered, isUnfound, attached, extract, now, scene, usable } = situation;
  const { usableEstimated = usable } = situation;
  const quotedAlready = new Set(attached.replies.slice(0, MAX_REPLIES).map(({ to }) => to.seq));
  const recalled = situation.recalled.filter(({ seq }) => !quotedAlready.has(seq));
  const people = peopleOf(history, turn).map(quotedName);
  const asked = askedIn(history, turn);
  const askedText = asked.map(({ text }) => text).join("\n");
  const wanted = wantedBy(askedText);
  const learned = history.learned.lines({ asked, isDirect: scene.isDirect === true, now });
  const sections = chooseSections(
    agent.folder.current,
    scene,
    asked,
    sectionLimits(usable),
    situation.channelFiles,
    situation.activeTexts,
  );
  return {
    ...stablePart(agent, agent.time.day(now), sections.static),
    sections: sections.static,
    focus: sections.focus,
    history,
    turn,
    renderer: agent.renderer,
    images: attached.images,
    resultImages: situation.resultImages ?? [],
    pruning: { ...agent.config.pruning, fromTokens: agent.config.pruning.threshold * usable },
    dynamic: {
      make: (omission, room = Infinity, due = 0, quotable = Infinity) => {
        const statements = rememberedSections(agent, remembered, { room: room / 4, usable });
        const replies = replyLines(agent, attached.replies);
        const answered = fitting(replies, room / 4);
        const left = extractOf(omission, extract, room / 4);
        const taught = fitting(learned, room / 4);
        const working = situation.waitedFor.map(({ kind, lines }) => ({
          kind,
          lines: atWork(lines, room / 4),
        }));
        const noted = withinRoom(sections.dynamic, room);
        const named = fitting(people, room / 4);
        const texts = [...named, ...answered, ...taught, ...working.flatMap((one) => one.lines)];
        const rest = roomBeside(room, texts, [statements, left, noted]);
        const limits = limitsOf(wanted, usableEstimated, Math.min(rest, quotable));
        const untold = untoldFirst(recalled, statements.shown, askedText);
        const passages = recalledLines(agent, untold, { ...limits, now });
        const shown = [
          ...noted.sections,
          ...quoted("learned", taught, learned.length),
          ...statements.sections,
          ...quoted("recalled", passages, recalled.length),
          ...(isUnfound ? [plain("unfound", agent.texts.unfound())] : []),
          ...working.flatMap(({ kind, lines }) => quoted(kind, lines, lines.length)),
          ...quoted("replies", answered, replies.length),
          ...(omission === null ? [] : [plain("omitted", omissionMarker(agent, omission))]),
          ...(left === null ? [] : [plain("extract", left.text)]),
        ];
        const text = agent.texts.dynamic({
          now: agent.time.full(now),
          platform: scene.platform,
          channel: quotedName(scene.channel),
          people: named,
          sections: shown,
          due,
        });
        return { text, sections: [...shown, ...noted.leftOut] };
      },
    },
  };
}

/** Estimated tokens of a room that lines and other parts leave. */
function roomBeside(
  room: number,
  lines: readonly string[],
  parts: readonly ({ readonly tokens: number } | null)[],
): number {
  return parts.reduce((left, part) => left - (part?.tokens ?? 0), room - tokensOf(lines));
}

interface RecalledLimits {
  /** Estimated tokens of all. */
  readonly room: number;
  /** UTF-16 units of each but the best. */
  readonly length: number;
}

/** @param usable estimated tokens @param room estimated tokens that the rest of the dynamic part leaves */
function limitsOf(wanted: Wanted, usable: number, room: number): RecalledLimits {
  const share = Math.floor(RECALLED_SHARE[wanted] * usable);
  return {
    room: Math.min(room, MOST_RECALLED, Math.max(leastRecalled(usable), share)),
    length: wanted === "told" ? PASSAGE_LENGTH : BEST_LENGTH,
  };
}

/** Lines that must not be lost: if there is too little room, one line gives their number. */
function atWork(lines: readonly string[], room: number): readonly string[] {
  return fitting(lines, room).length === lines.length
    ? lines
    : [`${lines.length} of them, too many to name.`];
}

/** Found lines as one section. @param found their number before some were left out for lack of room */
function quoted(kind: BuiltInKind, lines: readonly string[], found: number): Section[] {
  const evidence = lines.length < found ? [`${lines.length} of ${found}`] : [];
  return lines.length === 0 ? [] : [{ ...plain(kind, lines.join("\n")), evidence }];
}

function plain(kind: BuiltInKind, text: string): Section {
  const [characters, tokens] = [text.length, estimateTokens(text)];
  const same = (size: number) => ({ before: size, after: size });
  return builtInSection(kind, { text, characters: same(characters), tokens: same(tokens) });
}

/** The part that stays the same all day. */
type StablePart = Pick<ContextSources, "tools" | "system">;

interface KnownPart {
  readonly date: string;
  readonly texts: Agent["texts"];
  readonly part: StablePart;
}

/** By an agent's tools: all channels with the same tools share one rendering. */
const STABLE = new WeakMap<Agent["tools"], WeakMap<readonly Section[], KnownPart>>();

/** Rendered once a day for each choice of sections: doing it for each request took a tenth of a turn's processor time. */
function stablePart(agent: Agent, date: string, sections: readonly Section[]): StablePart {
  const { tools, texts } = agent;
  const parts: WeakMap<readonly Section[], KnownPart> = STABLE.get(tools) ?? new WeakMap();
  STABLE.set(tools, parts);
  const known = parts.get(sections);
  if (known?.date === date && known.texts === texts) return known.part;
  const part = { tools: tools.map(({ spec }) => spec), system: systemText(agent, date, sections) };
  parts.set(sections, { date, texts, part });
  return part;
}

/** The static prompt: the template, then the sections of the agent's folder. */
export function systemText(agent: Agent, date: string, sections: readonly Section[]): string {
  const shown = sections.filter(({ state }) => state !== "left out");
  const system = agent.texts.system({ date });
  const writesFolder = agent.tools.some((tool) => tool.writesFolder === true);
  if (shown.length === 0 && !writesFolder) return system;
  const tools = agent.tools.map(({ spec }) => spec.name);
  const values = { folder: agent.folder.shownAs, tools, writesFolder, sections: shown };
  return `${system}\n\n${agent.texts.sections(values)}`;
}

/** The author of a message that a turn answers. */
interface AskedBy extends AskedMessage {
  readonly authorName: string;
}

/** The messages to answer, reduced to the inputs of sections and of what was learned. */
function askedIn(history: History, turn: TurnRange): AskedBy[] {
  // What it has taken in changes no part of its request that stands before: the rest would be paid for again.
  const to = begunTo(history, turn);
  return dueMessages(history)
    .filter(({ seq }) => seq <= to)
    .map(({ author, text }) => ({ authorId: author.id, authorName: author.name, text }));
}

/** The most important sections that there is room for. */
function withinRoom(sections: readonly Section[], room: number) {
  let tokens = 0;
  const shown: Section[] = [];
  const leftOut: Section[] = [];
  for (const section of sections) {
    if (section.state === "left out" || tokens + section.tokens.after > room)
      leftOut.push(withoutText(section));
    else {
      shown.push(section);
      tokens += section.tokens.after;
    }
  }
  return { sections: shown, leftOut, tokens };
}

function withoutText(section: Section): Section {
  if (section.state === "left out") return section;
  const characters = { ...section.characters, after: 0 };
  const tokens = { ...section.tokens, after: 0 };
  return { ...section, text: "", state: "left out", characters, tokens };
}

/** The extract, if it is of exactly the omitted range and fits whole. */
function extractOf(
  omission: Omission | null,
  extract: OmittedExtract | null,
  room: number,
): OmittedExtract | null {
  return omission !== null && extract?.toSeq === omission.toSeq && extract.tokens <= room ? extract : null;
}

/** `[System: N older messages were truncated due to context limits] …` */
function omissionMarker(agent: Agent, omission: Omission): string {
  return agent.texts
    .omission({
      count: omission.count,
      fromTime: agent.time.minute(omission.firstAt),
      toTime: agent.time.minute(omission.lastAt),
    })
    .trim();
}

function peopleOf(history: History, turn: TurnRange): string[] {
  const names = new Set<string>();
  const to = begunTo(history, turn);
  for (let index = history.entries.length - 1; index >= 0 && names.size < PEOPLE; index--) {
    const entry = history.entries[index];
    if (entry?.kind === "user" && entry.seq <= to && !isDueWork(entry.messageId))
      names.add(entry.author.name);
  }
  return [...names];
}

/**
 * Messages that a shown memory already tells give way to others, apart from the best ones. A memory tells a message if it is
 * proved by it, and has all words of the question that the message has: it may be one sentence of several.
 * @param recalled the best first
 */
function untoldFirst(
  recalled: readonly EntryReference[],
  statements: readonly RecalledStatement[],
  question: string,
): readonly EntryReference[] {
  // A memory has the time and the author of its newest source.
  const sourceOf = (at: Date, author: string): string => `${at.getTime()} ${author}`;
  const telling = Map.groupBy(statements, ({ at, assertedBy }) => sourceOf(at, assertedBy));
  if (telling.size === 0) return recalled;
  const asked = tellingTerms(question);
  const isTold = ({ at, author, text }: EntryReference): boolean => {
    const told = telling.get(sourceOf(at, author)) ?? [];
    if (told.length === 0) return false;
    const said = asked.intersection(tellingTerms(text ?? ""));
    const inAll = tellingTerms(told.map(({ statement }) => statement).join("\n"));
    return said.size > 0 && said.isSubsetOf(inAll);
  };
  const others = Map.groupBy(recalled.slice(BEST_PASSAGES), isTold);
  return [...recalled.slice(0, BEST_PASSAGES), ...(others.get(false) ?? []), ...(others.get(true) ?? [])];
}

/** A recalled message. Its head depends on the one before it. */
interface Passage {
  readonly said: EntryReference;
  readonly body: string;
  head: string;
}

/** The best messages that there is room for, oldest first. @param recalled the best first */
function recalledLines(
  agent: Agent,
  recalled: readonly EntryReference[],
  { room, length, now }: RecalledLimits & { readonly now: Date },
): string[] {
  const headOf = (said: EntryReference, before?: EntryReference): string =>
    recalledHead(agent, { said, before, now });
  const shown: Passage[] = [];
  let left = room;
  for (const [place, said] of recalled.entries()) {
    if (said.text === null) continue;
    const most = place < BEST_PASSAGES ? BEST_LENGTH : length;
    const short = said.text.length > most ? `${sliceWhole(said.text, 0, most)} …` : said.text;
    const body = escapeLabels(capText(short, room / 3));
    const at = shown.findIndex((one) => one.said.seq > said.seq);
    const next = shown[at];
    const before = at < 0 ? shown.at(-1) : shown[at - 1];
    const head = headOf(said, before?.said);
    const nextHead = next === undefined ? "" : headOf(next.said, said);
    const grown = next === undefined ? 0 : estimateTokens(nextHead) - estimateTokens(next.head);
    const tokens = estimateTokens(head) + estimateTokens(body) + 1 + grown;
    if (tokens > left) continue;
    left -= tokens;
    if (next !== undefined) next.head = nextHead;
    shown.splice(at < 0 ? shown.length : at, 0, { said, body, head });
  }
  return shown.map(({ head, body }) => head + body);
}

/** The head of a recalled text: its time, its speaker, and a mark if it does not follow a text of the same day before it. */
function recalledHead(
  { renderer, time }: Agent,
  { said, before, now }: { said: EntryReference; before: EntryReference | undefined; now: Date },
): string {
  const head = renderer.quotedHead(said.at, renderer.authorOf(said), { before: before?.at ?? null, now });
  const isApart =
    before !== undefined && before.seq + 1 !== said.seq && time.day(before.at) === time.day(said.at);
  return isApart ? `${GAP}\n${head}` : head;
}

/** `Ann answers [2026-11-21 14:05] Ben: text`, short and few; search shows the rest. */
function replyLines(agent: Agent, replies: readonly Reply[]): string[] {
  return replies.slice(0, MAX_REPLIES).flatMap(({ author, to, isUnheard }) => {
    if (to.text === null) return [];
    const length = isUnheard === true ? QUOTE_LENGTH : REPLY_LENGTH;
    const short = to.text.length > length ? `${sliceWhole(to.text, 0, length)} …` : to.text;
    return [
      `${displayName(author)} answers ${agent.renderer.line(to.at, agent.renderer.authorOf(to), short)}`,
    ];
  });
}

/** Pages of people, then what else was recalled; no statement stands in both. @param room estimated tokens of all */
function rememberedSections(
  agent: Agent,
  remembered: readonly RecalledStatement[],
  { room, usable }: { readonly room: number; readonly usable: number },
) {
  const pages = personPages(
    agent,
    remembered,
    Math.min(room, MOST_PAGE_TOKENS, Math.floor(usable * PAGES_SHARE)),
  );
  const others = remembered.filter((one) => one.isOnPageAlone !== true && !pages.shown.has(one));
  const lines = rememberedLines(agent, others, room - tokensOf(pages.lines));
  return {
    sections: [
      ...quoted("people", pages.lines, pages.lines.length),
      ...quoted("remembered", lines, others.length),
    ],
    tokens: tokensOf([...pages.lines, ...lines]),
    shown: [...pages.shown, ...others.slice(0, lines.length)],
  };
}

/** Share of the usable window for all pages of people, and most of their estimated tokens. */
const PAGES_SHARE = 1 / 24;
const MOST_PAGE_TOKENS = 600;
/** Share of that for the page of a person who asks about something else. */
const ASKING_SHARE = 1 / 4;

/**
 * As much of each page as there is room for, as lines with a head for each person: the beginning, in the order of a page.
 * @param remembered page by page, in the order in which a page gives way
 * @param room estimated tokens of all
 */
function personPages(agent: Agent, remembered: readonly RecalledStatement[], room: number) {
  const pages = Map.groupBy(remembered, ({ page }) => page?.name ?? "");
  pages.delete("");
  const shown = new Set<RecalledStatement>();
  const lines: string[] = [];
  let left = room;
  for (const [name, statements] of pages) {
    const isAskedAbout = statements.some(({ page }) => page?.isAskedAbout === true);
    const head = `${displayName(name)}:`;
    const all = Math.min(left, isAskedAbout ? room : room * ASKING_SHARE) - tokensOf([head]);
    const fits = all <= 0 ? 0 : rememberedLines(agent, statements, all).length;
    if (fits === 0) continue;
    const taken = inPageOrder(statements.slice(0, fits));
    const page = [head, ...rememberedLines(agent, taken, all)];
    for (const statement of taken) shown.add(statement);
    lines.push(...page);
    left -= tokensOf(page);
  }
  return { lines, shown };
}

function rememberedLines(
  agent: Agent,
  remembered: readonly RecalledStatement[],
  room: number,
): readonly string[] {
  const lines = remembered.map((memory) =>
    agent.renderer.memoryLine({ ...memory, statement: capText(memory.statement, room / 3) }),
  );
  return fitting(lines, room);
}

/** The first texts, as many as fit into `room` tokens together. */
function fitting(texts: readonly string[], room: number): readonly string[] {
  const units = texts.reduce((sum, { length }) => sum + length, 0);
  // The common case: they fit, whatever their characters.
  if (units * HEAVIEST_UNIT + texts.length * (SEPARATOR_TOKENS + 1) <= room) return texts;
  let tokens = 0;
  const end = texts.findIndex((text) => (tokens += tokensOf([text])) > room);
  return texts.slice(0, end < 0 ? texts.length : end);
}

function tokensOf(texts: readonly string[]): number {
  return texts.reduce((sum, text) => sum + estimateTokens(text) + SEPARATOR_TOKENS, 0);
}

/** Tokens between two names or two quoted lines. */
const SEPARATOR_TOKENS = 2;
