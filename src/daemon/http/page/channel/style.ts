/** The style of the channel's page: the drawing of its last day, the conversation, and what the model gets. */
export const CHANNEL_STYLE = `
:root { --faint: color-mix(in srgb, var(--line) 30%, transparent); }
.day { margin: 16px 0; padding: 12px 16px; background: var(--raised); border: 1px solid var(--faint); border-radius: 4px; }
.day figcaption { display: flex; gap: 4px 16px; flex-wrap: wrap; justify-content: space-between; align-items: baseline; font-variant-numeric: tabular-nums; }
.day td { font-size: 14px; white-space: nowrap; }
.day .rows { display: grid; grid-template-columns: 6.5rem minmax(0, 1fr); gap: 0 8px; margin: 12px 0 8px; }
.day .names { display: grid; grid-template-rows: 72px 48px 128px; font-size: 14px; color: var(--dim); }
.day .names span { align-self: center; }
.day .names span:last-child { align-self: start; padding-top: 56px; }
svg.timeline { display: block; overflow: visible; font-variant-numeric: tabular-nums; }
svg.timeline text { font-size: 12px; fill: var(--dim); stroke: var(--raised); stroke-width: 3px; paint-order: stroke; }
svg.timeline .base { stroke: var(--faint); }
svg.timeline .beside { fill: var(--band); opacity: .14; }
svg.timeline .half { stroke: var(--line); stroke-dasharray: 2 4; }
svg.timeline .reply { stroke: var(--ok); stroke-width: 2px; }
svg.timeline .reply.with { stroke: var(--band); stroke-width: 3px; }
svg.timeline .over { fill: var(--text); }
svg.timeline .failed { fill: var(--bad); }
svg.timeline .job { fill: var(--band); }
svg.timeline .job.aggressive { fill: var(--warn); }
svg.timeline .job.emergency { fill: var(--bad); }
svg.timeline .job.lost { fill: none; stroke: var(--line); stroke-dasharray: 2 2; }
svg.timeline .waits { stroke: var(--band); stroke-width: 2px; stroke-dasharray: 1 3; }
svg.timeline .landing { stroke: var(--band); }
svg.timeline .filled { fill: var(--band); opacity: .18; }
svg.timeline .step { fill: none; stroke: var(--band); stroke-width: 2px; vector-effect: non-scaling-stroke; }
svg.timeline .mark { stroke: var(--line); stroke-dasharray: 4 4; }
svg.timeline .mark.next { stroke: var(--warn); }
svg.timeline .cursor { stroke: var(--text); stroke-width: 2px; }
svg.timeline .now { fill: var(--text); font-size: 14px; font-weight: 600; }
.channel { display: grid; gap: 0 32px; grid-template-columns: minmax(0, 1fr) 22rem; align-items: start; }
.log a.turn { font-size: 12px; }
.channel .text, .log .text { white-space: pre-wrap; overflow-wrap: anywhere; }
.band { background: var(--band-bg); border-left: 4px solid var(--band); border-radius: 4px; margin: 8px 0; padding: 8px 12px; }
.band p { margin: 8px 0 0; }
p.omitted { border-left-color: var(--warn); border-left-style: dashed; }
.log { list-style: none; font-size: 14px; margin: 8px 0; padding: 0; }
.log li { display: grid; grid-template-columns: 3rem 9rem minmax(0, 1fr); gap: 0 8px; padding: 2px 8px; border-left: 4px solid transparent; }
.log li:target { background: var(--band-bg); }
form.replay label { flex: 1 1 24rem; }
form.replay input[type="range"] { width: 100%; padding: 0; }
#moment nav b { font-variant-numeric: tabular-nums; }
.log li.result { border-left-color: var(--link); background: var(--band-bg); }
h2.result { font-size: 16px; }
.log li.ahead { border-left: 4px dotted var(--band); }
.log li.note { display: block; font-size: 14px; margin-top: 8px; }
.log time, .log small, .log .tool { color: var(--dim); }
.log time { font-variant-numeric: tabular-nums; }
.log .draft .text::after { content: " ▍"; color: var(--link); }
.live { position: sticky; bottom: 0; margin: 8px 0; padding: 4px 8px; background: var(--bg); }
.log li:last-child { scroll-margin-bottom: 3rem; }
button.newest { position: fixed; right: 16px; bottom: 16px; background: var(--raised); color: var(--link); border: 1px solid var(--line); }
.log .who { font-weight: 600; overflow-wrap: anywhere; }
.log .agent .who { color: var(--link); }
.log .tool .who { font-weight: 400; }
.log .tool .text { font: 13px/1.5 ui-monospace, monospace; }
.log small { font-weight: 400; border: 1px solid var(--line); border-radius: 4px; padding: 0 4px; font-size: 12px; white-space: nowrap; }
.channel aside h2:first-child, .channel section h2:first-child { margin-top: 8px; }
.channel aside { font-size: 14px; position: sticky; top: 8px; max-height: calc(100vh - 16px); overflow-y: auto; }
.channel aside ul { padding-left: 16px; }
.channel aside .stack { display: table; width: 100%; }
.stack th { font-weight: 400; white-space: nowrap; }
.stack th, .stack td { border: 0; padding: 2px 4px; vertical-align: middle; }
.stack td:nth-child(2) { width: 100%; }
.stack .number { text-align: right; }
.stack svg { display: block; }
.stack rect { fill: var(--line); }
.stack rect.summaries { fill: var(--band); }
.stack rect.history { fill: var(--link); }
.stack rect.due { fill: var(--ok); }
.channel dl { display: grid; grid-template-columns: 7.5rem minmax(0, 1fr); gap: 4px 8px; margin: 8px 0; }
.channel dt { color: var(--dim); }
.channel dd { margin: 0; overflow-wrap: anywhere; font-variant-numeric: tabular-nums; }
@media (max-width: 60rem) {
  .channel { grid-template-columns: minmax(0, 1fr); }
  .channel aside { position: static; max-height: none; }
}
details.plain { background: none; border: 0; padding: 0; }
@media (max-width: 40rem) {
  .day { padding: 8px; }
  .day .rows { grid-template-columns: minmax(0, 1fr); }
  .log li { grid-template-columns: 3rem minmax(0, 1fr); }
  .log .text { grid-column: 1 / -1; }
  .day .names { display: flex; gap: 8px; font-size: 12px; }
  .day .names span:last-child { padding: 0; }
  .day .names span + span::before { content: "↓ "; }
  svg.timeline .odd, svg.timeline .saved { display: none; }
}
`;
