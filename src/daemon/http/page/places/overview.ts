import { html } from "hono/html";
import { minute } from "../../../../admin/reports/channel-format.ts";
import { formatLevel } from "../../../../admin/reports/channel-list.ts";
import { displayableLine } from "../../../../text/displayable.ts";
import { formatNumber } from "../../../../text/format.ts";
import { weirCommand } from "../../../../files/installation.ts";
import type { Check } from "../../../metrics/readiness.ts";
import { masked } from "../../masked.ts";
import { channelLink, type Markup, meter, table } from "../markup.ts";
import { type Asked, numberIn, type Place, type Shown } from "../place.ts";
import { sayForm } from "./say.ts";
import process from "node:process";
import { describeCost } from "../../../../admin/reports/cost-format.ts";
import { reportUsage } from "../../../../admin/reports/usage-report.ts";
import { readVersion } from "../../../../admin/version.ts";
import { instantOf } from "../../../../async/occurrences.ts";
import { formatAddress } from "../../../../core/ids.ts";
import type { CompactedChannel } from "../../../../store/channels/overview.ts";
import { isPresent } from "../../../../store/channels/members.ts";
import type { SchemaState } from "../../../../store/database/migrate.ts";
import { counted } from "../../../../text/text.ts";
import type { ReportedDaemon } from "../../channels.ts";
import { budgetTable } from "./usage.ts";
import { countWaiting, readWaiting } from "./waiting.ts";

const CHANNELS_ON_PAGE = 50;
const STATES: Readonly<Record<Check["state"], string>> = { ok: "ok", degraded: "warn", failed: "bad" };

/** What is connected, and all channels, the newest first. */
export const overviewPlace: Place = {
  path: "/",
  name: "Overview",
  viewer: "states without their reasons; channels that are not public under a number",
  async show(asked: Asked): Promise<Shown> {
    const { reports, readiness, mask, query, rights, signal } = asked;
    const from = numberIn(query("before")) ?? undefined;
    const { channels, next } = await reports.list(CHANNELS_ON_PAGE, from, signal, (channel) =>
      rights.nameOf(channel),
    );
    const report = await readiness.report();
    const checks = report.checks.map((one) => ({ ...one, detail: rights.operators(one.detail) }));
    const today = rights.isAll ? await reports.read(async (daemon) => readToday(daemon, mask), signal) : null;
    const shown = masked({ checks, channels }, mask);
    return {
      title: "Overview",
      body: html`<h1>Overview</h1>
        ${today === null ? "" : waitingMarkup(today)}
        <h2>State</h2>
        ${stateTable(shown.checks)}
        <h2>Channels</h2>
        ${shown.channels.length === 0 ? noChannels(asked) : channelTable(shown.channels)}
        ${next === null ? "" : html`<p><a href="/?before=${String(next)}">Older channels</a></p>`}
        ${today === null ? "" : todayMarkup(today)}`,
    };
  },
};

function stateTable(checks: readonly Check[]): Markup {
  return html`<table>
    ${checks.map(
      ({ name, state, detail }) =>
        html`<tr>
          <td class="${STATES[state]}">${displayableLine(name)}: ${state}</td>
          <td>${displayableLine(detail)}</td>
        </tr>`,
    )}
  </table>`;
}

function noChannels(asked: Pick<Asked, "formToken" | "chats">): Markup {
  return html`<p>
      No channel has a message yet: write to the agent where it listens, or run
      <code>${weirCommand("chat")}</code>.
    </p>
    ${sayForm(asked, null)}`;
}

function channelTable(channels: Awaited<ReturnType<Asked["reports"]["list"]>>["channels"]): Markup {
  return table(
    ["channel", "agent", "level", "entries", "last heard (UTC)", "waiting"],
    channels.map(({ channel, agent, entries, level, heardAt, due }) => [
      channelLink(channel),
      displayableLine(agent),
      html`${meter(level)} ${formatLevel(level)}`,
      formatNumber(entries),
      heardAt === null ? "never" : minute(heardAt),
      due === 0 ? "" : html`<span class="warn">${formatNumber(due)}</span>`,
    ]),
  );
}

/** Rows of each list. */
const BUDGETS = 5;
const CHANNELS = 20;

/** What an operator asks first. */
type Today = Awaited<ReturnType<typeof readToday>>;

const VERSION = readVersion();

/** Each part by the function of its own place or command. */
async function readToday(daemon: ReportedDaemon, mask: (text: string) => string) {
  const { store, current, models, budgets } = daemon;
  const { config, time } = current.setup.agents.first.agent;
  const now = new Date();
  const midnight = instantOf(`${time.day(now)}T00:00`, config.timeZone) ?? now;
  const [usages, compacted, waiting, schema, members] = await Promise.all([
    store.usage.by("agent", { since: midnight }, config.timeZone),
    store.overview.compactedChannels(CHANNELS),
    readWaiting(daemon, mask),
    daemon.readSchema(),
    store.members.all(),
  ]);
  const usage = reportUsage("agent", midnight, usages, (model) => models.priceOf(model));
  const low = budgets.all().slice(0, BUDGETS);
  const shown = { usage, budgets: low, compacted, members: members.filter(isPresent) };
  return { ...masked(shown, mask), waiting: countWaiting(waiting), schema };
}

function waitingMarkup({ waiting }: Pick<Today, "waiting">): Markup {
  return html`<h2>Waiting for you</h2>
    ${
      waiting.length === 0
        ? html`<p class="ok">Nothing waits for you.</p>`
        : html`<p class="warn"><a href="/page/waiting">${waiting.join("; ")}</a></p>`
    }`;
}

function todayMarkup({ usage, budgets, compacted, schema, members }: Today): Markup {
  const { calls, cost } = usage.total;
  const spent =
    calls === 0 ? "No model was called." : `${counted(calls, "model call")}: ${describeCost(cost)}.`;
  return html`<h2>Money today</h2>
    <p>${spent} <a href="/page/usage">By agent, channel and person</a></p>
    ${budgetTable(budgets)}
    <h2>Compactions in the last 24 hours</h2>
    ${compactedMarkup(compacted)}
    <h2>Versions</h2>
    <p>Weir ${VERSION}, Node ${process.version.slice(1)}, ${describeSchema(schema)}</p>
    ${
      members.length === 0
        ? ""
        : html`<p>
            In the cluster:
            ${members.map(({ name, version }) => displayableLine(`${name} ${version}`)).join(", ")}
          </p>`
    }`;
}

function compactedMarkup(compacted: readonly CompactedChannel[]): Markup {
  if (compacted.length === 0)
    return html`<p class="dim">
      No summary has landed: a channel is summarised when its level reaches a mark, or by
      <code>/compact</code>.
    </p>`;
  return table(
    ["channel", "summaries that landed", "of them in an emergency"],
    compacted.map(({ address, landings, emergencies }) => [
      channelLink(formatAddress(address)),
      formatNumber(landings),
      emergencies === 0 ? "0" : html`<span class="warn">${formatNumber(emergencies)}</span>`,
    ]),
  );
}

function describeSchema({ current, known }: SchemaState): string {
  return current === known
    ? `database version ${current}`
    : `database version ${current}, where this Weir knows ${known}`;
}
