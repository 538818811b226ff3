import { formatChannelReport } from "../admin/channel-format.ts";
import { reportChannel } from "../admin/channel-report.ts";
import { formatEntry } from "../admin/log-format.ts";
import type { Config } from "../config/config.ts";
import { OperatorError } from "../core/errors.ts";
import { formatAddress, parseAddress } from "../core/ids.ts";
import { createTimeFormat } from "../text/time.ts";
import { createAgents } from "../agents.ts";
import { openModels } from "../llm/model-provider.ts";
import { loadPrompts, promptSources } from "../prompts/load.ts";
import type { ChannelRow } from "../store/channels/channels.ts";
import { openDatabase } from "../store/database/open.ts";
import { createStore, type Store } from "../store/store.ts";
import { type CommonOptions, type Io, openLog, readConfig, say, sayJson } from "./io.ts";

/** Entries that `weir log` reads at once. */
const PAGE = 500;

export type ContextOptions = CommonOptions & { readonly json?: boolean };
export type LogOptions = CommonOptions & {
  readonly json?: boolean;
  readonly from?: number;
  readonly to?: number;
};

/** `weir context CHANNEL`: what the next model call would be sent. */
export async function showContext(io: Io, name: string, options: ContextOptions): Promise<void> {
  const config = readConfig(io, options);
  await withStore(io, config, async (store) => {
    const channel = await findChannel(store, name);
    await using models = await openModels(config.llm);
    const agents = createAgents(config, models, loadPrompts(promptSources(config)));
    const { agent } = agents.of(channel.agent);
    const report = await reportChannel({ store, agent, now: new Date(), isFresh: true }, channel);
    if (options.json === true) sayJson(io, report, 2);
    else say(io, formatChannelReport(report, agent.time));
  });
}

/**
 * `weir log CHANNEL`: the log, entry by entry.
 * @throws OperatorError where the first entry asked for comes behind the last one, or behind the end of the log
 */
export async function showLog(io: Io, name: string, options: LogOptions): Promise<void> {
  const { from: first = 1, to: last = Infinity } = options;
  if (first > last) throw new OperatorError(`--from ${first} comes behind --to ${last}.`);
  const config = readConfig(io, options);
  await withStore(io, config, async (store) => {
    const channel = await findChannel(store, name);
    const agent = config.agents.find(({ id }) => id === channel.agent) ?? config.agents[0];
    const time = createTimeFormat(agent?.timeZone ?? "UTC");
    if (options.from !== undefined && first > channel.lastSeq)
      throw new OperatorError(`The log of ${formatAddress(channel.address)} ends with ${channel.lastSeq}.`);
    const to = Math.min(last, channel.lastSeq);
    for (let from = first; from <= to && !io.shutdown.aborted; from += PAGE) {
      const entries = await store.log.readCurrent(channel.id, from, Math.min(to, from + PAGE - 1));
      for (const entry of entries) {
        if (options.json === true) sayJson(io, entry);
        else say(io, formatEntry(entry, channel, time));
      }
    }
  });
}

/** Opens the database beside a daemon that may be running, for one command. */
export async function withStore(
  io: Io,
  config: Config,
  work: (store: Store) => Promise<void>,
  role: "reader" | "asker" = "reader",
): Promise<void> {
  const log = openLog(io, config, "warn");
  await using opened = await openDatabase(config.database, log, role);
  await work(createStore(opened.database));
}

/** @throws OperatorError where there is none, with the ones that there are */
export async function findChannel(store: Store, name: string): Promise<ChannelRow> {
  const channel = await store.channels.find(parseAddress(name));
  if (channel !== undefined) return channel;
  const known = await store.channels.newest(10);
  const list = known.map(({ address }) => formatAddress(address)).join(", ");
  const hint = list === "" ? "Nothing has been said anywhere yet." : `The newest channels are: ${list}.`;
  throw new OperatorError(`There is no channel ${formatAddress(parseAddress(name))}. ${hint}`);
}
