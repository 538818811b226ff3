import { html } from "hono/html";
import { HTTPException } from "hono/http-exception";
import { formatAddress, type Seq } from "../../../../core/ids.ts";
import { displayableLine } from "../../../../text/displayable.ts";
import { formatNumber } from "../../../../text/format.ts";
import { masked } from "../../masked.ts";
import { ENTRIES_ON_PAGE, entryList } from "../channel/entries.ts";
import { sourcePath, channelPath, type Markup } from "../markup.ts";
import { type Asked, numberIn, type Place, type Shown } from "../place.ts";

/** The log of a channel, line by line: what a summary covers, as it is kept now. */
export const sourcePlace: Place = {
  path: "/page/source",
  name: null,
  viewer: "what was said in public",
  async show({ reports, mask, query, rights, signal }: Asked): Promise<Shown> {
    const { channel, entries, from, to, last, time } = await reports.read(async (daemon) => {
      const found = await rights.findReadable(daemon, query("id"));
      const first = numberIn(query("from")) ?? 1;
      const end = Math.min(found.lastSeq, numberIn(query("to")) ?? found.lastSeq);
      if (first > end)
        throw new HTTPException(404, {
          message: `The log has no such entries: it ends with ${formatNumber(found.lastSeq)}.`,
        });
      const until = Math.min(end, first + ENTRIES_ON_PAGE - 1);
      const kept = await daemon.store.log.readCurrent(found.id, first, until);
      const read = await rights.entries(daemon.store, found, kept);
      return {
        channel: found,
        entries: masked(read, mask),
        from: first,
        to: until,
        last: end,
        time: daemon.staffOf(found).agent.time,
      };
    }, signal);
    const name = formatAddress(channel.address);
    const shownName = displayableLine(mask(name));
    const title = `${shownName}: entries ${formatNumber(from)}–${formatNumber(to)}`;
    return {
      title,
      body: html`<h1>${title}</h1>
        <p>
          <a href="${channelPath(name)}">The conversation</a>
          <span class="dim"
            >The log as it is kept now: deleted texts are gone, and edited ones say what they say now.</span
          >
        </p>
        ${pages(name, { from, to, last })} ${entryList({ entries, channel, name, time })}
        ${pages(name, { from, to, last })}`,
    };
  },
};

/** Links to the entries before, and to those after these up to the last that was asked for. */
function pages(
  name: string,
  { from, to, last }: { readonly from: Seq; readonly to: Seq; readonly last: Seq },
): Markup {
  const before = Math.max(1, from - ENTRIES_ON_PAGE);
  return html`<p>
    ${from > 1 ? html`<a href="${sourcePath(name, before, last)}">↑ before these</a> ` : ""}
    ${to < last ? html`<a href="${sourcePath(name, to + 1, last)}">↓ ${formatNumber(to + 1)}–${formatNumber(last)}</a>` : ""}
  </p>`;
}
