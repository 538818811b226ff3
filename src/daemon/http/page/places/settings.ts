import { html } from "hono/html";
import { describeRefusal } from "../../../../admin/reports/daemon-status.ts";
import { warnOfModelNames } from "../../../../config/checks/check-models.ts";
import { describeConfig } from "../../../../config/describe-config.ts";
import { shownFile, type ShownLines } from "../../../../config/shown-file.ts";
import { readTextFile } from "../../../../config/text-file.ts";
import { weirCommand } from "../../../../files/installation.ts";
import { knownWindow } from "../../../../llm/catalog/model-catalog.ts";
import { displayable, displayableLine } from "../../../../text/displayable.ts";
import type { ReportedDaemon } from "../../channels.ts";
import { masked } from "../../masked.ts";
import { type Markup, table } from "../markup.ts";
import type { Asked, Place, Shown } from "../place.ts";
import type { ListedFile } from "../../../../agent-files/agent-folder.ts";
import { formatNumber } from "../../../../text/format.ts";

const MOST_LINES = 2000;

type SettingsView = ReturnType<typeof readSettings>;

/** The configuration: what is in force, what is refused or waits for a start, and the file without its secrets. */
export const settingsPlace: Place = {
  path: "/page/settings",
  name: "Settings",
  async show({ reports, mask, signal }: Asked): Promise<Shown> {
    const { view, files } = await reports.read(async (daemon) => {
      return {
        view: masked(readSettings(daemon, mask), mask),
        files: masked(await readAgentFiles(daemon), mask),
      };
    }, signal);
    return { title: "Settings", body: html`${settingsBody(view)} ${agentFilesMarkup(files)}` };
  },
};

function readSettings(daemon: ReportedDaemon, mask: (text: string) => string) {
  const { config, agents } = daemon.current.setup;
  const { time } = agents.first.agent;
  const at = (date: Date): string => time.minute(date);
  const { configuration } = daemon.vitals();
  const { file } = config;
  const read = file === null ? null : readTextFile(file, file);
  const text = read !== null && "value" in read ? read.value : null;
  return {
    // Null: there is no file.
    path: file,
    // Null as well if it cannot be read, and `problem` says why. Known secrets first: a part of one would not be found.
    lines: text === null ? null : shownFile(mask(text)).slice(0, MOST_LINES),
    problem: read !== null && "problem" in read ? read.problem.message : null,
    refusal: configuration === undefined ? null : describeRefusal(configuration, at),
    problems: daemon.configurationProblems(),
    atStart: configuration?.atStart ?? [],
    reloaded: configuration?.reloadedAt == null ? null : at(configuration.reloadedAt),
    // As `weir config check` prints it.
    inForce: describeConfig(config, knownWindow),
    warnings: warnOfModelNames(config),
  };
}

function settingsBody(view: SettingsView): Markup {
  const { path, refusal, problems, atStart, reloaded, inForce, warnings } = view;
  return html`<h1>Settings</h1>
    <p>
      ${path === null ? html`There is no file: <code>${weirCommand("init")}</code> writes one.` : html`<code>${displayableLine(path)}</code>`}
      <span class="dim">
        Weir reads the file again when it changes. What waits for a start stands here.
      </span>
      ${path === null ? "" : html`<a href="/page/settings/edit">Edit it</a>`}
    </p>
    <h2>State</h2>
    ${
      refusal === null
        ? html`<p class="ok">
            In force${reloaded === null ? " since the start" : `, reloaded at ${reloaded}`}.
          </p>`
        : html`<p class="bad">It is ${displayableLine(refusal)}.</p>`
    }
    ${problems === null ? "" : html`<pre>${displayable(problems)}</pre>`}
    ${
      atStart.length === 0
        ? ""
        : html`<p class="warn">Takes effect at the next start: ${displayableLine(atStart.join(", "))}</p>`
    }
    ${warnings.map((warning) => html`<p class="warn">${displayableLine(warning)}</p>`)}
    <p class="dim">
      <code>${weirCommand("config check")}</code> checks the file, <code>${weirCommand("reload")}</code> puts
      it in force.
    </p>
    <h2>In force</h2>
    <pre>${displayable(inForce)}</pre>
    ${path === null ? "" : fileMarkup(view)}`;
}

function fileMarkup({ lines, problem }: SettingsView): Markup {
  return html`<h2>The file</h2>
    ${
      lines === null
        ? html`<p class="bad">
            ${problem === null ? "It is not there any more." : `It ${displayableLine(problem)}.`}
          </p>`
        : html`<p class="dim">
              Secrets, and values of keys that are not known, are hidden; comments are left out.
            </p>
            <pre>${lines.map(lineText).join("\n")}</pre>
            ${lines.length < MOST_LINES ? "" : html`<p class="dim">Further lines are not shown.</p>`}`
    }`;
}

function lineText({ from, to, text }: ShownLines): string {
  const number = from === to ? String(from) : `${from}–${to}`;
  return `${number.padStart(9)}  ${displayableLine(text)}`;
}

/** Of one agent: of those that people write, and of its own. */
const FILES = 100;

interface AgentFiles {
  readonly agent: string;
  readonly files: readonly ListedFile[];
}

/** What the agents' folders have, by the reader of the agents. */
async function readAgentFiles({ current }: ReportedDaemon): Promise<readonly AgentFiles[]> {
  const agents = [...current.setup.agents.all()];
  return Promise.all(
    agents.map(async ({ agent: { config, folder } }) => {
      await folder.refresh();
      return { agent: config.id, files: await folder.list(FILES) };
    }),
  );
}

/** A list to read: the files are edited where they are. */
function agentFilesMarkup(agents: readonly AgentFiles[]): Markup {
  const rows = agents.flatMap(({ agent, files }) =>
    files.map(({ path, bytes, problem, isAgents }) => [
      displayableLine(path),
      displayableLine(agent),
      formatNumber(bytes),
      isAgents ? "the agent and you" : "you",
      problem === null ? "" : html`<span class="warn">${displayableLine(problem)}</span>`,
    ]),
  );
  return html`<h2>Files of the agents</h2>
    ${
      rows.length === 0
        ? html`<p class="dim">
            None: an agent reads SOUL.md, rules, notes and more from a folder of its name, beside the
            configuration in <code>agents/</code>.
          </p>`
        : html`<p class="dim">
              Edit them where they are: Weir reads a changed one again within a second. At most
              ${formatNumber(FILES)} of an agent are listed, and as many of its own.
            </p>
            ${table(["file", "agent", "bytes", "who edits it", "problem"], rows)}`
    }`;
}
