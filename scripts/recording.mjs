/**
 * Records `docs/chat.svg`, the moving picture in the README: `npm run recording`.
 *
 * It is a real session: `weir chat` runs in a terminal of its own (util-linux' `script` makes one), after a long made-up
 * conversation, with the built-in stand-in as its model. What the terminal shows is drawn line by line with the time at which each
 * line stood there. Waits are shortened, and the temporary folder has another name; the rest is as it was.
 */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { setTimeout as sleep } from "node:timers/promises";
import { MAIN, ROOT, withTalk } from "./made-up-talk.mjs";
import { drawFrames, RecordedTerminal, textOf } from "./recorded-terminal.mjs";

const COLUMNS = 96;
const ROWS = 21;
/** Longest time for which nothing moves, ms. */
const MAX_PAUSE_MS = 2600;
/** How long the last screen stands, ms. */
const END_MS = 5000;
const KEY_MS = 35;
const ANSWER_MS = 20_000;

/** What is typed, and what the screen shows once it is answered. */
const STEPS = [
  { wait: /^\d+ messages since[^]*Ann> $/m },
  { type: "How much was invoice 2076?", wait: /2076\?[^]*2076[^]*— \w+, [^]*Ann> $/m },
  { type: "/remember Invoice 2076 is paid since Tuesday.", wait: /^Remembered [^]*Ann> $/m },
  { type: "Is 2076 paid?", wait: /paid\?[^]*— \w+, [^]*Ann> $/m },
];

/** As somebody's own folder is called, which the temporary one of the recording stands for. */
const SHOWN_FOLDER = "/home/ann/weir";

/** The session's screens, each with the time at which it began to show, ms. */
async function record(cwd) {
  const session = new RecordedTerminal({
    columns: COLUMNS,
    rows: ROWS,
    command: `'${process.execPath}' '${MAIN}' chat --as Ann`,
    cwd,
    renamed: (data) => data.replaceAll(cwd, SHOWN_FOLDER),
  });
  const until = async (pattern) => {
    const deadline = performance.now() + ANSWER_MS;
    while (!pattern.test(session.shown())) {
      if (performance.now() > deadline) throw new Error(`never came: ${pattern}\n${session.shown()}`);
      await sleep(50);
    }
  };
  for (const { type, wait } of STEPS) {
    if (type !== undefined) {
      await sleep(700);
      for (const key of type) {
        session.type(key);
        await sleep(KEY_MS);
      }
      await sleep(300);
      session.type("\r");
      await sleep(400);
    }
    await until(wait);
    await sleep(MAX_PAUSE_MS);
  }
  session.type("\u0004");
  await session.ended;
  const { frames } = session;
  const last = frames.findLastIndex(({ rows }) => /Ann> *$/.test(textOf(rows).trimEnd()));
  return frames.slice(0, last + 1);
}

/** The same with shorter waits, from the first screen with text on. */
function shortened(frames) {
  const first = frames.findIndex(({ rows }) => textOf(rows).trim() !== "");
  let at = 0;
  return frames.slice(first).map((frame, index, all) => {
    if (index > 0) at += Math.min(frame.at - all[index - 1].at, MAX_PAUSE_MS);
    return { at, rows: frame.rows };
  });
}

const frames = shortened(await withTalk("main", record));
const label =
  "a chat with Weir in a terminal: it finds a line of half a year ago, is told something new, and brings both together";
writeFileSync(join(ROOT, "docs", "chat.svg"), drawFrames(frames, { label, endMs: END_MS }));
process.stdout.write(`docs/chat.svg: ${frames.length} screens in ${Math.round(frames.at(-1).at / 1000)} s\n`);
