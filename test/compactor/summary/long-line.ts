/**
 * Run by a test, in a process of its own: cuts a line of 5 MB where V8 no longer optimises expressions. It does so in a process whose
 * expressions have taken a megabyte of code, with 16 MB of code in all, as a daemon's may.
 */
import assert from "node:assert/strict";
import { chunkTranscript } from "../../../src/compactor/summary/chunks.ts";
import { transcribe } from "../../../src/compactor/summary/transcript.ts";
import { createTimeFormat } from "../../../src/text/time.ts";
import { atOnce } from "../../support/at-once.ts";
import { said } from "../entries.ts";

const LONG = 5_000_000;
const expressions = Array.from({ length: 120 }, (_, number) => {
  const words = Array.from({ length: 600 }, (__, index) => `[${number % 7}-9]x${number}y${index}[a-f]+z`);
  const expression = new RegExp(
    words
      .join("|")
      .slice(0, 19_000)
      .replace(/\|[^|]*$/, ""),
  );
  for (let time = 0; time < 4; time++)
    for (const text of ["9x1y2bbbz", "水9x1y2bbbz"]) expression.test(text.repeat(40));
  return expression;
});
assert.throws(() => /[^\n]+\n?|\n/.exec("a".repeat(LONG)), RangeError, "expressions are still optimised");

const style = {
  agentName: "Weir",
  time: createTimeFormat("UTC"),
  texts: { editNote: () => "", absence: () => "", undelivered: () => "" },
};
for (const text of ["a".repeat(LONG), "a word, ".repeat(LONG / 8)]) {
  const chunks = atOnce(chunkTranscript(transcribe([said(1, "Ann", text)], style), 100_000)) ?? [];
  const length = chunks.reduce((sum, chunk) => sum + chunk.text.length, 0);
  assert.ok(length >= LONG, `${length} characters in ${chunks.length} chunks`);
}
assert.equal(expressions.length, 120);
