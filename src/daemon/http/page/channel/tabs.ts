import { html } from "hono/html";
import { channelPath, type Markup, replayPath, searchPath } from "../markup.ts";

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
