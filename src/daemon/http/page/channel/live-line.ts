import { html } from "hono/html";
import { LIVE_ASSET } from "../assets.ts";
import { formatPosition, type Position } from "../live/position.ts";
import { channelPath, type Markup } from "../markup.ts";

export const EVENTS_PATH = "/page/events";

/** The line that says whether the page is live, and the script that makes it so. Without scripts it stays hidden. @param name the channel's */
export function liveLine(name: string, position: Position): Markup {
  const events = `${channelPath(name).replace("/page/channel", EVENTS_PATH)}&from=`;
  return html`<p
      class="live dim"
      role="status"
      hidden
      data-events="${events}"
      data-from="${formatPosition(position)}"
      data-page="${channelPath(name)}"
    ></p>
    <script type="module" src="${LIVE_ASSET.path}" integrity="${LIVE_ASSET.integrity}"></script>`;
}
