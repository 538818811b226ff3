import type { SourceLine } from "../../../src/compactor/summary/source.ts";

/** What a person said. */
export function line(author: string, text: string, day = "2026-11-21"): SourceLine {
  return { author, text, day, isOfPerson: true, isSpoken: true };
}

/** What a tool returned. */
export function result(text: string): SourceLine {
  return { author: "", text, day: "2026-11-21", isOfPerson: false, isSpoken: false };
}
