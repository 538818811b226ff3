import { createHash } from "node:crypto";
import { LiveChannel } from "./client/live-channel.ts";
import { Replay } from "./client/replay.ts";
import { CHANNEL_STYLE } from "./channel/style.ts";

/** A file of the page, under a name that changes with its content, so that browsers may keep it. */
export interface Asset {
  readonly path: string;
  readonly type: string;
  readonly text: string;
  /** For `integrity`: browsers run no other file under this name. */
  readonly integrity: string;
}

const STYLE = `
:root {
  color-scheme: light dark;
  --bg: #fbfbf9; --raised: #fff; --text: #1b1f24; --dim: #57606a; --link: #0b5cad;
  --ok: #136c2e; --warn: #7d5200; --bad: #b42318; --band: #6b4fbb; --band-bg: #f1edfb; --line: #7a818b;
}
@media (prefers-color-scheme: dark) {
  :root {
    --bg: #14171a; --raised: #1c2024; --text: #e6e8ea; --dim: #a4abb3; --link: #7ab8ff;
    --ok: #56d364; --warn: #e3b341; --bad: #ff8f85; --band: #b9a5f5; --band-bg: #241f36; --line: #6b737d;
  }
}
* { box-sizing: border-box; }
html { scrollbar-gutter: stable; }
body { margin: 0 auto; max-width: 72rem; padding: 16px; background: var(--bg); color: var(--text); font: 16px/1.5 system-ui, sans-serif; }
a { color: var(--link); }
h1 { font-size: 28px; margin: 16px 0; overflow-wrap: anywhere; }
h2 { font-size: 20px; margin: 24px 0 8px; }
header, nav { display: flex; gap: 16px; align-items: baseline; flex-wrap: wrap; }
header form.act { margin-left: auto; }
.dim { color: var(--dim); font-size: 14px; }
.ok::before { content: "✓ "; } .ok { color: var(--ok); }
.warn::before { content: "! "; } .warn { color: var(--warn); }
.bad::before { content: "✕ "; } .bad { color: var(--bad); }
table { display: block; overflow-x: auto; border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { text-align: left; padding: 4px 8px; border-bottom: 1px solid var(--line); vertical-align: top; overflow-wrap: break-word; }
th { font-weight: 600; }
meter { width: 6rem; }
details { background: var(--band-bg); border-left: 4px solid var(--band); border-radius: 4px; margin: 8px 0; padding: 8px 12px; }
summary { cursor: pointer; }
pre { white-space: pre-wrap; overflow-wrap: anywhere; font: 13px/1.5 ui-monospace, monospace; margin: 8px 0 0; }
h3 { font-size: 16px; margin: 16px 0 4px; }
td pre { margin: 0; }
time { white-space: nowrap; }
ol.entries { list-style: none; margin: 0; padding: 0; }
ol.entries li { border-left: 4px solid var(--line); margin: 8px 0; padding: 0 12px; }
ol.entries p, ol.entries pre { margin: 0; }
td details { background: none; border: 0; margin: 0; padding: 0; }
.lines { white-space: pre-line; }
form.act textarea { display: block; width: 100%; min-width: 20rem; font: 13px/1.5 ui-monospace, monospace; }
form.wide { display: block; }
.diff .removed { color: var(--bad); } .diff .added { color: var(--ok); }
form.act { display: inline-block; margin: 4px 8px 4px 0; }
form.filter { margin: 8px 0; display: flex; gap: 8px 16px; flex-wrap: wrap; align-items: end; }
form.filter input { width: 16rem; }
nav.strip { gap: 4px 12px; font-variant-numeric: tabular-nums; }
nav [aria-current] { font-weight: 700; text-decoration: none; }
svg.bars { display: block; width: 100%; margin: 8px 0; }
svg.bars .wait { fill: var(--line); }
svg.bars .work { fill: var(--band); }
svg.bars .rest { fill: none; stroke: var(--line); }
svg.bars .shade0 { fill: var(--band); } svg.bars .shade1 { fill: var(--link); }
svg.bars .shade2 { fill: var(--line); } svg.bars .shade3 { fill: var(--dim); }
details.section, p.section { margin: 4px 0; padding: 4px 12px; }
p.section { border-left: 4px solid var(--line); }
form.what-if { display: grid; grid-template-columns: repeat(auto-fill, minmax(18rem, 1fr)); gap: 0 16px; align-items: end; }
form.what-if p { margin: 8px 0; }
form.what-if input[type="number"] { width: 8rem; padding: 4px 8px; }
form.what-if button { justify-self: start; margin: 8px 0; }
.numbers td + td, .numbers th + th { text-align: right; }
.numbers td:first-child { white-space: pre; }
input { font: inherit; padding: 8px; width: min(32rem, 100%); }
button { font: inherit; padding: 8px 16px; border-radius: 4px; }
:focus-visible { outline: 3px solid var(--link); outline-offset: 2px; }
`;

/** Removes the code from the address, which no server sees, and sends it where a form asks for one. */
const SCRIPT = `
const code = location.hash.slice(1);
const field = document.querySelector("input[name=code]");
if (code !== "") history.replaceState(null, "", location.pathname);
if (code !== "" && field instanceof HTMLInputElement) {
  field.value = code;
  field.form?.requestSubmit();
}
`;

export const STYLE_ASSET = asset("style", "css", "text/css; charset=utf-8", STYLE + CHANNEL_STYLE);
export const SCRIPT_ASSET = asset("sign-in", "js", "text/javascript; charset=utf-8", SCRIPT);
export const LIVE_ASSET = scriptOf("live", LiveChannel);
export const REPLAY_ASSET = scriptOf("replay", Replay);

/** A class in its own words: Node has taken the types out of them. */
function scriptOf(name: string, made: typeof LiveChannel | typeof Replay): Asset {
  const text = `${String(made)}\n${made.name}.begin();\n`;
  return asset(name, "js", "text/javascript; charset=utf-8", text);
}

function asset(name: string, ending: string, type: string, text: string): Asset {
  const hash = createHash("sha256").update(text).digest();
  const integrity = `sha256-${hash.toString("base64")}`;
  return { path: `/page/assets/${name}.${hash.toString("hex", 0, 8)}.${ending}`, type, text, integrity };
}
