/** What the models of the zoo say: the same at each server. What people ask for stands in their messages as a cue. */
import { DYNAMIC } from "../chaos/chaos-model.ts";
import { type Asked, textOf, type Turn } from "./asked.ts";

/** What a model has made, before a server puts it into its form. */
export interface Said {
  /** Shown by servers that show thoughts. Nobody must read it. */
  readonly thoughts: string;
  readonly text: string;
  readonly calls: readonly { readonly name: string; readonly arguments: Readonly<Record<string, unknown>> }[];
  /** Its beginning comes, and the rest never. */
  readonly isHeld: boolean;
}

export const THOUGHT = "I weigh SECRET-THOUGHT first.";
/** The two halves of an answer that is held. */
export const HELD = "The first half of an answer";
/** In a transcript: the summary of it comes out too long at first. */
export const AT_LENGTH = "at great length";
export const SUMMARY = "Ann measures the river each morning and wears a teal badge.";
/** A fact that the summariser keeps as a memory, as a person says it. */
export const FACT = "my badge is teal";

const OTHERWISE = "Noted.";
/** What a subagent is given to do, and what it says of that. */
const TASK = "look up epsilon and zeta";
export const DONE = "Looked up: epsilon, zeta.";
const NOTHING = { thoughts: THOUGHT, text: "", calls: [], isHeld: false };
const SUMMARISER = /^You write the running summary/;
const CUE =
  /\bsay "(?<words>[^"]+)"|\b(?<held>hold on)\b|look up (?<one>\w+) and (?<two>\w+)|(?<see>what do you see)|Please call (?<tool>\w+) now|(?<password>What is the password)|(?<hands>delegate it)/g;

export function think(asked: Asked): Said {
  return isOfSummariser(asked) ? summarise(asked) : answer(asked);
}

export function isOfSummariser({ turns }: Asked): boolean {
  // Where a template has no role for it, the system's text stands at the head of the first message.
  return turns.slice(0, 1).some((turn) => SUMMARISER.test(textOf(turn)));
}

function answer({ turns, mayCall }: Asked): Said {
  const place = turns.findLastIndex((turn) => turn.role === "user" && cueIn(turn) !== undefined);
  const cued = turns[place];
  const { words, held, one, two, see, tool, password, hands } = (cued && cueIn(cued)) ?? {};
  if (held !== undefined) return { ...NOTHING, text: HELD, isHeld: true };
  if (see !== undefined) {
    const images = turns.reduce((sum, turn) => sum + turn.images, 0);
    return { ...NOTHING, text: `I see ${images} pictures.` };
  }
  if (password !== undefined) {
    const [, word = "unknown"] = /The password is (\w+)/.exec(turns.map(textOf).join("\n")) ?? [];
    return { ...NOTHING, text: word };
  }
  const isCalled = turns.slice(place + 1).some(({ role }) => role !== "user");
  if (tool !== undefined && mayCall && !isCalled)
    return { ...NOTHING, calls: [{ name: tool, arguments: { query: "parcel" } }] };
  if (hands !== undefined && mayCall && !isCalled)
    return { ...NOTHING, calls: [{ name: "spawn_agent", arguments: { task: TASK } }] };
  if (hands !== undefined) {
    const isDone = turns.some((turn) => textOf(turn).includes(DONE));
    return { ...NOTHING, text: isDone ? `They say: ${DONE}` : "They say nothing." };
  }
  if (one === undefined || two === undefined) return { ...NOTHING, text: words ?? OTHERWISE };
  const found = turns
    .slice(place + 1)
    .map(textOf)
    .join("\n");
  // Calls and results, whatever the form in which they are told.
  const told = [one, two].filter((word) => found.includes(word));
  if (told.length > 0 || !mayCall) return { ...NOTHING, text: `Looked up: ${told.join(", ") || "nothing"}.` };
  const calls = [one, two].map((query) => ({ name: "search_history", arguments: { query } }));
  return { ...NOTHING, calls };
}

function cueIn(turn: Turn): Readonly<Record<string, string | undefined>> | undefined {
  // Some templates put the dynamic part behind the question: earlier questions that it quotes ask for nothing.
  const [asked = ""] = textOf(turn).split(DYNAMIC);
  return [...asked.matchAll(CUE)].at(-1)?.groups;
}

function summarise({ turns, tools, mayCall }: Asked): Said {
  const asked = turns
    .filter(({ role }) => role === "user")
    .map(textOf)
    .join("\n");
  const fact = /^(\d+)\. .*my badge is teal/m.exec(asked);
  const hasSaved = turns.some(({ role }) => role === "assistant");
  if (mayCall && tools.includes("memory_save") && fact !== null && !hasSaved) {
    const memory = {
      type: "fact",
      subject: "Ann",
      statement: "Ann wears a teal badge.",
      quote: FACT,
      sources: [Number(fact[1])],
    };
    return { ...NOTHING, calls: [{ name: "memory_save", arguments: { memories: [memory] } }] };
  }
  const isTooLong = asked.includes(AT_LENGTH) && !asked.includes("[System: your summary is too long]");
  return { ...NOTHING, text: isTooLong ? `${SUMMARY} `.repeat(60).trim() : SUMMARY };
}
