/** A terminal whose screens are recorded, and their moving picture as SVG. */
import { spawn } from "node:child_process";
import process from "node:process";
import headless from "@xterm/headless";
import { drawnLine, drawnTerminal, escaped } from "./drawn-terminal.mjs";

/** The characters of a screen's row, joined where they look alike. */
function runsOf(row, columns) {
  const runs = [];
  for (let column = 0; column < columns; column++) {
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

/** The text of a screen. */
export const textOf = (rows) => rows.map((runs) => runs.map(({ text }) => text).join("")).join("\n");

/** A terminal of this size (util-linux' `script` makes one) in which a command runs. */
export class RecordedTerminal {
  /** Its different screens, each with the time at which it began to show, ms. */
  frames = [];
  #terminal;
  #size;
  #session;
  #ended;

  /**
   * @param command for a shell
   * @param renamed changes what is shown, as the name of a temporary folder
   */
  constructor({ columns, rows, command, cwd, renamed = (data) => data }) {
    this.#size = { columns, rows };
    this.#terminal = new headless.Terminal({ cols: columns, rows, allowProposedApi: true });
    const startedAt = performance.now();
    this.#session = spawn(
      "script",
      ["-qfc", `stty cols ${columns} rows ${rows}; exec ${command}`, "/dev/null"],
      {
        cwd,
        env: { PATH: process.env["PATH"] ?? "", TERM: "xterm-256color", LANG: "C.UTF-8", COLORTERM: "" },
        stdio: ["pipe", "pipe", "inherit"],
      },
    );
    const keep = () => {
      const screen = this.screen();
      const text = JSON.stringify(screen);
      if (this.frames.at(-1)?.text !== text)
        this.frames.push({ at: performance.now() - startedAt, rows: screen, text });
    };
    this.#session.stdout.setEncoding("utf8");
    this.#session.stdout.on("data", (data) => this.#terminal.write(renamed(data), keep));
    this.#ended = new Promise((resolve) => this.#session.once("exit", resolve));
  }

  /** Resolves once the command has ended. */
  get ended() {
    return this.#ended;
  }

  type(text) {
    this.#session.stdin.write(text);
  }

  /** The rows of the screen, each as pieces of one look. */
  screen() {
    const { active } = this.#terminal.buffer;
    const { columns, rows } = this.#size;
    return Array.from({ length: rows }, (_, row) => runsOf(active.getLine(active.viewportY + row), columns));
  }

  /** The screen's text up to the cursor, where an unanswered prompt ends. */
  shown() {
    const { active } = this.#terminal.buffer;
    const rows = Array.from({ length: active.cursorY + 1 }, (_, row) =>
      active.getLine(active.viewportY + row),
    );
    return rows
      .map((row, at) =>
        row?.translateToString(true, 0, at === active.cursorY ? active.cursorX : this.#size.columns),
      )
      .join("\n");
  }
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

/**
 * The moving picture of some screens: each version of a row is a text that is shown for its time; `step-end` switches without a fade.
 * @param frames screens, as `RecordedTerminal.screen` has them, each with its time in ms
 * @param endMs how long the last one stands
 */
export function drawFrames(frames, { label, endMs }) {
  const endsAt = frames.at(-1).at + endMs;
  const rowCount = frames[0].rows.length;
  const times = new Map();
  const lines = [];
  for (let row = 0; row < rowCount; row++)
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
    label,
    rows: rowCount,
    style: `text{font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;fill:#d6deeb;opacity:0;animation-duration:${Math.round(endsAt)}ms;animation-timing-function:step-end;animation-iteration-count:infinite}
.bold{font-weight:700}.dim{fill:#8593a6}.c1{fill:#e06c60}.c2{fill:#8fd694}.c3{fill:#e0b860}.c6{fill:#4fb3d9}
${rules.join("\n")}`,
    lines,
  });
}
