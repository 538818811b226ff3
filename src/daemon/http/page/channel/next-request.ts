import { html } from "hono/html";
import { describeCut, describeJob, describeReason } from "../../../../admin/reports/channel-format.ts";
import type { ChannelReport } from "../../../../admin/reports/channel-report.ts";
import type { Card } from "../../../../core/card.ts";
import { displayableLine } from "../../../../text/displayable.ts";
import { formatNumber } from "../../../../text/format.ts";
import { counted } from "../../../../text/text.ts";
import type { TimeFormat } from "../../../../text/time.ts";
import { type Markup, table } from "../markup.ts";

/**
 * What the model gets now: the parts of the next request with their tokens, as `/context` counts them, and what it costs.
 * @param memories what is remembered, in lines
 */
export function nextRequest(
  report: ChannelReport,
  card: Card,
  { time, memories: lines }: { readonly time: TimeFormat; readonly memories: readonly string[] },
): Markup {
  const { tokens, usable, sections } = report;
  const [memories = "", ...newest] = lines;
  return html`<h2>What the model gets now</h2>
    ${stack(report)}
    <p class="dim">${counted(tokens, "token")} of ${formatNumber(usable)} usable</p>
    ${describeJob(report, time).map((line) => html`<p>${line}</p>`)}
    <dl>
      ${card.fields.map(
        ({ label, value }) =>
          html`<dt>${label}</dt>
            <dd>${value}</dd>`,
      )}
    </dl>
    ${
      sections.length === 0
        ? ""
        : html`<details class="plain">
            <summary>${counted(sections.length, "section")}, with why each is there</summary>
            ${table(["section", "tokens", "source"], sections.map(sectionRow))}
          </details>`
    }
    <h2>Memories</h2>
    <p>${memories}</p>
    <ul>
      ${newest.map((line) => html`<li>${line}</li>`)}
    </ul>`;
}

/** One row a part, each as long as its share of the largest. */
function stack({ segments }: Pick<ChannelReport, "segments">): Markup {
  const shown = segments.filter(({ tokens }) => tokens > 0);
  const largest = shown.reduce((most, { tokens }) => Math.max(most, tokens), 1);
  return html`<table class="stack">
    ${shown.map(
      ({ key, label, tokens, count }) =>
        html`<tr>
          <th scope="row" title="${counted(count, "item")}">${label}</th>
          <td>
            <svg width="100%" height="10" aria-hidden="true">
              <rect class="${key}" width="${((tokens / largest) * 100).toFixed(1)}%" height="10" />
            </svg>
          </td>
          <td class="number">${formatNumber(tokens)}</td>
        </tr>`,
    )}
  </table>`;
}

function sectionRow(section: ChannelReport["sections"][number]): string[] {
  const { key, source, tokens } = section;
  return [
    displayableLine(key),
    formatNumber(tokens.after),
    displayableLine(`${source} (${describeReason(section)}${describeCut(section)})`),
  ];
}
