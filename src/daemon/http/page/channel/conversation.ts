/** A channel's conversation as its model has it: summaries as bands, then the messages, and marks for all that is not shown. */

import { html } from "hono/html";
import type { ChannelReport } from "../../../../admin/reports/channel-report.ts";
import type { Entry } from "../../../../core/entry.ts";
import type { Seq } from "../../../../core/ids.ts";
import { displayable } from "../../../../text/displayable.ts";
import { formatNumber } from "../../../../text/format.ts";
import { counted } from "../../../../text/text.ts";
import type { TimeFormat } from "../../../../text/time.ts";
import { sourcePath, channelPath, type Markup } from "../markup.ts";
import { ENTRIES_ON_PAGE, entryList, type ListedEntries } from "./entries.ts";

type Reported = Pick<ChannelReport, "channel" | "summaries" | "omission" | "memories"> & {
  readonly log: Pick<ChannelReport["log"], "entries" | "coveredTo" | "omittedTo">;
  readonly monitor: Pick<ChannelReport["monitor"], "ahead">;
  readonly sections: readonly { readonly key: string }[];
};
type Summary = ChannelReport["summaries"][number];
type Stretch = ChannelReport["monitor"]["ahead"][number];

export interface Conversation extends Pick<ListedEntries, "entries" | "channel" | "time"> {
  readonly report: Reported;
  readonly range: EntryRange;
  /** Of the page, to which the older entries are added; default: the channel's. */
  readonly path?: string;
}

/** Entries of one page, both ends included; `to` before `from`: there are none. */
export interface EntryRange {
  readonly from: Seq;
  readonly to: Seq;
}

/**
 * The uncovered entries of one page: the newest, or those before one of them. Pure.
 * @param before of the page; 0: the newest
 */
export function rangeBefore({ entries, coveredTo, omittedTo }: Reported["log"], before: Seq): EntryRange {
  const first = Math.max(coveredTo, omittedTo) + 1;
  const to = before > first && before <= entries ? before - 1 : entries;
  return { from: Math.max(first, to - ENTRIES_ON_PAGE + 1), to };
}

export function conversation({ report, range, entries, channel, time, path }: Conversation): Markup {
  const { channel: name, log, summaries, omission, monitor, memories } = report;
  const here = path ?? channelPath(name);
  const first = Math.max(log.coveredTo, log.omittedTo) + 1;
  const older = range.from - first;
  // What leaves a request for lack of room is committed as omitted with the next turn.
  const isWhole = !report.sections.some(({ key }) => key === "omitted");
  const stretches = monitor.ahead.filter(({ kind }) => kind === "leaf");
  return html`${summaries.map((summary, index) =>
    band(summary, { name, memories, isOpen: index === summaries.length - 1 }),
  )}
  ${monitor.ahead.filter(({ kind }) => kind === "merge").map(mergedAhead)}
  ${omission === null ? "" : omitted({ name, log, omission, time })}
  ${stretches
    // Of omitted entries none is shown below.
    .filter(({ toSeq }) => toSeq < first)
    .map((stretch) => html`<p class="dim">${writtenAhead(stretch)}</p>`)}
  ${isWhole || omission !== null ? "" : html`<p class="band omitted"><span class="warn">Omitted:</span> the next request has no room for the oldest of these messages.</p>`}
  ${summaries.length === 0 && isWhole ? html`<p class="dim">Nothing is summarised: the model is shown all of it as it was said.</p>` : ""}
  ${older > 0 ? html`<p><a class="older" href="${here}&before=${String(range.from)}">↑ older</a> <span class="dim">${counted(older, "entry", "entries")} before these${isWhole ? " are in the view, too" : ""}</span></p>` : ""}
  ${entryList({
    entries,
    channel,
    name,
    time,
    before: (entry) => aheadBefore(entry, entries, stretches),
    side: ({ seq }) => (stretchOf(seq, stretches) === undefined ? "" : "ahead"),
  })}
  ${range.to < log.entries ? html`<p><a href="${here}">↓ newest</a></p>` : ""}`;
}

const MADE_BY: Readonly<Record<Summary["kind"], string>> = {
  model: "",
  digest: "extract without a model",
  reset: "",
};

function band(
  summary: Summary,
  {
    name,
    memories,
    isOpen,
  }: Pick<Reported, "memories"> & { readonly name: string; readonly isOpen: boolean },
): Markup {
  const { fromSeq, toSeq, entries, span, level, kind, tokens, needsRedo, text } = summary;
  const range = `entries ${formatNumber(fromSeq)}–${formatNumber(toSeq)}`;
  const source = html`<a href="${sourcePath(name, fromSeq, toSeq)}">its source, line by line</a>`;
  if (kind === "reset")
    return html`<p class="band">⟲ Reset: the model is shown nothing of ${range}. ${source}</p>`;
  const messages = counted(span?.messages ?? entries, "message");
  const facts = [range, `level ${level}`, MADE_BY[kind], needsRedo ? "to be written again" : ""];
  const proved = memories.filter(({ sources }) => sources.some(({ seq }) => seq >= fromSeq && seq <= toSeq));
  return html`<details class="band" ${isOpen ? "open" : ""}>
    <summary>
      Summary: ${messages} → ${counted(tokens, "token")}
      <span class="dim">${facts.filter((fact) => fact !== "").join(" · ")}</span>
    </summary>
    <p class="text" data-derived>${displayable(text)}</p>
    <p>${source}${proved.length === 0 ? "" : html` · ◆ ${counted(proved.length, "memory", "memories")}`}</p>
  </details>`;
}

function mergedAhead({ fromSeq, toSeq }: Stretch): Markup {
  return html`<p class="note dim">
    ┆ The summaries of entries ${formatNumber(fromSeq)}–${formatNumber(toSeq)} are merged ahead: that lands at
    the next mark.
  </p>`;
}

function omitted({
  name,
  log: { coveredTo, omittedTo },
  omission: { count, tokens, firstAt, lastAt },
  time,
}: {
  readonly name: string;
  readonly log: Reported["log"];
  readonly omission: NonNullable<ChannelReport["omission"]>;
  readonly time: TimeFormat;
}): Markup {
  return html`<p class="band omitted">
    <span class="warn">Omitted:</span> ${counted(count, "older message")} (${formatNumber(tokens)} tokens,
    ${time.minute(firstAt)} to ${time.minute(lastAt)}) had no room: the model is not shown them until a
    summary covers them. <a href="${sourcePath(name, coveredTo + 1, omittedTo)}">The log has them</a>
  </p>`;
}

function stretchOf(seq: Seq, stretches: readonly Stretch[]): Stretch | undefined {
  return stretches.find(({ fromSeq, toSeq }) => seq >= fromSeq && seq <= toSeq);
}

/** Stands before the first entry that is shown of a stretch. */
function aheadBefore(entry: Entry, entries: readonly Entry[], stretches: readonly Stretch[]): Markup | null {
  const stretch = stretchOf(entry.seq, stretches);
  if (stretch === undefined) return null;
  const first = entries.find(({ seq }) => stretchOf(seq, [stretch]) !== undefined);
  if (first !== entry) return null;
  return html`<li class="note ahead">${writtenAhead(stretch)}</li>`;
}

function writtenAhead({ fromSeq, toSeq }: Stretch): string {
  return `┆ Entries ${formatNumber(fromSeq)}–${formatNumber(toSeq)}: their summary is written ahead, and lands at the next mark.`;
}
