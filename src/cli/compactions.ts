import { formatCompaction } from "../admin/compactions-format.ts";
import { type CommonOptions, type Io, say, sayJson } from "./io.ts";
import { findChannel, readConfig, timeFormatOf, withStore } from "./open.ts";

export type CompactionsOptions = CommonOptions & { readonly json?: boolean; readonly limit: number };

/** `weir compactions CHANNEL`: what was summarised, when and by whom, with the summaries; the newest last. */
export async function showCompactions(io: Io, name: string, options: CompactionsOptions): Promise<void> {
  const config = readConfig(io, options);
  await withStore(io, config, async (store) => {
    const channel = await findChannel(store, name);
    const time = timeFormatOf(config, channel.agent);
    const jobs = await store.compactions.list(channel.id, options.limit);
    if (jobs.length === 0 && options.json !== true) say(io, "Nothing was summarised yet.");
    for (const job of jobs) {
      if (options.json === true) sayJson(io, job);
      else say(io, formatCompaction(job, time));
    }
  });
}
