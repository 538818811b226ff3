/**
 * Records `docs/chat.svg`, the moving picture in the README: `npm run recording`.
 *
 * It is a real session: `weir chat` runs in a terminal of its own (util-linux' `script` makes one), after a long made-up
 * conversation, with the built-in stand-in as its model. What the terminal shows is drawn line by line with the time at which each
 * line stood there. Waits are shortened, and the temporary folder has another name; the rest is as it was.
 */
import { spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { setTimeout as sleep } from "node:timers/promises";
import headless from "@xterm/headless";
import { drawnLine, drawnTerminal, escaped } from "./drawn-terminal.mjs";
import { MAIN, ROOT, withTalk } from "./made-up-talk.mjs";

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

const { Terminal } = headless;
const terminal = new Terminal({ cols: COLUMNS, rows: ROWS, allowProposedApi: true });

/** The characters of a screen's row, joined where they look alike. */
function runsOf(row) {
  const runs = [];
  for (let column = 0; column < COLUMNS; column++) {
    const cell = row?.getCell(column);
    const text = cell?.getWidth() === 0 ? "" : cell?.getChars() || " ";
    const look = cell === undefined ? "" : lookOf(cell);
    const last = runs.at(-1);
    if (last?.look === look) last.text += text;
    else runs.push({ look, text });
  }
  if (runs.length > 0) runs[runs.length - 1].text = runs.at(-1).text.trimEnd();
  return runs.filter(({ text }) => text !== "");
}

function lookOf(cell) {
  const classes = [];
  if (cell.isBold()) classes.push("bold");
  if (cell.isDim()) classes.push("dim");
  if (!cell.isFgDefault()) classes.push(`c${cell.getFgColor()}`);
  return classes.join(" ");
}

const screen = () => {
  const { active } = terminal.buffer;
  return Array.from({ length: ROWS }, (_, row) => runsOf(active.getLine(active.viewportY + row)));
};
/** As somebody's own folder is called, which the temporary one of the recording stands for. */
const SHOWN_FOLDER = "/home/ann/weir";
const textOf = (rows) => rows.map((runs) => runs.map(({ text }) => text).join("")).join("\n");
/** The screen's text up to the cursor, where an unanswered prompt ends. */
const shown = () => {
  const { active } = terminal.buffer;
  const rows = Array.from({ length: active.cursorY + 1 }, (_, row) => active.getLine(active.viewportY + row));
  return rows
    .map((row, at) => row?.translateToString(true, 0, at === active.cursorY ? active.cursorX : COLUMNS))
    .join("\n");
};

/** The session's screens, each with the time at which it began to show, ms. */
async function record(cwd) {
  const renamed = (data) => data.replaceAll(cwd, SHOWN_FOLDER);
  const frames = [];
  const startedAt = performance.now();
  const command = `stty cols ${COLUMNS} rows ${ROWS}; exec '${process.execPath}' '${MAIN}' chat --as Ann`;
  const session = spawn("script", ["-qfc", command, "/dev/null"], {
    cwd,
    env: { PATH: process.env["PATH"] ?? "", TERM: "xterm-256color", LANG: "C.UTF-8", COLORTERM: "" },
    stdio: ["pipe", "pipe", "inherit"],
  });
  const keep = () => {
    const rows = screen();
    const text = JSON.stringify(rows);
    if (frames.at(-1)?.text !== text) frames.push({ at: performance.now() - startedAt, rows, text });
  };
  session.stdout.setEncoding("utf8");
  session.stdout.on("data", (data) => terminal.write(renamed(data), keep));
  const until = async (pattern) => {
    const deadline = performance.now() + ANSWER_MS;
    while (!pattern.test(shown())) {
      if (performance.now() > deadline) throw new Error(`never came: ${pattern}\n${shown()}`);
      await sleep(50);
    }
  };
  for (const { type, wait } of STEPS) {
    if (type !== undefined) {
      await sleep(700);
      for (const key of type) {
        session.stdin.write(key);
        await sleep(KEY_MS);
      }
      await sleep(300);
      session.stdin.write("\r");
      await sleep(400);
    }
    await until(wait);
    await sleep(MAX_PAUSE_MS);
  }
  session.stdin.write("\u0004");
  await new Promise((resolve) => session.once("exit", resolve));
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

/** What stood in a row, and from when to when. */
function* versionsOf(frames, row, endsAt) {
  let begun = null;
  for (const { at, rows } of [...frames, { at: endsAt, rows: null }]) {
    const text = rows === null ? null : JSON.stringify(rows[row]);
    if (begun?.text === text) continue;
    if (begun !== null && begun.runs.length > 0) yield { from: begun.at, to: at, runs: begun.runs };
    begun = rows === null ? null : { at, text, runs: rows[row] };
  }
}

const percent = (ms, whole) => `${((100 * ms) / whole).toFixed(2)}%`;

/** Each version of a row is a text that is shown for its time; `step-end` switches without a fade. */
function draw(frames) {
  const endsAt = frames.at(-1).at + END_MS;
  const times = new Map();
  const lines = [];
  for (let row = 0; row < ROWS; row++)
    for (const { from, to, runs } of versionsOf(frames, row, endsAt)) {
      const key = `${percent(from, endsAt)} ${percent(to, endsAt)}`;
      const name = times.get(key)?.name ?? `t${times.size}`;
      times.set(key, { name, from, to });
      const spans = runs.map(({ look, text }) =>
        look === "" ? escaped(text) : `<tspan class="${look}">${escaped(text)}</tspan>`,
      );
      lines.push(drawnLine(spans.join(""), row, `class="${name}" `));
    }
  const rules = [...times.values()].map(({ name, from, to }) => {
    const before = from === 0 ? "" : "0%{opacity:0}";
    const after = to === endsAt ? "" : `${percent(to, endsAt)}{opacity:0}`;
    return `.${name}{animation-name:${name}}@keyframes ${name}{${before}${percent(from, endsAt)}{opacity:1}${after}100%{opacity:${to === endsAt ? 1 : 0}}}`;
  });
  return drawnTerminal({
    label:
      "a chat with Weir in a terminal: it finds a line of half a year ago, is told something new, and brings both together",
    rows: ROWS,
    style: `text{font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;fill:#d6deeb;opacity:0;animation-duration:${Math.round(endsAt)}ms;animation-timing-function:step-end;animation-iteration-count:infinite}
.bold{font-weight:700}.dim{fill:#8593a6}.c1{fill:#e06c60}.c2{fill:#8fd694}.c3{fill:#e0b860}.c6{fill:#4fb3d9}
${rules.join("\n")}`,
    lines,
  });
}

const frames = shortened(await withTalk("main", record));
writeFileSync(join(ROOT, "docs", "chat.svg"), draw(frames));
process.stdout.write(`docs/chat.svg: ${frames.length} screens in ${Math.round(frames.at(-1).at / 1000)} s\n`);
