import type { ChannelRegistry } from "../channel/registry.ts";
import type { ChannelRow } from "../store/channels/channels.ts";
import type { Digester } from "../store/compaction/extracts.ts";
import type { Blanked } from "../store/log/deletion.ts";
import type { Store } from "../store/store.ts";
import { writeThrough } from "./write-through.ts";

export interface RedactionParts {
  readonly store: Pick<Store, "people">;
  readonly registry: Pick<ChannelRegistry, "inMemory">;
  readonly digesterOf: (channel: ChannelRow) => Digester;
}

/** Messages per transaction: other writers to the channel wait for it. */
export const REDACTED_AT_ONCE = 100;

/** Blanks messages in the log, then in the memory of the channel's actor, like a deletion on the platform. */
export async function redactMessages(
  { store, registry, digesterOf }: RedactionParts,
  channel: ChannelRow,
  ids: readonly string[],
): Promise<Blanked> {
  if (ids.length === 0) return { seqs: [], memories: 0 };
  const digester = digesterOf(channel);
  return writeThrough(
    registry,
    channel.id,
    async () => store.people.blank(channel.id, ids, digester),
    // A turn that has read any of them has read the first.
    ({ seqs }) => (seqs.length > 0 ? [Math.min(...seqs), null] : null),
  );
}
