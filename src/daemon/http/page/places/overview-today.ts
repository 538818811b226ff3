import process from "node:process";
import { html } from "hono/html";
import { describeCost } from "../../../../admin/reports/cost-format.ts";
import { reportUsage, type UsageReport } from "../../../../admin/reports/usage-report.ts";
import { readVersion } from "../../../../admin/version.ts";
import { instantOf } from "../../../../async/occurrences.ts";
import type { NamedPurse } from "../../../../budget/budgets.ts";
import { formatAddress } from "../../../../core/ids.ts";
import type { CompactedChannel } from "../../../../store/channels/overview.ts";
import { isPresent, type Member } from "../../../../store/channels/members.ts";
import type { SchemaState } from "../../../../store/database/migrate.ts";
import { displayableLine } from "../../../../text/displayable.ts";
import { formatNumber } from "../../../../text/format.ts";
import { counted } from "../../../../text/text.ts";
import type { ReportedDaemon } from "../../channels.ts";
import { masked } from "../../masked.ts";
import { channelPath, type Markup, table } from "../markup.ts";
import { budgetTable } from "./usage.ts";
import { countWaiting, readWaiting } from "./waiting.ts";

/** Rows of each list. */
const BUDGETS = 5;
const CHANNELS = 20;

/** What an operator asks first. */
interface Today {
  /** Since midnight of the first agent. */
  readonly usage: UsageReport;
  readonly budgets: readonly NamedPurse[];
  readonly compacted: readonly CompactedChannel[];
  /** See `countWaiting`. */
  readonly waiting: readonly string[];
  readonly schema: SchemaState;
  /** The daemons of its cluster that are there, with their versions; empty: it is alone. */
  readonly members: readonly Pick<Member, "name" | "version">[];
}

const VERSION = readVersion();

/** Each part by the function of its own place or command. */
export async function readToday(daemon: ReportedDaemon, mask: (text: string) => string): Promise<Today> {
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

export function waitingMarkup({ waiting }: Pick<Today, "waiting">): Markup {
  return html`<h2>Waiting for you</h2>
    ${
      waiting.length === 0
        ? html`<p class="ok">Nothing waits for you.</p>`
        : html`<p class="warn"><a href="/page/waiting">${waiting.join("; ")}</a></p>`
    }`;
}

export function todayMarkup({ usage, budgets, compacted, schema, members }: Today): Markup {
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
    compacted.map(({ address, landings, emergencies }) => {
      const name = formatAddress(address);
      return [
        html`<a href="${channelPath(name)}">${displayableLine(name)}</a>`,
        formatNumber(landings),
        emergencies === 0 ? "0" : html`<span class="warn">${formatNumber(emergencies)}</span>`,
      ];
    }),
  );
}

function describeSchema({ current, known }: SchemaState): string {
  return current === known
    ? `database version ${current}`
    : `database version ${current}, where this Weir knows ${known}`;
}
