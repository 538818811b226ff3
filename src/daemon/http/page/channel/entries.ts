import { html } from "hono/html";
import { describeEntry } from "../../../../admin/reports/log-entry.ts";
import { type Entry, NOT_KEPT } from "../../../../core/entry.ts";
import type { Seq } from "../../../../core/ids.ts";
import type { ChannelRow } from "../../../../store/channels/channels.ts";
import { formatNumber } from "../../../../text/format.ts";
import type { TimeFormat } from "../../../../text/time.ts";
import { channelPath, clock, type Markup, turnPath } from "../markup.ts";

/** Entries on one page. */
export const ENTRIES_ON_PAGE = 200;
/** Longest text of an entry among others, in UTF-16 units: of what tools answer, and of all else. */
const LONGEST = { tool: 600, said: 4000 } as const;

export interface ListedEntries {
  /** In the order in which they are shown, with their secrets masked. */
  readonly entries: readonly Entry[];
  readonly channel: Pick<ChannelRow, "agent" | "settledTo">;
  /** The channel's name, `platform:name`. */
  readonly name: string;
  readonly time: TimeFormat;
  /** What stands before an entry; null, the default: nothing. */
  readonly before?: (entry: Entry) => Markup | null;
  /** Shown at its side, as a class; "", the default: nothing. */
  readonly side?: (entry: Entry) => string;
}

/** The page with the entries from..to of the log, as they are kept now. */
export function sourcePath(name: string, from: Seq, to: Seq): string {
  return `${channelPath(name).replace("/page/channel", "/page/source")}&from=${from}&to=${to}`;
}

/** Entries as a list: when, who, what. */
export function entryList(listed: ListedEntries): Markup {
  let day = "";
  return html`<ol class="log">
    ${listed.entries.map((entry) => {
      const today = listed.time.day(entry.at);
      const isNewDay = today !== day;
      day = today;
      return html`${isNewDay ? html`<li class="note dim">${today}</li>` : ""}
      ${listed.before?.(entry) ?? null} ${entryItem(entry, listed)}`;
    })}
  </ol>`;
}

const SPEAKERS: Readonly<Record<Entry["kind"], string>> = {
  user: "person",
  assistant: "agent",
  tool_call: "tool",
  tool_result: "tool",
  notice: "tool",
};

function entryItem(entry: Entry, { entries, channel, name, time, side }: ListedEntries): Markup {
  const limit = entries.length === 1 ? Infinity : LONGEST[SPEAKERS[entry.kind] === "tool" ? "tool" : "said"];
  const uncovered = { ...channel, coveredTo: 0, omittedTo: 0 };
  const { speaker, marks, text, length } = describeEntry(entry, uncovered, time, limit);
  const isCut = length > limit;
  const shown = isCut ? `${text} …` : text;
  return html`<li id="entry-${entry.seq}" class="${`${SPEAKERS[entry.kind]} ${side?.(entry) ?? ""}`.trim()}">
    <time datetime="${entry.at.toISOString()}" title="entry ${formatNumber(entry.seq)}"
      >${clock(entry.at, time)}</time
    >
    <span class="who">${speaker}${marks.map((mark) => html` <small>${mark}</small>`)}</span>
    <span class="text"
      >${entry.deleted ? html`<i class="dim">its text is gone</i>` : isNotKept(entry) ? html`<i class="dim">${shown}</i>` : shown}${
        isCut
          ? html` <a href="${sourcePath(name, entry.seq, entry.seq)}"
              >all ${formatNumber(length)} characters</a
            >`
          : ""
      }${entry.kind === "assistant" ? html` <a class="turn" href="${turnPath(name, entry.turnId)}">turn</a>` : ""}</span
    >
  </li>`;
}

function isNotKept(entry: Entry): boolean {
  return entry.expired === true && entry.text === NOT_KEPT;
}
