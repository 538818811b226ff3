import { html } from "hono/html";
import { percent } from "../../../../admin/reports/channel-format.ts";
import type { ChannelReport } from "../../../../admin/reports/channel-report.ts";
import type { Bar } from "../../../../core/card.ts";
import { formatNumber } from "../../../../text/format.ts";
import type { TimeFormat } from "../../../../text/time.ts";
import { clock, type Markup, table } from "../markup.ts";
import { chart } from "./chart.ts";
import { headline, jobEnd, levelSentence, replySentence, seconds } from "./sentences.ts";
import { type JobBar, quantile, SPANS, type Timeline } from "./timeline.ts";

const LEGEND =
  "Violet replies came while a summary was being written, which is shaded. Compactions: the taller, the more urgent; a dotted line behind one: its summary is ready and waits for its mark. Where a thin line goes down, a summary took the place of its messages, and the level fell by so many tokens; between requests the level is an estimate.";
/** Compactions in the table, the newest. */
const JOBS_IN_TABLE = 20;

export interface TimelineSection {
  /** Null: nothing happened yet. */
  readonly timeline: Timeline | null;
  readonly report: Pick<ChannelReport, "usage" | "usable" | "monitor">;
  readonly bar: Bar;
  readonly time: TimeFormat;
  /** The page's own path, to which the length of the axis is added. */
  readonly path: string;
  /** ms; null: as long as what happened. */
  readonly span: number | null;
}

/** What happened in a channel lately: replies, compactions and the level, drawn, in a sentence, and as a table. */
export function timelineSection({ timeline, report, bar, time, path, span }: TimelineSection): Markup {
  const { next } = report.monitor;
  const level = levelSentence(percent(report.usage), report.monitor);
  if (timeline === null) return html`<p class="dim">Nothing was answered or compacted here yet. ${level}</p>`;
  const { axis } = timeline;
  const head = headline(timeline);
  const said = replySentence(timeline);
  const drawn = {
    timeline,
    time,
    bar,
    next: next === null ? null : { label: `next: ${next.tier}`, share: next.at / report.usable },
    label: `${head}. ${said} ${level}`,
  };
  const between = `${time.minute(new Date(axis.from))} to ${clock(axis.end, time)}${axis.isPast ? "; since then it is calm" : ""}`;
  return html`<figure class="day">
    <figcaption><b>${head}</b> <span class="dim">${between} · ${spanLinks(path, span)}</span></figcaption>
    <div class="rows">
      <div class="names"><span>replies</span><span>compactions</span><span>level of the window</span></div>
      ${chart(drawn)}
    </div>
    <p class="dim">
      ${said}<br />${level} Marks:
      ${bar.marks.map(({ label }) => label).join(", ")}.${timeline.jobs.length === 0 ? "" : html`<br />${LEGEND}`}
    </p>
    ${jobsTable(timeline.jobs, time)}
  </figure>`;
}

function spanLinks(path: string, span: number | null): Markup {
  const named = SPANS.map((one) => {
    const minutes = one / 60_000;
    return { one, name: minutes < 60 ? `${minutes} min` : `${minutes / 60} h`, query: `&span=${minutes}` };
  });
  return html`${[{ one: null, name: "all", query: "" }, ...named].map(({ one, name, query }) =>
    one === span ? html`<b>${name}</b> ` : html`<a href="${path}${query}">${name}</a> `,
  )}`;
}

/** The rows of the drawing in words, for those who do not see it. */
function jobsTable(jobs: readonly JobBar[], time: TimeFormat): Markup {
  if (jobs.length === 0) return html`<p class="dim">No compaction in this time.</p>`;
  const shown = jobs.slice(-JOBS_IN_TABLE).toReversed();
  return html`<details class="plain">
    <summary>The compactions as a table</summary>
    ${table(
      ["number", "began", "tier", "entries", "tokens", "was written in", "became", "replies meanwhile"],
      shown.map((bar) => jobRow(bar, time)),
    )}
  </details>`;
}

const KINDS: Readonly<Record<JobBar["job"]["kind"], string>> = { leaf: "", merge: " merge", redo: " again" };

function jobRow(bar: JobBar, time: TimeFormat): string[] {
  const { job, from, workTo, landedAt, replies } = bar;
  const waits = replies.map(({ ms }) => ms).toSorted((a, b) => a - b);
  const half = quantile(waits, 0.5);
  const after = job.summaryTokens === null ? "" : ` → ${formatNumber(job.summaryTokens)}`;
  return [
    String(job.id),
    time.minute(new Date(from)),
    `${job.tier}${KINDS[job.kind]}`,
    `${formatNumber(job.fromSeq)}–${formatNumber(job.toSeq)}`,
    `${formatNumber(job.sourceTokens)}${after}`,
    seconds(workTo - from),
    `${jobEnd(bar)}${landedAt === null ? "" : ` at ${clock(landedAt, time)}`}`,
    half === null ? "none" : `${formatNumber(waits.length)}, p50 ${seconds(half)}`,
  ];
}
