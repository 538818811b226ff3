import { html } from "hono/html";
import { minute } from "../../../admin/reports/channel-format.ts";
import { formatLevel, type ListedChannel } from "../../../admin/reports/channel-list.ts";
import type { ChannelReport } from "../../../admin/reports/channel-report.ts";
import type { PricedCompaction } from "../../../admin/reports/compaction-list.ts";
import type { Card } from "../../../core/card.ts";
import { displayable, displayableLine } from "../../../text/displayable.ts";
import { weirCommand } from "../../../files/installation.ts";
import { formatNumber } from "../../../text/format.ts";
import type { Check } from "../../metrics/readiness.ts";
import { SCRIPT_ASSET, STYLE_ASSET } from "./assets.ts";
import type { Session } from "./sessions.ts";

/** Part of a page. Texts in it are escaped; `style=` and scripts in markup are refused by the policy. */
export type Markup = ReturnType<typeof html>;

export interface ChannelView {
  readonly card: Card;
  readonly summaries: ChannelReport["summaries"];
  readonly compactions: readonly PricedCompaction[];
}

const STATES: Readonly<Record<Check["state"], string>> = { ok: "ok", degraded: "warn", failed: "bad" };
const GAUGE_WIDTH = 1000;

/** A whole document. @param session null: nobody is signed in */
function document(title: string, session: Session | null, body: Markup): Markup {
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width" />
        <title>${title} · Weir</title>
        <link rel="icon" href="data:," />
        <link rel="stylesheet" href="${STYLE_ASSET.path}" integrity="${STYLE_ASSET.integrity}" />
        <script type="module" src="${SCRIPT_ASSET.path}" integrity="${SCRIPT_ASSET.integrity}"></script>
      </head>
      <body>
        <header>
          <a href="/">Weir</a>
          ${session === null ? "" : signOutForm(session)}
        </header>
        <main>${body}</main>
      </body>
    </html>`;
}

function signOutForm({ formToken }: Session): Markup {
  return html`<form method="post" action="/page/sign-out">
    <input type="hidden" name="token" value="${formToken}" />
    <button>Sign out</button>
  </form>`;
}

/** @param why of a refused code; null: none was given */
export function signInPage(why: string | null): Markup {
  return document(
    "Sign in",
    null,
    html`<h1>Sign in</h1>
      <p>
        Run <code>${weirCommand("open")}</code> where the daemon runs. It prints an address with a code, which
        is valid once, for a minute.
      </p>
      ${why === null ? "" : html`<p class="bad" role="alert">${why}</p>`}
      <form method="post" action="/page/sign-in">
        <p>
          <label>Code<br /><input name="code" required autocomplete="off" spellcheck="false" /></label>
        </p>
        <button>Sign in</button>
      </form>`,
  );
}

export function overviewPage(
  session: Session,
  {
    checks,
    channels,
    next,
  }: {
    readonly checks: readonly Check[];
    readonly channels: readonly ListedChannel[];
    readonly next: number | null;
  },
): Markup {
  const rows = channels.map(
    ({ channel, agent, entries, level, heardAt, due }) =>
      html`<tr>
        <td><a href="/page/channel?id=${encodeURIComponent(channel)}">${displayableLine(channel)}</a></td>
        <td>${displayableLine(agent)}</td>
        <td>${meter(level)} ${formatLevel(level)}</td>
        <td>${formatNumber(entries)}</td>
        <td>${heardAt === null ? "never" : minute(heardAt)}</td>
        <td>${due === 0 ? "" : html`<span class="warn">${formatNumber(due)}</span>`}</td>
      </tr>`,
  );
  return document(
    "Overview",
    session,
    html`<h1>Overview</h1>
      <h2>State</h2>
      <table>
        ${checks.map(
          ({ name, state, detail }) =>
            html`<tr>
              <td class="${STATES[state]}">${displayableLine(name)}: ${state}</td>
              <td>${displayableLine(detail)}</td>
            </tr>`,
        )}
      </table>
      <h2>Channels</h2>
      ${
        rows.length === 0
          ? html`<p>
              No channel has a message yet: write to the agent where it listens, or run
              <code>${weirCommand("chat")}</code>.
            </p>`
          : html`<table>
              <tr>
                <th>channel</th>
                <th>agent</th>
                <th>level</th>
                <th>entries</th>
                <th>last heard (UTC)</th>
                <th>waiting</th>
              </tr>
              ${rows}
            </table>`
      }
      ${next === null ? "" : html`<p><a href="/?before=${String(next)}">Older channels</a></p>`}`,
  );
}

export function channelPage(session: Session, { card, summaries, compactions }: ChannelView): Markup {
  const { title, summary, bar, fields, lists } = card;
  const written = summaries.map(
    ({ fromSeq, toSeq, entries, level, tokens, text }) =>
      html`<details>
        <summary>
          Entries ${formatNumber(fromSeq)}–${formatNumber(toSeq)}: ${formatNumber(entries)} entries →
          ${formatNumber(tokens)} tokens, level ${String(level)}
        </summary>
        <pre>${displayable(text)}</pre>
      </details>`,
  );
  return document(
    title,
    session,
    html`<h1>${title}</h1>
      <p>${summary}</p>
      ${gauge(bar)}
      <table>
        ${fields.map(
          ({ label, value }) =>
            html`<tr>
              <th>${label}</th>
              <td>${value}</td>
            </tr>`,
        )}
      </table>
      ${lists.map(
        ({ label, lines }) =>
          html`<h2>${label}</h2>
            <ul>
              ${lines.map((line) => html`<li>${line}</li>`)}
            </ul>`,
      )}
      <h2>Summaries in view</h2>
      ${written.length === 0 ? html`<p class="dim">None: all of the conversation is still shown as it was said.</p>` : written}
      <h2>Compactions</h2>
      ${compactions.length === 0 ? html`<p class="dim">None so far.</p>` : compactionTable(compactions)}`,
  );
}

function compactionTable(compactions: readonly PricedCompaction[]): Markup {
  return html`<table>
    <tr>
      <th>number</th>
      <th>kind</th>
      <th>tier</th>
      <th>state</th>
      <th>entries</th>
      <th>tokens</th>
    </tr>
    ${compactions.toReversed().map(
      ({ id, kind, tier, state, fromSeq, toSeq, sourceTokens, summary }) =>
        html`<tr>
          <td>${String(id)}</td>
          <td>${kind}</td>
          <td>${tier}</td>
          <td>${state}</td>
          <td>${formatNumber(fromSeq)}–${formatNumber(toSeq)}</td>
          <td>
            ${formatNumber(sourceTokens)}${summary === null ? "" : ` → ${formatNumber(summary.tokens)}`}
          </td>
        </tr>`,
    )}
  </table>`;
}

/** How full the window is, with the marks at which compactions begin. */
function gauge({ share, marks }: Card["bar"]): Markup {
  const at = (part: number): string => String(Math.round(Math.min(1, Math.max(0, part)) * GAUGE_WIDTH));
  const named = marks.map(({ label }) => label).join(", ");
  return html`<svg
      class="gauge"
      viewBox="0 0 1000 40"
      preserveAspectRatio="none"
      role="img"
      aria-label="${formatLevel(share)} of the window; ${named}"
    >
      <rect class="room" x="0" y="8" width="1000" height="24" />
      <rect class="used" x="0" y="8" width="${at(share)}" height="24" />
      ${marks.map(
        (mark) => html`<line class="mark" x1="${at(mark.share)}" x2="${at(mark.share)}" y1="2" y2="38" />`,
      )}
    </svg>
    <p class="dim">${named}</p>`;
}

function meter(level: number | null): Markup | "" {
  if (level === null) return "";
  return html`<meter
    min="0"
    max="1"
    low="0.8"
    high="0.95"
    optimum="0.3"
    value="${Math.min(1, level).toFixed(3)}"
  >
    ${formatLevel(level)}
  </meter>`;
}

/** A page that says one sentence. */
export function sentencePage(title: string, sentence: string, session: Session | null): Markup {
  return document(
    title,
    session,
    html`<h1>${title}</h1>
      <p>${sentence}</p>
      <p><a href="/">Overview</a></p>`,
  );
}
