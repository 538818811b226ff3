import { createHash } from "node:crypto";
import { html } from "hono/html";
import { describeCut, describeReason, describeUsage } from "../../../../admin/reports/channel-format.ts";
import { describeRequest, describeSize, type TurnTexts } from "../../../../admin/reports/turn-context.ts";
import type { Section } from "../../../../core/context.ts";
import type { ChannelRow } from "../../../../store/channels/channels.ts";
import {
  type ContextRecord,
  KEPT_RECORDS,
  type RecordedSection,
} from "../../../../store/turns/context-records.ts";
import type { Store } from "../../../../store/store.ts";
import { displayableLine } from "../../../../text/displayable.ts";
import { formatNumber } from "../../../../text/format.ts";
import { counted } from "../../../../text/text.ts";
import type { TimeFormat } from "../../../../text/time.ts";
import { type Markup, table, longText } from "../markup.ts";
import { entryList } from "../channel/entries.ts";
import type { ReadingRights } from "../reading-rights.ts";
import { NOT_SHOWN } from "../roles.ts";

const WIDTH = 1000;
const SHADES = 4;

/** What is known of the request of a turn. */
export interface SentRequest {
  readonly record: ContextRecord;
  readonly texts: TurnTexts;
  /** The recorded sections whose text the next request would have as well, by key. */
  readonly same: ReadonlyMap<string, string>;
}

/** Texts of the next request that are, by their hashes, what was sent in a section of the same name. Pure. */
export function sameSections(
  recorded: readonly RecordedSection[],
  next: readonly Pick<Section, "key" | "text">[],
): ReadonlyMap<string, string> {
  const hashes = new Map(recorded.map(({ key, sha256 }) => [key, sha256]));
  return new Map(
    next.flatMap(({ key, text }) =>
      text !== "" && hashes.get(key) === createHash("sha256").update(text).digest("hex") ? [[key, text]] : [],
    ),
  );
}

/** The request as a role may read it: numbers stay. */
export async function readableRequest(
  store: Pick<Store, "publicTexts">,
  channel: ChannelRow,
  { record, texts, same }: SentRequest,
  rights: ReadingRights,
): Promise<SentRequest> {
  const reads = await rights.readsMadeOf(store, channel);
  const sections = rights.sections(record.sections, reads());
  const keys = new Set(sections.map(({ key }) => key));
  const nothing = { summary: "", paths: [], symbols: [], signals: [] };
  return {
    record: { ...record, sections, focus: reads() ? record.focus : nothing },
    texts: {
      summaries: texts.summaries.map((one) => (reads(one.toSeq) ? one : { ...one, text: NOT_SHOWN })),
      entries: await rights.entries(store, channel, texts.entries),
    },
    same: new Map([...same].filter(([key]) => keys.has(key))),
  };
}

/** What the last request of a turn was made of: what was sent is not stored, and only what is unchanged can be read. */
export function requestMarkup(
  sent: SentRequest | null,
  { channel, name, time }: { readonly channel: ChannelRow; readonly name: string; readonly time: TimeFormat },
): Markup {
  if (sent === null)
    return html`<p class="dim">
      No record is kept: of a channel the newest ${String(KEPT_RECORDS)} turns have one, and a deletion, an
      edit or /forget takes those that may have seen the text.
    </p>`;
  const { record, texts, same } = sent;
  return html`<p>
      Model ${displayableLine(record.model)}, ${time.minute(record.at)}. ${describeUsage(record)}; the window
      has ${formatNumber(record.window)}. In all: ${describeSize(record)}.
    </p>
    ${segmentBar(record)}
    ${table(
      ["part", "tokens", "items"],
      record.segments
        .filter(({ tokens }) => tokens > 0)
        .map(({ label, tokens, count }) => [
          displayableLine(label),
          formatNumber(tokens),
          formatNumber(count),
        ]),
    )}
    <ul>
      ${describeRequest(record).map((line) => html`<li>${displayableLine(line)}</li>`)}
    </ul>
    <h3>Sections</h3>
    <p class="dim">
      What was sent is not stored. A section opens if its text is the same today, by its hash.
    </p>
    ${record.sections.map((section) => sectionMarkup(section, same.get(section.key)))}
    <h3>In view, as it reads now</h3>
    ${texts.summaries.map(summaryMarkup)}
    ${
      texts.entries.length === 0
        ? html`<p class="dim">No entry of it was in view as it was said.</p>`
        : html`<details>
            <summary>${entriesHead(record, texts)}</summary>
            ${entryList({ entries: texts.entries, channel, name, time })}
          </details>`
    }`;
}

function summaryMarkup({ compaction, fromSeq, toSeq, text }: TurnTexts["summaries"][number]): Markup {
  const number = compaction === null ? "" : ` (#${compaction})`;
  return html`<details>
    <summary>Summary of entries ${formatNumber(fromSeq)}–${formatNumber(toSeq)}${number}</summary>
    ${longText(text ?? "(it is not known any more)")}
  </details>`;
}

function entriesHead({ raw }: ContextRecord, { entries }: TurnTexts): string {
  const all = raw?.count ?? entries.length;
  const newest = entries.length < all ? `the newest ${formatNumber(entries.length)} of ` : "";
  return `As it was said: ${newest}${counted(all, "entry", "entries")}`;
}

function sectionMarkup(section: RecordedSection, text: string | undefined): Markup {
  const { key, source, tokens, sha256 } = section;
  const head = html`<b>${displayableLine(key)}</b> · ${formatNumber(tokens.after)} tokens ·
    ${displayableLine(`${source} (${describeReason(section)}${describeCut(section)})`)}`;
  if (text !== undefined)
    return html`<details class="section">
      <summary>${head}</summary>
      ${longText(text)}
    </details>`;
  return html`<p class="section">
    ${head} ${sha256 === null ? "" : html`<span class="dim">· its text is another today</span>`}
  </p>`;
}

/** The parts of the request, side by side, as long as they have tokens. */
function segmentBar({ segments, tokens }: ContextRecord): Markup {
  const whole = Math.max(1, tokens);
  const at = (sum: number): number => Math.round((sum / whole) * WIDTH);
  const shown = segments.filter((segment) => segment.tokens > 0);
  const before = shown.map((_, index) => shown.slice(0, index).reduce((sum, one) => sum + one.tokens, 0));
  const said = shown.map((one) => `${one.label} ${formatNumber(one.tokens)}`).join(", ");
  return html`<svg
    class="bars"
    viewBox="0 0 ${String(WIDTH)} 16"
    height="16"
    preserveAspectRatio="none"
    role="img"
    aria-label="tokens: ${displayableLine(said)}"
  >
    ${shown.map(
      (one, index) =>
        html`<rect
          class="shade${String(index % SHADES)}"
          x="${String(at(before[index] ?? 0))}"
          y="0"
          width="${String(at(one.tokens))}"
          height="16"
        />`,
    )}
  </svg>`;
}
