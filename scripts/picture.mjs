/**
 * Draws `docs/demo.svg`, the moving picture at the top of the README: `npm run picture` (on Linux).
 *
 * It is a real `weir demo` in a terminal of its own. Of its screens those are drawn in which something new is explained, and some
 * between them, so that the picture lasts less than a minute.
 */
import { writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { MAIN, ROOT } from "./made-up-talk.mjs";
import { drawFrames, RecordedTerminal, textOf } from "./recorded-terminal.mjs";

const COLUMNS = 90;
const ROWS = 20;
/** How fast the demo runs while it is recorded. */
const SPEED = 4;
/** Screens before the first explanation, and of each later one. */
const FIRST = 8;
const EACH = 2;
/** How long a screen stands, ms: the first of an explanation longer. */
const SCREEN_MS = 500;
const EXPLAINED_MS = 1600;
const END_MS = 7000;

/** The explanation stands above the row with the keys. */
function explanationOf(rows) {
  const lines = textOf(rows).split("\n");
  return lines[lines.findIndex((line) => line.includes("space pauses")) - 1];
}

const session = new RecordedTerminal({
  columns: COLUMNS,
  rows: ROWS,
  command: `'${process.execPath}' '${MAIN}' demo --speed ${SPEED}`,
  cwd: tmpdir(),
});
await session.ended;
const all = session.frames.filter(({ rows }) => /space pauses/.test(textOf(rows)));

/** Screens of one explanation, together. */
const scenes = [];
for (const frame of all) {
  const explanation = explanationOf(frame.rows);
  if (scenes.at(-1)?.explanation === explanation) scenes.at(-1).frames.push(frame);
  else scenes.push({ explanation, frames: [frame] });
}
const frames = [];
let at = 0;
for (const { explanation, frames: scene } of scenes) {
  const count = explanation === "" ? FIRST : EACH;
  for (let shown = 0; shown < count; shown++) {
    frames.push({ at, rows: scene[Math.floor((shown * (scene.length - 1)) / (count - 1))].rows });
    at += shown === 0 && explanation !== "" ? EXPLAINED_MS : SCREEN_MS;
  }
}
frames.push({ at, rows: session.screen() });
const label =
  "weir demo: the window of a model fills with a conversation, summaries take the place of old messages while answers go on, and at the end a message of the beginning is found";
writeFileSync(join(ROOT, "docs", "demo.svg"), drawFrames(frames, { label, endMs: END_MS }));
process.stdout.write(`docs/demo.svg: ${frames.length} screens in ${Math.round((at + END_MS) / 1000)} s\n`);
