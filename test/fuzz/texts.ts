import type { Author } from "../../src/core/message.ts";
import { Random } from "./random.ts";
import type { Size } from "./schedule.ts";

/** A word that stands in one text of a run and nowhere else. */
export function markerOf(n: number): string {
  return `zq${n.toString(36).padStart(4, "0")}zq`;
}

/** The inverse. */
export function markerNumber(marker: string): number {
  return Number.parseInt(marker.slice(2, -2), 36) || 0;
}

export const MARKER = /zq[0-9a-z]{4}zq/g;
/** A word of texts that must never be committed. */
export const BAD = /bad[0-9a-z]{4}bad/g;

export function badMarkerOf(n: number): string {
  return `bad${n.toString(36).padStart(4, "0")}bad`;
}

const NAMES = ["Ann", "Ben", "Cleo", "Dov", "Eri"] as const;

export function authorOf(who: number): Author {
  const name = NAMES[who % NAMES.length] ?? "Ann";
  return { id: `u-${name.toLowerCase()}`, name, isBot: false };
}

const WORDS =
  "harbour lantern budget friday release kettle bridge window garden ticket engine sailor market winter recipe signal".split(
    " ",
  );
const HAN = Array.from("明日会議予算港橋窓庭市場冬料理信号船員切符茶");

/** What somebody says: its marker comes first, so that the shortest form of the message still shows it. */
export function textOf(n: number, size: Size, mention = ""): string {
  const random = new Random(n * 7919 + 13);
  return `${markerOf(n)} ${mention}${body(random, size)}`;
}

/** The message of an edit, and the word that it has brought, in a text of it. */
export const EDITED = /(zq[0-9a-z]{4}zq) (zq[0-9a-z]{4}zq) now it says/g;

export function editOf(marker: string, n: number): string {
  return `${marker} ${markerOf(n)} now it says ${words(new Random(n), 6)}`;
}

/** Words that several messages share, for queries of tools. */
export function query(n: number): string {
  return words(new Random(n), 3);
}

export function words(random: Random, count: number): string {
  return Array.from({ length: count }, () => random.pick(WORDS)).join(" ");
}

function body(random: Random, size: Size): string {
  switch (size) {
    case "short":
      return words(random, random.int(2, 9));
    case "long":
      return words(random, random.int(30, 60));
    case "cjk":
      return Array.from({ length: random.int(15, 50) }, () => random.pick(HAN)).join("");
    case "code":
      return Array.from(
        { length: random.int(3, 8) },
        (_, line) => `  const ${random.pick(WORDS)}${line} = call("${random.pick(WORDS)}", ${line});`,
      ).join("\n");
    case "paste":
      return words(random, 700).slice(0, 5000);
  }
}
