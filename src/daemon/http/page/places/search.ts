import { html } from "hono/html";
import type { Entry } from "../../../../core/entry.ts";
import { formatAddress, type Seq } from "../../../../core/ids.ts";
import type { HistoryFound } from "../../../../memory/history-search.ts";
import type { ChannelRow } from "../../../../store/channels/channels.ts";
import { displayableLine } from "../../../../text/displayable.ts";
import { formatNumber } from "../../../../text/format.ts";
import { sliceWhole, storableText } from "../../../../text/text.ts";
import type { TimeFormat } from "../../../../text/time.ts";
import { findChannel, type ReportedDaemon } from "../../channels.ts";
import { masked } from "../../masked.ts";
import { entryList } from "../channel/entries.ts";
import { channelTabs, entryPath, type Markup, searchPath } from "../markup.ts";
import { type Asked, numberIn, type Place, type Shown } from "../place.ts";

/** Results of one page; those of long texts are fewer. */
const RESULTS = 10;
const MOST_PAGES = 50;
/** Entries on each side of a result. */
const BESIDE = 2;
/** Longest texts of the fields, in UTF-16 units, as `search_history` takes them. */
const MOST_QUERY = 1000;
const MOST_FIELD = 100;

/** What the form has, each as it was written; "": nothing. */
interface SearchAsked {
  readonly q: string;
  readonly who: string;
  readonly when: string;
  readonly page: number;
}

/** Null: nothing was looked for. */
type Found = HistoryFound | null;

interface SearchView {
  readonly channel: ChannelRow;
  readonly time: TimeFormat;
  readonly asked: SearchAsked;
  readonly found: Found;
  /** The results that are there now, with those beside them. */
  readonly entries: readonly Entry[];
}

/** Looks for earlier messages of one channel, as `search_history` does for its agent. */
export const searchPlace: Place = {
  path: "/page/search",
  name: null,
  async show({ reports, mask, query, signal }: Asked): Promise<Shown> {
    const field = (name: string, most: number): string =>
      sliceWhole(storableText(query(name)).trim(), 0, most);
    const asked = {
      q: field("q", MOST_QUERY),
      who: field("who", MOST_FIELD),
      when: field("when", MOST_FIELD),
      page: Math.min(MOST_PAGES, numberIn(query("page")) ?? 1),
    };
    const view = await reports.read(async (daemon): Promise<SearchView> => {
      const channel = await findChannel(daemon, query("id"));
      const { time } = daemon.staffOf(channel).agent;
      const found = await find(daemon, channel, asked, signal);
      const seqs = found?.kind === "found" ? found.lines.map(({ seq }) => seq) : [];
      const entries = await daemon.store.log.readAt(channel.id, withThoseBeside(seqs));
      return { channel, time, asked, ...masked({ found, entries }, mask) };
    }, signal);
    const name = formatAddress(view.channel.address);
    const title = `Search in ${displayableLine(mask(name))}`;
    return { title, body: searchBody(title, name, view, mask) };
  },
};

async function find(
  { search, staffOf }: ReportedDaemon,
  channel: ChannelRow,
  { q, who, when, page }: SearchAsked,
  signal: AbortSignal,
): Promise<Found> {
  if (q === "" && who === "" && when === "") return null;
  const given = (text: string): string | null => (text === "" ? null : text);
  const request = {
    query: given(q),
    person: given(who),
    when: given(when),
    limit: RESULTS,
    page,
    context: 0,
  };
  return search.find(request, channel, staffOf(channel).agent.config, signal);
}

function withThoseBeside(seqs: readonly Seq[]): Seq[] {
  const near = Array.from({ length: 2 * BESIDE + 1 }, (_, place) => place - BESIDE);
  return [...new Set(seqs.flatMap((seq) => near.map((by) => seq + by)))].filter((seq) => seq > 0);
}

/** Entries that stand together, with the results among them. */
interface Passage {
  readonly entries: readonly Entry[];
  readonly results: readonly Seq[];
}

/** Splits results and those beside them into passages without a gap. A result that is deleted by now is none. Pure. */
function passagesOf(entries: readonly Entry[], seqs: readonly Seq[]): Passage[] {
  const passages: Entry[][] = [];
  for (const entry of entries.toSorted((a, b) => a.seq - b.seq)) {
    const last = passages.at(-1);
    if (last !== undefined && last.at(-1)?.seq === entry.seq - 1) last.push(entry);
    else passages.push([entry]);
  }
  return passages.flatMap((together) => {
    const results = together.filter(({ seq, deleted }) => seqs.includes(seq) && !deleted);
    return results.length === 0 ? [] : [{ entries: together, results: results.map(({ seq }) => seq) }];
  });
}

function searchBody(title: string, name: string, view: SearchView, mask: (text: string) => string): Markup {
  const { asked } = view;
  return html`<h1>${title}</h1>
    ${channelTabs(name, "search")}
    <form class="filter" method="get" action="${searchPlace.path}" role="search">
      <input type="hidden" name="id" value="${name}" />
      <label>Words<br /><input name="q" value="${mask(asked.q)}" maxlength="${String(MOST_QUERY)}" /></label>
      <label
        >Said by<br /><input name="who" value="${mask(asked.who)}" maxlength="${String(MOST_FIELD)}"
      /></label>
      <label
        >When<br /><input
          name="when"
          value="${mask(asked.when)}"
          maxlength="${String(MOST_FIELD)}"
          placeholder="last week"
      /></label>
      <button>Search</button>
    </form>
    ${foundMarkup(name, view)}`;
}

function foundMarkup(name: string, view: SearchView): Markup {
  const { found, entries, asked, channel, time } = view;
  if (found === null)
    return html`<p class="dim">
      All of the channel's log is searched, as its agent does by <code>search_history</code>: by words, and by
      meaning where an embedding model is set. What was deleted is not found.
    </p>`;
  if (found.kind === "unread_time")
    return html`<p class="warn">
      This names no time. Write a day (2026-05-07), a month (2026-05), a range (2026-05-01/2026-05-07), or
      words (last week, since March).
    </p>`;
  if (found.kind === "unknown_person")
    return html`<p>
      Nobody spoke here under that
      name.${found.like.length === 0 ? "" : ` Did you mean ${found.like.map(({ author }) => displayableLine(author)).join(", ")}?`}
    </p>`;
  const passages = passagesOf(
    entries,
    found.lines.map(({ seq }) => seq),
  );
  const { page, ...said } = asked;
  const link = (to: number, words: string): Markup =>
    html`<a href="${searchPath(name, { ...said, page: to === 1 ? "" : String(to) })}">${words}</a>`;
  return html`${passages.length === 0 ? html`<p>${nothing(page)}</p>` : ""}
    ${passages.map(
      (passage) =>
        html`<h2 class="result">
            ${passage.results.map(
              (seq) => html`<a href="${entryPath(name, seq, channel)}">entry ${formatNumber(seq)}</a> `,
            )}
          </h2>
          ${entryList({
            entries: passage.entries,
            channel,
            name,
            time,
            side: ({ seq }) => (passage.results.includes(seq) ? "result" : ""),
          })}`,
    )}
    <p>
      ${page > 1 ? html`${link(page - 1, `← Page ${page - 1}`)} ` : ""}
      ${found.hasMore && page < MOST_PAGES ? link(page + 1, `Page ${page + 1} →`) : ""}
    </p>`;
}

function nothing(page: number): string {
  return page > 1
    ? "Nothing more was found."
    : "Nothing was found. Try other words, or a name alone: common words and endings say little.";
}
