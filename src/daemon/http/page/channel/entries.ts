import { html } from "hono/html";
import { describeEntry } from "../../../../admin/reports/log-entry.ts";
import { type Entry, NOT_KEPT } from "../../../../core/entry.ts";
import type { ChannelRow } from "../../../../store/channels/channels.ts";
import { formatNumber } from "../../../../text/format.ts";
import type { TimeFormat } from "../../../../text/time.ts";
import { clock, type Markup, sourcePath, turnPath } from "../markup.ts";
import type { Row } from "./row.ts";

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

const SPEAKERS: Readonly<Record<Entry["kind"], Row["speaks"]>> = {
  user: "person",
  assistant: "agent",
  tool_call: "tool",
  tool_result: "tool",
  notice: "tool",
};

/** @param entry with its secrets masked @param isAlone a long text is shown whole; default: its beginning */
export function rowOf(
  entry: Entry,
  { channel, name, time }: Pick<ListedEntries, "channel" | "name" | "time">,
  isAlone = false,
): Row {
  const speaks = SPEAKERS[entry.kind];
  const limit = isAlone ? Infinity : LONGEST[speaks === "tool" ? "tool" : "said"];
  const uncovered = { ...channel, coveredTo: 0, omittedTo: 0 };
  const { speaker, marks, text, length } = describeEntry(entry, uncovered, time, limit);
  const isCut = length > limit;
  return {
    seq: entry.seq,
    after: entry.kind === "user" ? null : entry.after,
    speaks,
    at: entry.at.toISOString(),
    day: time.day(entry.at),
    minute: clock(entry.at, time),
    title: `entry ${formatNumber(entry.seq)}`,
    speaker,
    marks,
    text: entry.deleted ? "its text is gone" : isCut ? `${text} …` : text,
    isDim: entry.deleted || isNotKept(entry),
    all: isCut
      ? { path: sourcePath(name, entry.seq, entry.seq), words: `all ${formatNumber(length)} characters` }
      : null,
    turn: entry.kind === "assistant" ? turnPath(name, entry.turnId) : null,
  };
}

/** Entries as a list: when, who, what. */
export function entryList(listed: ListedEntries): Markup {
  let day = "";
  return html`<ol class="log">
    ${listed.entries.map((entry) => {
      const row = rowOf(entry, listed, listed.entries.length === 1);
      const isNewDay = row.day !== day;
      day = row.day;
      return html`${isNewDay ? html`<li class="note dim date">${day}</li>` : ""}
      ${listed.before?.(entry) ?? null} ${entryItem(row, listed.side?.(entry) ?? "")}`;
    })}
  </ol>`;
}

function entryItem(row: Row, side: string): Markup {
  const { seq, after, speaks, at, minute, title, speaker, marks, text, isDim, all, turn } = row;
  return html`<li id="entry-${seq}" class="${`${speaks} ${side}`.trim()}" data-after="${after ?? ""}">
    <time datetime="${at}" title="${title}">${minute}</time>
    <span class="who">${speaker}${marks.map((mark) => html` <small>${mark}</small>`)}</span>
    <span class="text"
      >${isDim ? html`<i class="dim">${text}</i>` : text}${
        all === null ? "" : html` <a href="${all.path}">${all.words}</a>`
      }${turn === null ? "" : html` <a class="turn" href="${turn}">turn</a>`}</span
    >
  </li>`;
}

function isNotKept(entry: Entry): boolean {
  return entry.expired === true && entry.text === NOT_KEPT;
}
