import { html } from "hono/html";
import { HTTPException } from "hono/http-exception";
import {
  parseSince,
  reportUsage,
  usageNotes,
  type UsageReport,
  usageSheet,
  usageTable,
} from "../../../../admin/reports/usage-report.ts";
import { describePurse, shareSpent } from "../../../../budget/budget.ts";
import type { NamedPurse } from "../../../../budget/budgets.ts";
import { USAGE_KEYS, type UsageKey } from "../../../../core/listings.ts";
import { csvOf } from "../../../../text/csv.ts";
import { displayableLine } from "../../../../text/displayable.ts";
import { formatNumber } from "../../../../text/format.ts";
import type { ReportedDaemon } from "../../channels.ts";
import { masked } from "../../masked.ts";
import { channelPath, type Markup, memoriesPath, meter, table } from "../markup.ts";
import type { Asked, Download, DownloadedFile, Place, Shown } from "../place.ts";

const DEFAULT_SINCE = "7d";
/** Lines of the table, of the file, and budgets. */
const LINES_ON_PAGE = 200;
const LINES_IN_FILE = 10_000;
const BUDGETS_ON_PAGE = 50;

interface UsageAsked {
  readonly by: UsageKey;
  /** As it is written in the address. */
  readonly said: string;
  readonly since: Date;
}

type UsageView = Awaited<ReturnType<typeof readUsage>>;

/** What model calls have cost, by one key, as `weir usage`; and the budgets of today. */
export const usagePlace: Place = {
  path: "/page/usage",
  name: "Usage",
  async show({ reports, mask, query, signal }: Asked): Promise<Shown> {
    const asked = readAsked(query);
    const view = await reports.read(async (daemon) => readUsage(daemon, asked, mask), signal);
    return { title: "Usage", body: usageBody(view) };
  },
};

/** The same as a file for spreadsheets. */
export const usageDownload: Download = {
  path: "/page/usage.csv",
  async read({ reports, mask, query, signal }: Asked): Promise<DownloadedFile> {
    const asked = readAsked(query);
    const { by, report } = await reports.read(async (daemon) => readUsage(daemon, asked, mask), signal);
    const rows = usageSheet(report).slice(0, LINES_IN_FILE + 1);
    return { name: `weir-usage-by-${by}.csv`, type: "text/csv; charset=utf-8", text: csvOf(rows) };
  },
};

/** @throws HTTPException that says what is wrong */
function readAsked(query: Asked["query"]): UsageAsked {
  const by = query("by") === "" ? "day" : USAGE_KEYS.find((key) => key === query("by"));
  const said = query("since") === "" ? DEFAULT_SINCE : query("since");
  const since = parseSince(said, new Date());
  if (by === undefined) throw new HTTPException(400, { message: `By one of ${USAGE_KEYS.join(", ")}.` });
  if (since === null)
    throw new HTTPException(400, {
      message: "Since a length of time, such as 7d, or a day, such as 2026-11-01.",
    });
  return { by, said, since };
}

async function readUsage(
  { store, current, models, budgets }: ReportedDaemon,
  asked: UsageAsked,
  mask: (text: string) => string,
) {
  const { agent } = current.setup.agents.first;
  const { by, since } = asked;
  const usages = await store.usage.by(by, { since }, agent.config.timeZone);
  return {
    ...asked,
    report: masked(
      reportUsage(by, since, usages, (model) => models.priceOf(model)),
      mask,
    ),
    budgets: masked(budgets.all().slice(0, BUDGETS_ON_PAGE), mask),
    time: agent.time,
  };
}

function usagePath(path: string, { by, said }: Pick<UsageAsked, "by" | "said">): string {
  return `${path}?${new URLSearchParams({ by, since: said }).toString()}`;
}

function usageBody(view: UsageView): Markup {
  const { by, said, since, report, budgets, time } = view;
  return html`<h1>Usage</h1>
    <nav class="strip" aria-label="Usage by">
      by
      ${USAGE_KEYS.map(
        (key) =>
          html`<a
            href="${usagePath(usagePlace.path, { by: key, said })}"
            ${key === by ? html`aria-current="page"` : ""}
            >${key}</a
          >`,
      )}
    </nav>
    <form class="filter" method="get" action="${usagePlace.path}">
      <input type="hidden" name="by" value="${by}" />
      <label>Since<br /><input name="since" value="${said}" placeholder="7d, 12h or 2026-11-01" /></label>
      <button>Show</button>
    </form>
    <p class="dim">Since ${time.minute(since)}, by the prices of today.</p>
    ${
      report.lines.length === 0
        ? html`<p>No model was called in that time: say something to an agent, or look further back.</p>`
        : html`${usageRows(report)}
            ${usageNotes(report).map((note) => html`<p class="dim">${displayableLine(note)}</p>`)}
            <p><a href="${usagePath(usageDownload.path, view)}">As a file for spreadsheets (CSV)</a></p>`
    }
    <h2>Budgets today</h2>
    ${budgetTable(budgets)}`;
}

function usageRows(report: UsageReport): Markup {
  const { head, rows } = usageTable(report);
  const { by, lines } = report;
  const cells = rows.map(([name = "", ...numbers], index) => [linked(by, lines[index], name), ...numbers]);
  const total = rows.length > lines.length ? cells.slice(-1) : [];
  const shown = cells.slice(0, Math.min(lines.length, LINES_ON_PAGE));
  return html`<div class="numbers">${table(head, [...shown, ...total])}</div>
    ${
      lines.length > LINES_ON_PAGE
        ? html`<p class="dim">
            The first ${formatNumber(LINES_ON_PAGE)} of ${formatNumber(lines.length)}; the file has more.
          </p>`
        : ""
    }`;
}

/** A channel leads to its page, and a person to what is remembered of them. */
function linked(by: UsageKey, line: UsageReport["lines"][number] | undefined, name: string): Markup | string {
  if (line === undefined || line.key === null) return name;
  if (by === "channel") return html`<a href="${channelPath(line.key)}">${name}</a>`;
  if (by === "person" && line.name !== "")
    return html`<a href="${memoriesPath({ person: line.name })}">${name}</a>`;
  return name;
}

/** Purses of today, each with how much of it is spent. */
export function budgetTable(budgets: readonly NamedPurse[]): Markup {
  if (budgets.length === 0)
    return html`<p class="dim">
      No budget is counted today: limits stand in config.toml, under <code>[agents.budget]</code>.
    </p>`;
  return table(
    ["of", "agent", "spent", ""],
    budgets.map((purse) => [
      displayableLine(`${purse.scope} ${purse.of}`),
      displayableLine(purse.agent),
      describePurse(purse),
      shareSpent(purse) >= 1 ? html`<span class="bad">spent</span>` : meter(shareSpent(purse)),
    ]),
  );
}
