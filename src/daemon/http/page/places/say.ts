import { randomUUID } from "node:crypto";
import { html } from "hono/html";
import { formatAddress } from "../../../../core/ids.ts";
import { weirCommand } from "../../../../files/installation.ts";
import { PLATFORM_NAME } from "../../../../platforms/terminal/intake.ts";
import { displayable } from "../../../../text/displayable.ts";
import { formatNumber } from "../../../../text/format.ts";
import { findChannel, type ReportedDaemon } from "../../channels.ts";
import type { TalkedIn } from "../chat/page-chats.ts";
import { actForm, channelPath, type Markup } from "../markup.ts";
import { type Act, type Asked, type Done, loggedChannel, type Shown } from "../place.ts";

/** Of a message, UTF-16 units. */
const MOST_SAID = 20_000;
/** Longest that one of them is in a form, bytes: three of UTF-8, each written with `%`. */
const UNIT_BYTES = 9;

/** Names the first agent's channel, in which nothing may have been said yet. */
const FIRST = `${PLATFORM_NAME}:`;

/**
 * A form for people of this machine to talk in a channel of the terminal: on other platforms Weir speaks as itself alone. Sent
 * twice, it says its text once.
 * @param id an address; null: the first agent's channel
 * @param text what stands in it; default: nothing
 */
export function sayForm(
  { formToken, chats }: Pick<Asked, "formToken" | "chats">,
  id: string | null,
  text = "",
): Markup {
  if (chats === null || !isOfTerminal(id ?? FIRST)) return html``;
  return actForm(
    { formToken },
    sayAct.path,
    { id: id ?? FIRST, message: randomUUID() },
    html`<p>
        <label for="say">Say something here, as in <code>${weirCommand("chat")}</code></label
        ><br />
        <textarea id="say" name="text" rows="3" maxlength="${MOST_SAID}" required>${`\n${text}`}</textarea>
      </p>
      <button>Say it</button>`,
  );
}

function isOfTerminal(id: string): boolean {
  return id.startsWith(FIRST);
}

export const sayAct: Act = {
  path: "/page/channel/say",
  maxBytes: UNIT_BYTES * MOST_SAID + 4096,
  on: (form) => (isOfTerminal(form("id")) ? loggedChannel(form) : null),
  async run(asked, form, inTime): Promise<Done | Shown> {
    const { reports, chats } = asked;
    const id = form("id");
    const text = form("text").replaceAll("\r\n", "\n");
    const refused = (why: string): Shown => notSaid(asked, { id, text, why });
    if (text.length > MOST_SAID)
      return refused(`A message has at most ${formatNumber(MOST_SAID)} characters.`);
    if (chats === null) return refused("Chats cannot attach to this daemon.");
    const where = id === FIRST ? { channel: null, multi: false } : await talkedIn(reports.daemon, id);
    const message = UUID.test(form("message")) ? form("message") : randomUUID();
    const ended = await inTime(chats.say(where, message, text), (said) => "channel" in said);
    if (ended === null) {
      const sentence =
        "Whether this is stored is not known yet: look into the channel before you say it again.";
      return { place: id === FIRST ? "/" : channelPath(id), outcome: "late", sentence };
    }
    if ("why" in ended.value) return refused(ended.value.why);
    const address = formatAddress({ platform: PLATFORM_NAME, name: ended.value.channel });
    return { place: channelPath(address), outcome: "done", sentence: "Said. The answer comes below." };
  },
};

const UUID = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/;

async function talkedIn(daemon: ReportedDaemon, id: string): Promise<TalkedIn> {
  const { address, kind } = await findChannel(daemon, id);
  return { channel: address.name, multi: kind !== "dm" };
}

/** The form again, with its text. */
function notSaid(
  asked: Asked,
  { id, text, why }: { readonly id: string; readonly text: string; readonly why: string },
): Shown {
  const there = id === FIRST ? "" : html`<p><a href="${channelPath(id)}">The channel</a></p>`;
  return {
    title: "Not said",
    body: html`<h1>Not said</h1>
      <p class="warn" role="status">${displayable(why)}</p>
      ${there} ${sayForm(asked, id, text)}`,
  };
}
