import { html } from "hono/html";
import type { ListedFile } from "../../../../agent-files/agent-folder.ts";
import { displayableLine } from "../../../../text/displayable.ts";
import { formatNumber } from "../../../../text/format.ts";
import type { ReportedDaemon } from "../../channels.ts";
import { type Markup, table } from "../markup.ts";

/** Of one agent: of those that people write, and of its own. */
const FILES = 100;

interface AgentFiles {
  readonly agent: string;
  readonly files: readonly ListedFile[];
}

/** What the agents' folders have, by the reader of the agents. */
export async function readAgentFiles({ current }: ReportedDaemon): Promise<readonly AgentFiles[]> {
  const agents = [...current.setup.agents.all()];
  return Promise.all(
    agents.map(async ({ agent: { config, folder } }) => {
      await folder.refresh();
      return { agent: config.id, files: await folder.list(FILES) };
    }),
  );
}

/** A list to read: the files are edited where they are. */
export function agentFilesMarkup(agents: readonly AgentFiles[]): Markup {
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
