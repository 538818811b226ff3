import { html } from "hono/html";
import { NOTHING_TO_STOP } from "../../../../admin/commands/stop.ts";
import { compactAtHome, NOBODY_HOME, stopAtHome } from "../../../../admin/requests/at-home.ts";
import { describeAnswer } from "../../../../admin/requests/compact-answer.ts";
import { type ChannelId, formatAddress } from "../../../../core/ids.ts";
import { STOPPED } from "../../../../platforms/platform.ts";
import { displayableLine } from "../../../../text/displayable.ts";
import { findChannel, type ReportedDaemon } from "../../channels.ts";
import { actForm, channelPath } from "../markup.ts";
import {
  type Act,
  ACT_MS,
  type Asked,
  type Done,
  type InTime,
  loggedChannel,
  type Place,
  type Shown,
} from "../place.ts";

/** What an operator may do in a channel. In a cluster, the daemon that runs the channel does it. */
export const channelActsPlace: Place = {
  path: "/page/channel-acts",
  name: null,
  async show({ reports, mask, query, signal, formToken }: Asked): Promise<Shown> {
    const { address } = await reports.read(async (daemon) => findChannel(daemon, query("id")), signal);
    const id = formatAddress(address);
    const title = `Act in ${displayableLine(mask(id))}`;
    const form = (act: string, label: string): ReturnType<typeof actForm> =>
      actForm({ formToken }, channelAct.path, { id, act }, html`<button>${label}</button>`);
    return {
      title,
      body: html`<h1>${title}</h1>
        <p><a href="${channelPath(id)}">The channel</a></p>
        <h2>Summarise now</h2>
        <p>
          What is old is summarised now, instead of when the context is full, as by <code>/compact</code>. It
          costs model calls, and changes what everybody there is answered from. The log keeps every message.
        </p>
        ${form("compact", "Summarise now")}
        <h2>Stop the answer</h2>
        <p>The answer that is being written ends here, as by <code>/stop</code>.</p>
        ${form("stop", "Stop the answer")}`,
    };
  },
};

type Acted = Pick<Done, "outcome" | "sentence">;

type ChannelAct = (daemon: ReportedDaemon, channel: ChannelId, inTime: InTime) => Promise<Acted>;

const ACTS_BY_NAME: ReadonlyMap<string, ChannelAct> = new Map<string, ChannelAct>([
  ["compact", compactNow],
  ["stop", stopNow],
]);

export const channelAct: Act = {
  path: "/page/channel-acts/act",
  on: (form) => (ACTS_BY_NAME.has(form("act")) ? `${form("act")} ${loggedChannel(form)}` : null),
  async run({ reports: { daemon } }, form, inTime): Promise<Done> {
    const { id, address } = await findChannel(daemon, form("id"));
    const acted = await ACTS_BY_NAME.get(form("act"))?.(daemon, id, inTime);
    if (acted === undefined) throw new Error("the form names no act");
    return { place: channelPath(formatAddress(address), "channel-acts"), ...acted };
  },
};

async function compactNow(daemon: ReportedDaemon, channel: ChannelId): Promise<Acted> {
  const answer = await compactAtHome(daemon, channel, "", ACT_MS);
  if (answer === null)
    return {
      outcome: "late",
      sentence: "It is still being summarised: the channel's page shows how far it is.",
    };
  return { outcome: answer.kind === "committed" ? "done" : "refused", sentence: describeAnswer(answer) };
}

async function stopNow(daemon: ReportedDaemon, channel: ChannelId, inTime: InTime): Promise<Acted> {
  const ended = await inTime(stopAtHome(daemon, channel));
  if (ended === null) return { outcome: "late", sentence: "It is still being stopped." };
  const isStopped = ended.value;
  if (isStopped === null) return { outcome: "refused", sentence: NOBODY_HOME };
  return isStopped
    ? { outcome: "done", sentence: STOPPED }
    : { outcome: "refused", sentence: NOTHING_TO_STOP };
}
