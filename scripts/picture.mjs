/**
 * Draws `docs/gauge.svg`, the picture in the README: `npm run picture`.
 *
 * It is a real session: a made-up conversation (the same in every run) is replayed through Weir with the built-in stand-in
 * as its model, and what `weir context` says of it then is drawn as a terminal shows it.
 */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { drawnLine, drawnTerminal, escaped } from "./drawn-terminal.mjs";
import { ROOT, withTalk } from "./made-up-talk.mjs";

const CHANNEL = "river";
/** So many lines of `weir context` fit into the picture; the list of memories behind them does not. */
const MAX_LINES = 26;
const MAX_COLUMNS = 100;

/** A line of the terminal; the gauge has its colours. */
function drawLine(line, index) {
  const text = line.length > MAX_COLUMNS ? `${line.slice(0, MAX_COLUMNS - 2)} …` : line;
  const coloured = escaped(text)
    .replace(/█+/, '<tspan class="full">$&</tspan>')
    .replace(/^\$ .*/, '<tspan class="typed">$&</tspan>')
    .replaceAll("┊", '<tspan class="mark">┊</tspan>');
  return drawnLine(coloured, index);
}

const context = await withTalk(CHANNEL, (_cwd, weir) => weir("context", CHANNEL));
const lines = [`$ weir context ${CHANNEL}`, ...context.trimEnd().split("\n").slice(0, MAX_LINES)];
const svg = drawnTerminal({
  label: "weir context: how full the model's window is, what is summarised, and what is remembered",
  rows: lines.length,
  style: `  text { font: 14px ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; fill: #d6deeb }
  .full { fill: #4fb3d9 } .mark { fill: #f0a35e } .typed { fill: #8fd694 }`,
  lines: lines.map(drawLine),
});
writeFileSync(join(ROOT, "docs", "gauge.svg"), svg);
process.stdout.write(`docs/gauge.svg: ${lines.length} lines\n`);
