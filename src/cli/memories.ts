import { formatMemoryCard } from "../admin/commands/memory.ts";
import { formatAddress } from "../core/ids.ts";
import { formatNumber } from "../text/format.ts";
import type { RejectedMemories } from "../store/memory/memories.ts";
import { counted } from "../text/text.ts";
import { displayableLine } from "../text/displayable.ts";
import type { TimeFormat } from "../text/time.ts";
import { type CommonOptions, type Io, say, sayJson } from "./shared/io.ts";
import { findChannel, timeFormatOf, withStore } from "./shared/open.ts";
import { readConfigToLook } from "./shared/readable-config.ts";
import { weirCommand } from "../files/installation.ts";

/** Memories that are listed at most. */
const LIMIT = 10_000;

type MemoriesOptions = CommonOptions & {
  readonly channel?: string;
  readonly json?: boolean;
  readonly rejected?: boolean;
};

/** `weir memories`: memories with the words that prove them; of all channels, or of one. */
export async function showMemories(io: Io, options: MemoriesOptions): Promise<void> {
  const config = readConfigToLook(io, options);
  await withStore(io, config, async (store) => {
    const channel = options.channel === undefined ? undefined : await findChannel(store, options.channel);
    const filter = channel === undefined ? {} : { channel: channel.id };
    if (options.rejected === true) {
      showRejected(io, await store.memories.rejected(filter), options.json === true);
      return;
    }
    const found = await store.memories.list(filter, LIMIT + 1);
    const memories = found.slice(0, LIMIT);
    if (found.length > LIMIT)
      io.stderr.write(
        `Only ${formatNumber(LIMIT)} are listed: \`${weirCommand("memories export -")}\` writes all of them.\n`,
      );
    if (options.json === true) {
      for (const memory of memories) sayJson(io, { ...memory, channel: formatAddress(memory.channel) });
      return;
    }
    if (memories.length === 0) say(io, "Nothing is remembered yet.");
    const formats = new Map<string, TimeFormat>();
    for (const memory of memories) {
      const time = formats.get(memory.agent) ?? timeFormatOf(config, memory.agent);
      formats.set(memory.agent, time);
      say(io, formatMemoryCard(memory, time));
    }
  });
}

/** Counts of rejected memories, by channel and reason; their content is not stored. */
function showRejected(io: Io, rejected: readonly RejectedMemories[], isJson: boolean): void {
  if (rejected.length === 0 && !isJson) say(io, "No memory was refused yet.");
  for (const { channel, reason, count, lastAt } of rejected) {
    const address = formatAddress(channel);
    if (isJson) sayJson(io, { channel: address, reason, count, lastAt });
    else
      say(
        io,
        `${displayableLine(address)}  ${reason}  ${counted(count, "time")}, last ${lastAt.toISOString().slice(0, 16).replace("T", " ")} UTC`,
      );
  }
}
