/**
 * Draws `docs/gauge.svg`, the picture in the README: `npm run picture`.
 *
 * It is a real session: a made-up conversation (the same in every run) is replayed through Weir with the built-in stand-in
 * as its model, and what `weir context` says of it then is drawn as a terminal shows it.
 */
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { madeUpTalk } from "./made-up-talk.mjs";

const ROOT = join(import.meta.dirname, "..");
const CHANNEL = "river";
/** So many lines of `weir context` fit into the picture; the list of memories behind them does not. */
const MAX_LINES = 26;
const MAX_COLUMNS = 100;

/** @returns what `weir context` prints of the replayed conversation */
function session() {
  const cwd = mkdtempSync(join(tmpdir(), "weir-picture-"));
  const weir = (...args) =>
    execFileSync(process.execPath, [join(ROOT, "src", "main.ts"), ...args], {
      cwd,
      encoding: "utf8",
      env: { PATH: process.env["PATH"] ?? "" },
      stdio: ["ignore", "pipe", "ignore"],
    });
  try {
    writeFileSync(join(cwd, "config.toml"), '[defaults]\nmodel = "offline"\ncontext_window = 16000\n');
    writeFileSync(join(cwd, "talk.jsonl"), `${madeUpTalk(400, CHANNEL).join("\n")}\n`);
    weir("replay", "talk.jsonl", "--channel", CHANNEL, "--reply-every", "25");
    return weir("context", CHANNEL);
  } finally {
    rmSync(cwd, { recursive: true, force: true });
  }
}

const escaped = (text) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");

/** A line of the terminal as an SVG text; the gauge has its colours. */
function drawLine(line, index) {
  const text = line.length > MAX_COLUMNS ? `${line.slice(0, MAX_COLUMNS - 2)} …` : line;
  const coloured = escaped(text)
    .replace(/█+/, '<tspan class="full">$&</tspan>')
    .replace(/^\$ .*/, '<tspan class="typed">$&</tspan>')
    .replaceAll("┊", '<tspan class="mark">┊</tspan>');
  return `<text x="20" y="${62 + index * 19}" xml:space="preserve">${coloured}</text>`;
}

const lines = [`$ weir context ${CHANNEL}`, ...session().trimEnd().split("\n").slice(0, MAX_LINES)];
const height = 80 + lines.length * 19;
const svg = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 880 ${height}" role="img"
  aria-label="weir context: how full the model's window is, what is summarised, and what is remembered">
<style>
  text { font: 14px ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; fill: #d6deeb }
  .full { fill: #4fb3d9 } .mark { fill: #f0a35e } .typed { fill: #8fd694 }
</style>
<rect width="880" height="${height}" rx="10" fill="#111a24"/>
<circle cx="24" cy="22" r="6" fill="#e06c60"/><circle cx="44" cy="22" r="6" fill="#e0b860"/><circle cx="64" cy="22" r="6" fill="#7cc06a"/>
${lines.map(drawLine).join("\n")}
</svg>
`;
writeFileSync(join(ROOT, "docs", "gauge.svg"), svg);
process.stdout.write(`docs/gauge.svg: ${lines.length} lines\n`);
