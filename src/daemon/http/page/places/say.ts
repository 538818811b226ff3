import { html } from "hono/html";
import { formatAddress } from "../../../../core/ids.ts";
import { PLATFORM_NAME } from "../../../../platforms/terminal/intake.ts";
import { formatNumber } from "../../../../text/format.ts";
import { findChannel, type ReportedDaemon } from "../../channels.ts";
import type { TalkedIn } from "../chat/page-chats.ts";
import { actForm, channelPath, type Markup } from "../markup.ts";
import type { Act, Asked, Done } from "../place.ts";

/** Of a message, UTF-16 units. */
const MOST_SAID = 20_000;
/** Longest that one of them is in a form, bytes: three of UTF-8, each written with `%`. */
const UNIT_BYTES = 9;
/** Longest address of a channel that is logged, in UTF-16 units. */
const MOST_ADDRESS = 200;

/** Names the first agent's channel, in which nothing may have been said yet. */
const FIRST = `${PLATFORM_NAME}:`;

/**
 * A form for people of this machine to talk in a channel of the terminal: on other platforms Weir speaks as itself alone.
 * @param id an address; null: the first agent's channel
 */
export function sayForm({ formToken, chats }: Pick<Asked, "formToken" | "chats">, id: string | null): Markup {
  if (chats === null || !isOfTerminal(id ?? FIRST)) return html``;
  return actForm(
    { formToken },
    sayAct.path,
    { id: id ?? FIRST },
    html`<p>
        <label for="say">Say something here, as in <code>weir chat</code></label
        ><br />
        <textarea id="say" name="text" rows="3" maxlength="${MOST_SAID}" required></textarea>
      </p>
      <button>Say it</button>`,
  );
}

function isOfTerminal(id: string): boolean {
  return id.startsWith(`${PLATFORM_NAME}:`);
}

export const sayAct: Act = {
  path: "/page/channel/say",
  maxBytes: UNIT_BYTES * MOST_SAID + 4096,
  on: (form) => (isOfTerminal(form("id")) ? form("id").slice(0, MOST_ADDRESS) : null),
  async run({ reports, chats }, form, inTime): Promise<Done> {
    const id = form("id");
    const text = form("text").replaceAll("\r\n", "\n");
    const refused = (sentence: string): Done => ({ place: placeOf(id), outcome: "refused", sentence });
    if (text.length > MOST_SAID)
      return refused(`A message has at most ${formatNumber(MOST_SAID)} characters.`);
    if (chats === null) return refused("Chats cannot attach to this daemon.");
    const where = id === FIRST ? { channel: null, multi: false } : await talkedIn(reports.daemon, id);
    const ended = await inTime(chats.say(where, text));
    if (ended === null)
      return {
        place: placeOf(id),
        outcome: "late",
        sentence: "It is still being stored. The channel shows it then.",
      };
    if ("why" in ended.value) return refused(ended.value.why);
    const address = formatAddress({ platform: PLATFORM_NAME, name: ended.value.channel });
    return { place: channelPath(address), outcome: "done", sentence: "Said. The answer comes below." };
  },
};

async function talkedIn(daemon: ReportedDaemon, id: string): Promise<TalkedIn> {
  const { address, kind } = await findChannel(daemon, id);
  return { channel: address.name, multi: kind !== "dm" };
}

/** A channel in which nothing was said yet has no page. */
function placeOf(id: string): string {
  return id === FIRST ? "/" : channelPath(id);
}
