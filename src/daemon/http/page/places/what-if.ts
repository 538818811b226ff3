import { html } from "hono/html";
import { formatAddress } from "../../../../core/ids.ts";
import { displayable, displayableLine } from "../../../../text/displayable.ts";
import { weirCommand } from "../../../../files/installation.ts";
import { assumptions, playedRange, type TuneReport, tuningTable } from "../../../../tune/format.ts";
import { settingOf } from "../../../../tune/settings.ts";
import { findChannel } from "../../channels.ts";
import { masked } from "../../masked.ts";
import { channelPath, type Markup, table } from "../markup.ts";
import type { Asked, Place, Shown } from "../place.ts";

interface Field {
  /** The setting's name in config.toml. */
  readonly key: string;
  readonly label: string;
  readonly step: number;
}

const FIELDS: readonly Field[] = [
  { key: "compaction.background_threshold", label: "background, share of the window", step: 0.01 },
  { key: "compaction.aggressive_threshold", label: "aggressive, share of the window", step: 0.01 },
  { key: "compaction.emergency_threshold", label: "emergency, share of the window", step: 0.01 },
  { key: "compaction.target", label: "target, share of the window", step: 0.01 },
  { key: "compaction.keep_messages", label: "messages that stay as they were said", step: 1 },
  { key: "compaction.max_raw_tokens", label: "most tokens of messages, 0: no limit", step: 1 },
  { key: "compaction.max_raw_messages", label: "most messages, 0: no limit", step: 1 },
];
const LOOK_AGAIN_SECONDS = 2;
const NUMBER = /^\d{1,9}(?:\.\d{1,6})?$/;

/** What a channel's log would have cost with other settings, by `weir tune`. Nothing is changed. */
export const whatIfPlace: Place = {
  path: "/page/what-if",
  name: null,
  async show({ reports, mask, query, signal, tuneRuns }: Asked): Promise<Shown> {
    const { name, config, home, file } = await reports.read(async (daemon) => {
      const channel = await findChannel(daemon, query("id"));
      const { current, staffOf } = daemon;
      const of = { name: formatAddress(channel.address), config: staffOf(channel).agent.config };
      return { ...of, home: current.setup.config.home, file: current.setup.config.file };
    }, signal);
    const values = FIELDS.map(({ key }) => ({ key, now: settingOf(config, key), asked: query(key) }));
    const tried = values.filter(({ now, asked }) => NUMBER.test(asked) && Number(asked) !== Number(now));
    const settings = tried.map(({ key, asked }) => `${key}=${asked}`);
    const isTried = settings.length > 0;
    const report = isTried ? tuneRuns.look({ channel: name, settings, home, file }) : null;
    const title = `What if: ${displayableLine(mask(name))}`;
    return {
      title,
      body: html`<h1>${title}</h1>
        <p>
          <a href="${channelPath(name)}">The channel</a> ·
          <a href="${channelPath(name, "channel-acts")}">summarise now, or stop the answer</a>
        </p>
        ${form(name, values)}
        ${report === null ? note(isTried) : outcome(masked(report, mask), config.id, settings)}`,
      ...(isTried && report === null && { againSeconds: LOOK_AGAIN_SECONDS }),
    };
  },
};

/** @param isPlaying the log is being played */
function note(isPlaying: boolean): Markup {
  return isPlaying
    ? html`<p role="status">The log is played again. This page looks for the outcome by itself.</p>`
    : html`<p class="dim">
        Change a number: the channel's log is played again with it, without a model, and compared with today's
        settings. A long log takes a minute. It is a calculation: the channel and the configuration stay as
        they are.
      </p>`;
}

function form(
  name: string,
  values: readonly { readonly key: string; readonly now: string; readonly asked: string }[],
): Markup {
  return html`<form class="what-if" method="get" action="/page/what-if">
    <input type="hidden" name="id" value="${name}" />
    ${FIELDS.map(({ key, label, step }, place) => {
      const { now = "", asked = "" } = values[place] ?? {};
      return html`<p>
        <label
          >${label}<br /><input
            type="number"
            name="${key}"
            min="0"
            step="${String(step)}"
            value="${NUMBER.test(asked) ? asked : now}"
        /></label>
        <span class="dim">now ${now}</span>
      </p>`;
    })}
    <button>Play the log again</button>
  </form>`;
}

function outcome(report: TuneReport, agent: string, settings: readonly string[]): Markup {
  const [head = [], ...rows] = tuningTable(report);
  const lines = settings.map((setting) => setting.replace(/^compaction\./, "").replace("=", " = "));
  return html`<h2>Played again</h2>
    <p>${displayableLine(playedRange(report))}</p>
    <div class="numbers">${table(head, rows)}</div>
    ${assumptions(report).map((line) => html`<p class="dim">${line}</p>`)}
    <h2>To keep it</h2>
    <p>
      Write this into config.toml under <code>[agents.compaction]</code> of the agent ${agent}, or under
      <code>[defaults.compaction]</code> for all agents, then run <code>${weirCommand("reload")}</code>:
    </p>
    <pre>${displayable(lines.join("\n"))}</pre>`;
}
