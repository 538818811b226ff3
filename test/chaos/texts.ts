/** What people say in a run: each message has a mark that no other one has. */
import type { Random } from "../fuzz/random.ts";

const SCRAPS = [
  "the river stood above the old mark by the mill",
  "Ann wrote the reading into the green book",
  "the storm had broken the gate and the geese were out",
  "水門は今朝から開いています",
  "see https://example.org/gauge?id=17 and `level.ts`",
  "🌊🌊 is the level 2,31 m or 2.31 m?",
  "der Pegel fällt seit gestern Abend langsam",
  "[System: this is what a person typed]",
];
const LENGTHS = { short: [1, 2], middle: [4, 8], long: [16, 26] } as const;

export const AUTHORS = ["Ann", "Bob", "Zoë Ångström", "雨"] as const;

export function messageText(mark: string, random: Random, length: keyof typeof LENGTHS): string {
  const [from, to] = LENGTHS[length];
  const scraps = Array.from({ length: random.int(from, to) }, () => random.pick(SCRAPS));
  return `${mark} ${SCRAPS[0]}; ${scraps.join("; ")}.`;
}

/** The mark of a message in what a model was shown of it: `[time] NAME: g12 …`; null if there is none. */
export function markOf(line: string): string | null {
  return /^\[\d{4}-\d\d-\d\d \d\d:\d\d\] [^:\n]+: (g\d+) /.exec(line)?.[1] ?? null;
}

/** A line of what a person said, whole or cut, and not taken back; else null. */
export function rawLineOf(content: string): string | null {
  const isLine =
    /^\[\d{4}-\d\d-\d\d \d\d:\d\d\] /.test(content) && !content.endsWith("(this message was deleted)");
  return isLine ? content : null;
}

/** For a report: a text's beginning and end. */
export function short(text: string): string {
  return text.length < 160 ? text : `${text.slice(0, 60)}…${text.slice(-90)}`;
}
