import { html } from "hono/html";
import { describeRefusal } from "../../../../admin/reports/daemon-status.ts";
import { weirCommand } from "../../../../files/installation.ts";
import { formatAddress } from "../../../../core/ids.ts";
import type { FeatureList, ItemAct } from "../../../../features/feature.ts";
import type { FeatureItem } from "../../../../features/features.ts";
import type { ChannelWork, RefusedPart } from "../../../../store/channels/overview.ts";
import { displayableLine } from "../../../../text/displayable.ts";
import { formatNumber, formatSpan } from "../../../../text/format.ts";
import { counted } from "../../../../text/text.ts";
import type { TimeFormat } from "../../../../text/time.ts";
import type { ReportedDaemon } from "../../channels.ts";
import { masked } from "../../masked.ts";
import { actForm, channelLink, longText, type Markup, table, timeCell, turnPath } from "../markup.ts";
import type { Act, Asked, Place, Shown } from "../place.ts";
import { describeServers } from "../../../../admin/reports/server-list.ts";

/** Rows of each list. */
const ROWS = 50;

type WaitingView = Awaited<ReturnType<typeof readWaiting>>;

/** One inbox of everything that waits for a person, each with how to act on it. */
export const waitingPlace: Place = {
  path: "/page/waiting",
  name: "Waiting",
  async show({ reports, mask, signal, formToken }: Asked): Promise<Shown> {
    const { view, lists } = await reports.read(async (daemon) => {
      return { view: await readWaiting(daemon, mask), lists: await readLists(daemon, mask) };
    }, signal);
    return { title: "Waiting", body: html`${waitingBody(view, formToken)} ${listsMarkup(lists)}` };
  },
};

/** Acts on an item of the inbox: as a command of its feature, for the operator. */
export const waitingAct: Act = {
  path: "/page/waiting/act",
  on(form) {
    const named = [form("feature"), form("item"), form("act")];
    return named.every((one) => ITEM_IDS.test(one)) ? named.join(" ") : null;
  },
  async run({ reports }, form) {
    const asked = { item: form("item"), act: form("act"), text: form("text") };
    const { isDone, sentence } = await reports.daemon.features.act(form("feature"), asked);
    return { place: waitingPlace.path, outcome: isDone ? "done" : "refused", sentence };
  },
};

/** Ids of platforms' people and of rows. */
const ITEM_IDS = /^[\w:/@.+=-]{1,100}$/;

/** What waits for a person, as the place shows it, with its secrets masked. */
export async function readWaiting(daemon: ReportedDaemon, mask: (text: string) => string) {
  const { features, current, vitals } = daemon;
  const { overview } = daemon.store;
  const { time } = current.setup.agents.first.agent;
  const now = new Date();
  const [items, due, undelivered, refused, work] = await Promise.all([
    features.inbox({ limit: ROWS, masked: mask }),
    overview.dueChannels(ROWS),
    overview.undeliveredChannels(ROWS),
    overview.refusedParts(ROWS),
    features.readWork(),
  ]);
  const { configuration } = vitals();
  const at = (date: Date): string => time.minute(date);
  const oldest = (since: Date | null): string => (since === null ? "" : `, the oldest since ${at(since)}`);
  const refusal = configuration === undefined ? null : describeRefusal(configuration, at);
  const atStart = configuration?.atStart ?? [];
  return {
    ...masked({ items, due, undelivered, refused }, mask),
    // By their names, as `weir status` says it.
    work: work.map((one) => ({ name: one.name, line: mask(one.line(time, oldest)) })),
    configuration: [
      ...(refusal === null ? [] : [mask(`It is ${refusal}`)]),
      ...(atStart.length === 0 ? [] : [mask(`It takes effect at the next start: ${atStart.join(", ")}`)]),
    ],
    time,
    now,
  };
}

/** How much waits, a line each kind; empty: nothing does. Pure. */
export function countWaiting({ items, due, undelivered, refused, configuration }: WaitingView): string[] {
  const lines: readonly (readonly [number, string])[] = [
    [items.length, `${most(items.length, "thing")} for a person to decide`],
    [due.length, `messages without an answer in ${most(due.length, "channel")}`],
    [undelivered.length, `answers on their way in ${most(undelivered.length, "channel")}`],
    [refused.length, `${most(refused.length, "part")} of answers refused by a platform`],
    [configuration.length, "the configuration"],
  ];
  return lines.flatMap(([count, line]) => (count === 0 ? [] : [line]));
}

/** A list that is full may be longer. */
function most(count: number, one: string): string {
  return `${counted(count, one)}${count < ROWS ? "" : " or more"}`;
}

function waitingBody(view: WaitingView, formToken: string): Markup {
  const { items, due, undelivered, refused, configuration, work, time } = view;
  const isNothing = countWaiting(view).length === 0;
  return html`<h1>Waiting</h1>
    ${isNothing ? html`<p class="ok">Nothing waits for you.</p>` : ""}
    ${configuration.length === 0 ? "" : configurationMarkup(configuration)}
    ${items.length === 0 ? "" : itemList(items, time, formToken)}
    ${
      due.length === 0
        ? ""
        : html`<h2>Messages without an answer</h2>
            <p class="dim">
              <code>/why</code> in the channel says why; <code>${weirCommand("doctor")}</code> tries the
              models.
            </p>
            ${workTable("messages", due, view)}`
    }
    ${
      undelivered.length === 0
        ? ""
        : html`<h2>Answers on their way</h2>
            <p class="dim">
              They are sent when their platform takes them: the <a href="/">overview</a> says whether it is
              connected.
            </p>
            ${workTable("parts", undelivered, view)}`
    }
    ${refused.length === 0 ? "" : refusedTable(refused, time)}
    <h2>Work of the agents</h2>
    ${table(
      ["kind", "waiting"],
      work.map(({ name, line }) => [displayableLine(name), displayableLine(line)]),
    )}`;
}

function configurationMarkup(sentences: readonly string[]): Markup {
  return html`<h2>Configuration</h2>
    ${sentences.map((one) => html`<p class="warn">${displayableLine(one)}</p>`)}
    <p class="dim">
      <code>${weirCommand("config check")}</code> lists every problem of the file, and
      <code>${weirCommand("reload")}</code> puts it in force.
    </p>`;
}

function itemList(items: readonly FeatureItem[], time: TimeFormat, formToken: string): Markup {
  return html`<h2>For a person to decide</h2>
    <ol class="entries">
      ${items.map(
        (item) =>
          html`<li>
            <p>
              ${item.channel === null ? "" : channelLink(formatAddress(item.channel))}
              <span class="dim">since ${time.minute(item.since)}</span>
            </p>
            ${longText(item.text)}
            <div>${item.acts.map((act) => itemForm(item, act, formToken))}</div>
          </li>`,
      )}
    </ol>`;
}

function itemForm({ feature, id }: FeatureItem, { name, label, text }: ItemAct, formToken: string): Markup {
  const field =
    text === undefined
      ? ""
      : html`<label
          >${text.label}<br /><input name="text" maxlength="${String(text.maxLength)}" autocomplete="off"
        /></label>`;
  const inside = html`${field} <button>${displayableLine(label)}</button>`;
  return actForm({ formToken }, waitingAct.path, { feature, item: id, act: name }, inside);
}

function workTable(what: string, rows: readonly ChannelWork[], { time, now }: WaitingView): Markup {
  return table(
    ["channel", what, "oldest", "for"],
    rows.map(({ address, count, since }) => [
      channelLink(formatAddress(address)),
      formatNumber(count),
      timeCell(time.minute(since)),
      formatSpan(Math.max(0, now.getTime() - since.getTime())),
    ]),
  );
}

function refusedTable(parts: readonly RefusedPart[], time: TimeFormat): Markup {
  return html`<h2>Refused by a platform within a day</h2>
    <p class="dim">
      People have not seen these parts. The log says why: <code>${weirCommand("logs")}</code>.
    </p>
    ${table(
      ["channel", "turn", "part", "at"],
      parts.map(({ address, turn, part, at }) => {
        const name = formatAddress(address);
        return [
          channelLink(name),
          html`<a href="${turnPath(name, turn)}">${String(turn)}</a>`,
          formatNumber(part + 1),
          timeCell(time.minute(at)),
        ];
      }),
    )}`;
}

/** Lines of each list. */
const LINES = 50;

/** What there is of each feature in all channels, and the agents' servers, by the functions of their commands. */
async function readLists(
  { features, current }: ReportedDaemon,
  mask: (text: string) => string,
): Promise<readonly FeatureList[]> {
  const agents = [...current.setup.agents.all()];
  const servers = agents.flatMap(({ agent, serverTools }) =>
    serverTools == null ? [] : describeServers(agent.config.id, serverTools),
  );
  const list: FeatureList = {
    label: "MCP servers",
    lines: servers.slice(0, LINES).map((text) => ({ channel: null, text })),
    isMore: servers.length > LINES,
    howTo: "Servers stand in config.toml, under [[agents.mcp]].",
  };
  return masked([...(await features.lists({ limit: LINES, masked: mask })), list], mask);
}

function listsMarkup(lists: readonly FeatureList[]): Markup {
  return html`${lists.map(
    ({ label, lines, isMore, howTo }) =>
      html`<h2>${label}</h2>
        ${
          lines.length === 0
            ? html`<p class="dim">None. ${howTo}</p>`
            : html`<ul>
                ${lines.map(
                  ({ channel, text }) =>
                    html`<li>
                      ${channel === null ? "" : channelLink(formatAddress(channel))} ${displayableLine(text)}
                    </li>`,
                )}
              </ul>`
        }
        ${isMore ? html`<p class="dim">The first ${formatNumber(LINES)}: there are more.</p>` : ""}`,
  )}`;
}
