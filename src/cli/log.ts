import { formatEntry } from "../admin/log-format.ts";
import { OperatorError } from "../core/errors.ts";
import { formatAddress } from "../core/ids.ts";
import { type CommonOptions, type Io, say, sayJson } from "./io.ts";
import { findChannel, readConfig, timeFormatOf, withStore } from "./open.ts";

/** Entries that `weir log` reads at once. */
const PAGE = 500;

export type LogOptions = CommonOptions & {
  readonly json?: boolean;
  readonly from?: number;
  readonly to?: number;
};

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
    const time = timeFormatOf(config, channel.agent);
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
