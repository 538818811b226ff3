import { formatMemoryCard } from "../admin/memory.ts";
import { formatAddress } from "../core/ids.ts";
import type { TimeFormat } from "../text/time.ts";
import { type CommonOptions, type Io, say, sayJson } from "./io.ts";
import { findChannel, readConfig, timeFormatOf, withStore } from "./open.ts";

/** Memories that are listed at most. */
const LIMIT = 10_000;

export type MemoriesOptions = CommonOptions & { readonly channel?: string; readonly json?: boolean };

/** `weir memories`: what is remembered, with the words that prove it; of all channels, or of one. */
export async function showMemories(io: Io, options: MemoriesOptions): Promise<void> {
  const config = readConfig(io, options);
  await withStore(io, config, async (store) => {
    const channel = options.channel === undefined ? undefined : await findChannel(store, options.channel);
    const memories = await store.memories.list(channel === undefined ? {} : { channel: channel.id }, LIMIT);
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
