import type { ContextSources } from "../context/assemble.ts";
import { capText } from "../context/render.ts";
import { type History, type Omission, type TurnRange } from "../core/history.ts";
import type { EntryReference, RememberedStatement } from "../core/entry.ts";
import { displayName, sliceWhole } from "../core/text.ts";
import { estimateTokens, HEAVIEST_UNIT } from "../core/tokens.ts";
import type { Agent } from "./agent.ts";

/** People of the newest messages that the dynamic part names. */
const PEOPLE = 12;
/** Longest recalled message, and all of them together, in UTF-16 units. */
const PASSAGE_LENGTH = 1000;
const RECALLED_LENGTH = 6000;

export interface TurnSituation {
  readonly history: History;
  readonly turn: TurnRange;
  readonly recalled: readonly EntryReference[];
  readonly remembered: readonly RememberedStatement[];
  readonly now: Date;
  readonly place: Place;
}

/** Where a turn takes place, as a person would say it. */
export interface Place {
  readonly platform: string;
  readonly channel: string;
}

/** Gathers what a context of this agent is made of. Pure. */
export function contextSources(agent: Agent, situation: TurnSituation): ContextSources {
  const { history, turn, recalled, remembered, now, place } = situation;
  const people = peopleOf(history, turn);
  return {
    ...stablePart(agent, agent.time.day(now)),
    history,
    turn,
    renderer: agent.renderer,
    dynamic: {
      text: (omission, room = Infinity) => {
        const named = fitting(people, room / 4);
        const statements = rememberedLines(agent, remembered, room / 4);
        return agent.texts.dynamic({
          now: agent.time.full(now),
          platform: place.platform,
          channel: displayName(place.channel),
          people: named,
          remembered: asOne(statements),
          recalled: asOne(recalledLines(agent, recalled, room * 0.75 - tokensOf(statements))),
          omitted: omission && omissionMarker(agent, omission),
        });
      },
    },
  };
}

/** The template quotes a text line by line whatever it is made of, and a loop over thirty lines takes it 0.1 ms. */
function asOne(lines: readonly string[]): string[] {
  return lines.length === 0 ? [] : [lines.join("\n")];
}

/** What stays the same all day. */
type StablePart = Pick<ContextSources, "tools" | "system">;

const STABLE = new WeakMap<Agent, { readonly date: string; readonly part: StablePart }>();

/** Made once a day: rendering it for each request took a tenth of a turn's processor time. */
function stablePart(agent: Agent, date: string): StablePart {
  const known = STABLE.get(agent);
  if (known?.date === date) return known.part;
  const part = { tools: agent.tools.map(({ spec }) => spec), system: agent.texts.system({ date }) };
  STABLE.set(agent, { date, part });
  return part;
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
  for (let index = history.entries.length - 1; index >= 0 && names.size < PEOPLE; index--) {
    const entry = history.entries[index];
    if (entry?.kind === "user" && entry.seq <= turn.toSeq) names.add(entry.author.name);
  }
  return [...names];
}

function recalledLines(agent: Agent, recalled: readonly EntryReference[], room: number): string[] {
  const lines = recalled.flatMap(({ at, author, text }) => {
    if (text === null) return [];
    const short = text.length > PASSAGE_LENGTH ? `${sliceWhole(text, 0, PASSAGE_LENGTH)} …` : text;
    return [agent.renderer.line(at, author, capText(short, room / 3))];
  });
  let length = 0;
  return fitting(lines, room).filter((line) => (length += line.length) <= RECALLED_LENGTH);
}

function rememberedLines(
  agent: Agent,
  remembered: readonly RememberedStatement[],
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
  // Most often they fit whatever they say.
  if (units * HEAVIEST_UNIT + texts.length * (SEPARATOR_TOKENS + 1) <= room) return texts;
  let tokens = 0;
  const end = texts.findIndex((text) => (tokens += tokensOf([text])) > room);
  return texts.slice(0, end < 0 ? texts.length : end);
}

function tokensOf(texts: readonly string[]): number {
  return texts.reduce((sum, text) => sum + estimateTokens(text) + SEPARATOR_TOKENS, 0);
}

/** Between two names or two quoted lines. */
const SEPARATOR_TOKENS = 2;
