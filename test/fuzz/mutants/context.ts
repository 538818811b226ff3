import {
  type AskingChannel,
  type MemoryHit,
  type MemoryQuery,
  MemoryStore,
} from "../../../src/store/memories.ts";
import { channelId } from "../../../src/core/ids.ts";
import type { Mutant } from "./mutant.ts";

/** Remembers what any channel said, whoever asks. */
class IndiscreetMemories extends MemoryStore {
  override async search(asker: AskingChannel, query: MemoryQuery): Promise<MemoryHit[]> {
    const hits: MemoryHit[] = [];
    for (const [id, kind] of [
      [1, "channel"],
      [2, "dm"],
    ] as const)
      hits.push(...(await super.search({ ...asker, channel: channelId(id), kind }, query)));
    return hits;
  }
}

/** Wrong things to show a model. */
export const CONTEXT_MUTANTS: readonly Mutant[] = [
  {
    name: "a clock in the system prompt",
    breaks: ["I7"],
    system: (text, now) => `${text} It is ${now.toISOString()}.`,
  },
  {
    name: "memories without scope",
    breaks: ["I12"],
    store: (store, db) => ({ ...store, memories: new IndiscreetMemories(db) }),
  },
];
