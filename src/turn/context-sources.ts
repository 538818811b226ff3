import type { ContextSources } from "../context/assemble.ts";
import { type History, type Omission, type TurnRange, turnView } from "../core/history.ts";
import type { EntryReference } from "../core/entry.ts";
import type { Agent } from "./agent.ts";

/** People of the newest messages that the dynamic part names. */
const PEOPLE = 12;
/** Longest recalled passage, in UTF-16 units. */
const RECALLED_LENGTH = 6000;

export interface TurnSituation {
  readonly history: History;
  readonly turn: TurnRange;
  readonly recalled: readonly EntryReference[];
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
  const { history, turn, recalled, now, place } = situation;
  const people = peopleOf(history, turn);
  return {
    tools: agent.tools.map(({ spec }) => spec),
    system: agent.texts.system({ date: agent.time.day(now) }),
    history,
    turn,
    renderer: agent.renderer,
    dynamic: {
      text: (omission) =>
        agent.texts.dynamic({
          now: agent.time.full(now),
          ...place,
          people,
          recalled: recalledLines(agent, recalled),
          omitted: omission && omissionMarker(agent, omission),
        }),
    },
  };
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
  const view = turnView(history, turn);
  const names = new Set<string>();
  for (const entry of [...view.before, ...view.due].toReversed()) {
    if (entry.kind === "user") names.add(entry.author.name);
    if (names.size === PEOPLE) break;
  }
  return [...names];
}

function recalledLines(agent: Agent, recalled: readonly EntryReference[]): string[] {
  const lines: string[] = [];
  let length = 0;
  for (const { at, author, text } of recalled) {
    if (text === null) continue;
    const line = agent.renderer.line(
      at,
      author,
      text.length > 1000 ? `${text.slice(0, 1000).toWellFormed()} …` : text,
    );
    length += line.length;
    if (length > RECALLED_LENGTH) break;
    lines.push(line);
  }
  return lines;
}
