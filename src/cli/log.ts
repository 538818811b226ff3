import { OperatorError } from "../core/errors.ts";
import { formatAddress } from "../core/ids.ts";
import { assertWhole, type CommonOptions, type Io, say, sayJson } from "./shared/io.ts";
import { findChannel, timeFormatOf, withStore } from "./shared/open.ts";
import { readConfigToLook } from "./shared/readable-config.ts";
import { describeEntry } from "../admin/reports/log-entry.ts";
import type { Entry } from "../core/entry.ts";
import type { TimeFormat } from "../text/time.ts";
import type { ChannelRow } from "../store/channels/channels.ts";

/** Entries that `weir log` reads at once. */
const PAGE = 500;

type LogOptions = CommonOptions & {
  readonly json?: boolean;
  readonly from?: number;
  readonly to?: number;
};

/**
 * `weir log CHANNEL`: the log, entry by entry.
 * @throws OperatorError if the first requested entry comes after the last one, or after the end of the log
 */
export async function showLog(io: Io, name: string, options: LogOptions): Promise<void> {
  const { from: first = 1, to: last = Infinity } = options;
  if (first > last) throw new OperatorError(`--from ${first} comes behind --to ${last}.`);
  const config = readConfigToLook(io, options);
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
    assertWhole(io);
  });
}

/** One entry of the log as a line (or several, indented) for a person. Pure. */
export function formatEntry(
  entry: Entry,
  channel: Pick<ChannelRow, "agent" | "settledTo" | "coveredTo" | "omittedTo">,
  time: TimeFormat,
): string {
  const { speaker, marks, text } = describeEntry(entry, channel, time);
  const suffix = marks.length === 0 ? "" : ` (${marks.join(", ")})`;
  const head = `${String(entry.seq).padStart(6)}  ${time.minute(entry.at)}  ${speaker}${suffix}`;
  return `${head}: ${text.replaceAll("\n", "\n          ")}`;
}
