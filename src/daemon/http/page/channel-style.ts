/** The style of the channel's page: the drawing of its last day, the conversation, and what the model gets. */
export const CHANNEL_STYLE = `
:root { --faint: color-mix(in srgb, var(--line) 30%, transparent); }
figure { margin: 16px 0; padding: 12px 16px; background: var(--raised); border: 1px solid var(--faint); border-radius: 4px; }
figcaption { display: flex; gap: 4px 16px; flex-wrap: wrap; justify-content: space-between; align-items: baseline; font-variant-numeric: tabular-nums; }
.rows { display: grid; grid-template-columns: 6.5rem minmax(0, 1fr); gap: 0 8px; margin: 12px 0 8px; }
.names { display: grid; grid-template-rows: 72px 48px 128px; font-size: 14px; color: var(--dim); }
.names span { align-self: center; }
.names span:last-child { align-self: start; padding-top: 56px; }
svg.timeline { display: block; overflow: visible; font-variant-numeric: tabular-nums; }
svg.timeline text { font-size: 12px; fill: var(--dim); stroke: var(--raised); stroke-width: 3px; paint-order: stroke; }
svg.timeline .base { stroke: var(--faint); }
svg.timeline .beside { fill: var(--band); opacity: .14; }
svg.timeline .half { stroke: var(--line); stroke-dasharray: 2 4; }
svg.timeline .reply { stroke: var(--ok); stroke-width: 2px; }
svg.timeline .reply.with { stroke: var(--band); stroke-width: 3px; }
svg.timeline .failed { fill: var(--bad); }
svg.timeline .job { fill: var(--band); }
svg.timeline .job.aggressive { fill: var(--warn); }
svg.timeline .job.emergency { fill: var(--bad); }
svg.timeline .job.lost { fill: none; stroke: var(--line); stroke-dasharray: 2 2; }
svg.timeline .waits { stroke: var(--band); stroke-width: 2px; stroke-dasharray: 1 3; }
svg.timeline .landing { stroke: var(--band); }
svg.timeline .filled { fill: var(--band); opacity: .18; }
svg.timeline .step { stroke: var(--band); stroke-width: 2px; stroke-linecap: square; }
svg.timeline .mark { stroke: var(--line); stroke-dasharray: 4 4; }
svg.timeline .mark.next { stroke: var(--warn); }
svg.timeline .now { fill: var(--text); font-size: 14px; font-weight: 600; }
details.plain { background: none; border: 0; padding: 0; }
@media (max-width: 40rem) {
  figure { padding: 8px; }
  .rows { grid-template-columns: minmax(0, 1fr); }
  .names, svg.timeline .odd, svg.timeline .saved { display: none; }
}
`;
