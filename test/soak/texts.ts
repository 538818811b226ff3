/** What people say in a soak: each message has a mark, as `g12`, that no other one has. */
import type { Random } from "../fuzz/random.ts";
import { messageText } from "../chaos/texts.ts";

/** What a question makes the model do before it answers. */
export const CUES = ["search", "react", "remind", "helper"] as const;
export type Cue = (typeof CUES)[number];

/** Words of a task for a subagent. */
export const HELPER_TASK = "Look after the gauge";
export const REMINDER = "Read the gauge";

const LONGEST = 12;

/** Something that wants an answer. @param cue null: a plain answer */
export function question(mark: string, random: Random, cue: Cue | null): string {
  const size = random.pick(["short", "short", "middle"] as const);
  return `Tell me${cue === null ? "" : ` [${cue}]`}, please: ${messageText(mark, random, size)}`;
}

/** Something that wants none. */
export function remark(mark: string, random: Random): string {
  return messageText(mark, random, random.pick(["short", "middle", "long"] as const));
}

/** A question with a log pasted behind it. @param most of the whole, UTF-16 units */
export function paste(mark: string, random: Random, most: number): string {
  const lines = Array.from({ length: LONGEST }, () => remark(`line ${random.int(1, 999)}`, random));
  return `${question(mark, random, null)}\n${lines.join("\n")}`.slice(0, most);
}

export interface Asked {
  readonly mark: string;
  readonly cue: Cue | null;
}

const QUESTION = /Tell me(?: \[(\w+)\])?, please: (g\d+) /g;

/** The questions in what a model was shown, in order. */
export function questionsIn(text: string): Asked[] {
  return [...text.matchAll(QUESTION)].map(([, word, mark = ""]) => ({
    mark,
    cue: CUES.find((cue) => cue === word) ?? null,
  }));
}

/** How an answer begins: with the marks of all that it answers. */
export function answerHead(marks: readonly string[]): string {
  return `Answer to ${marks.join(" ")}:`;
}

const HEAD = /Answer to ((?:g\d+ ?)+):/;

/** The marks of what an answer answers, as people see it; none: it is another message. */
export function marksAnswered(text: string): string[] {
  return HEAD.exec(text)?.[1]?.split(" ") ?? [];
}
