import { html } from "hono/html";
import type { Seq } from "../../../core/ids.ts";
import { displayable, displayableLine } from "../../../text/displayable.ts";
import { formatNumber } from "../../../text/format.ts";
import { sliceWhole } from "../../../text/text.ts";
import type { TimeFormat } from "../../../text/time.ts";
import { weirCommand } from "../../../files/installation.ts";
import { formatLevel } from "../../../admin/reports/channel-list.ts";
import { SCRIPT_ASSET, STYLE_ASSET } from "./assets.ts";
import type { Session } from "./sessions.ts";

/** Part of a page. Texts in it are escaped; `style=` and scripts in markup are refused by the policy. */
export type Markup = ReturnType<typeof html>;

/** An entry of the navigation. */
export interface Link {
  readonly path: string;
  readonly name: string;
  readonly isHere: boolean;
}

/** A whole document. @param session null: nobody is signed in, and nothing is named @param links of the navigation */
export function wholePage(
  title: string,
  session: Session | null,
  links: readonly Link[],
  body: Markup,
): Markup {
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
          <b>Weir</b>
          ${
            session === null
              ? ""
              : html`<nav>
                    ${links.map(({ path, name, isHere }) => html`<a href="${path}" ${isHere ? html`aria-current="page"` : ""}>${name}</a>`)}
                  </nav>
                  ${signOutForm(session)}`
          }
        </header>
        <main>${body}</main>
      </body>
    </html>`;
}

function signOutForm({ formToken, role }: Session): Markup {
  const inside = html`${role === "operator" ? "" : html`<span class="dim">${role}</span> `}<button>
      Sign out
    </button>`;
  return actForm({ formToken }, "/page/sign-out", {}, inside);
}

/** A form that acts. @param fields hidden ones @param inside further fields and its button */
export function actForm(
  { formToken }: { readonly formToken: string },
  path: string,
  fields: Readonly<Record<string, string>>,
  inside: Markup,
): Markup {
  return html`<form class="act" method="post" action="${path}">
    ${Object.entries({ token: formToken, ...fields }).map(
      ([name, value]) => html`<input type="hidden" name="${name}" value="${value}" />`,
    )}
    ${inside}
  </form>`;
}

/** The outcome of an act, above the place that shows it. @param outcome null: there is none */
export function withOutcome(
  outcome: { readonly outcome: string; readonly sentence: string } | null,
  body: Markup,
): Markup {
  if (outcome === null) return body;
  return html`<p class="${outcome.outcome === "done" ? "ok" : "warn"}" role="status">
      ${displayable(outcome.sentence)}
    </p>
    ${body}`;
}

/** @param why of a refused code; null: none was given */
export function signInPage(why: string | null): Markup {
  return wholePage(
    "Sign in",
    null,
    [],
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

/** A narrow page scrolls it, also by keys. */
export function table(heads: readonly string[], rows: readonly (readonly (Markup | string)[])[]): Markup {
  return html`<table tabindex="0">
    <thead>
      <tr>
        ${heads.map((head) => html`<th scope="col">${head}</th>`)}
      </tr>
    </thead>
    <tbody>
      ${rows.map(
        (cells) =>
          html`<tr>
            ${cells.map((cell) => html`<td>${cell}</td>`)}
          </tr>`,
      )}
    </tbody>
  </table>`;
}

/** A time on one line. @param text as people read it */
export function timeCell(text: string): Markup {
  return html`<time>${text}</time>`;
}

/** How full a window is. @param level null: not known */
export function meter(level: number | null): Markup | "" {
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

/** A page of a channel. @param name `platform:name` @param place the path's last part; default: the channel itself */
export function channelPath(name: string, place = "channel"): string {
  return `/page/${place}?id=${encodeURIComponent(name)}`;
}

/** A channel's name that leads to its page. @param name `platform:name` */
export function channelLink(name: string): Markup {
  return html`<a href="${channelPath(name)}">${displayableLine(name)}</a>`;
}

/** The page with the entries from..to of the log, as they are kept now. @param name `platform:name` */
export function sourcePath(name: string, from: Seq, to: Seq): string {
  return `${channelPath(name, "source")}&from=${from}&to=${to}`;
}

/**
 * The place of an entry: in the conversation as the model has it, or in the log where a summary covers it.
 * @param channel up to where entries are covered or omitted
 */
export function entryPath(
  name: string,
  seq: Seq,
  { coveredTo, omittedTo }: { readonly coveredTo: Seq; readonly omittedTo: Seq },
): string {
  const at = `#entry-${seq}`;
  if (seq <= Math.max(coveredTo, omittedTo))
    return `${sourcePath(name, Math.max(1, seq - ENTRIES_BESIDE), seq + ENTRIES_BESIDE)}${at}`;
  return `${channelPath(name)}&before=${seq + ENTRIES_BESIDE}${at}`;
}

/** Entries that are shown with one that is looked for, on each side. */
const ENTRIES_BESIDE = 50;

/** A channel as it was. @param name `platform:name` @param at ms; default: when something happened first on its last day */
export function replayPath(name: string, at?: number): string {
  return `${channelPath(name, "replay")}${at === undefined ? "" : `&at=${at}`}`;
}

/** Looks for something in a channel. @param name `platform:name` @param asked default: nothing yet */
export function searchPath(name: string, asked: Readonly<Record<string, string>> = {}): string {
  const given = Object.entries(asked).filter(([, value]) => value !== "");
  const more = new URLSearchParams(given).toString();
  return `${channelPath(name, "search")}${more === "" ? "" : `&${more}`}`;
}

/** The page of a turn. @param name `platform:name` @param turn default: the list of the channel's newest turns */
export function turnPath(name: string, turn?: number): string {
  const which = turn === undefined ? "" : `&turn=${turn}`;
  return `${channelPath(name, "turn")}${which}`;
}

/** Memories and people. @param of a channel's name, or a person's; default: all */
export function memoriesPath(of: { readonly channel?: string; readonly person?: string } = {}): string {
  const { channel = "", person = "" } = of;
  const asked = new URLSearchParams({
    ...(channel !== "" && { id: channel }),
    ...(person !== "" && { person }),
  });
  return `/page/memories${asked.size === 0 ? "" : `?${asked.toString()}`}`;
}

export interface ForgetAsked {
  /** Of its channel, `platform:name`. */
  readonly id: string;
  readonly agent: string;
  /** Its number. */
  readonly memory: string;
}

export function forgetPath(asked: ForgetAsked): string {
  return `/page/forget?${new URLSearchParams({ ...asked }).toString()}`;
}

/** Longest shown text, in UTF-16 units; `weir log` has the whole. */
const MOST_SHOWN = 4000;

/** A text of any length, in its own lines; secrets in it are masked before. */
export function longText(text: string): Markup {
  const shown = displayable(text);
  if (shown.length <= MOST_SHOWN) return html`<pre>${shown}</pre>`;
  return html`<pre>${sliceWhole(shown, 0, MOST_SHOWN)} …</pre>
    <p class="dim">The beginning of ${formatNumber(shown.length)} characters.</p>`;
}

/** `14:05` */
export function clock(at: number | Date, time: TimeFormat): string {
  return time.minute(new Date(at)).slice(-5);
}

/** `2026-12-03 14:05:09`: zones differ by whole minutes. */
export function secondOf(at: number | Date, time: TimeFormat): string {
  const date = new Date(at);
  return `${time.minute(date)}:${String(date.getUTCSeconds()).padStart(2, "0")}`;
}

/** The views of one channel. @param name `platform:name` @param shown which of them this page is */
export function channelTabs(name: string, shown: "now" | "replay" | "search"): Markup {
  const tabs = [
    { key: "now", path: channelPath(name), words: "Now" },
    { key: "replay", path: replayPath(name), words: "Replay 24 h" },
    { key: "search", path: searchPath(name), words: "Search" },
  ];
  return html`<nav class="strip" aria-label="Views of the channel">
    ${tabs.map(
      ({ key, path, words }) =>
        html`<a href="${path}" ${key === shown ? html`aria-current="page"` : ""}>${words}</a>`,
    )}
  </nav>`;
}
