import { type MemoryHit, type MemoryQuery, MemoryStore } from "../../../src/store/memory/memories.ts";
import { type AskingChannel } from "../../../src/store/memory/memory-scope.ts";
import { type SearchQuery, SearchStore } from "../../../src/store/search/search.ts";
import { channelId } from "../../../src/core/ids.ts";
import type { Database } from "../../../src/store/database/database.ts";
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

  override async searchWithPeople(
    asker: AskingChannel,
    query: MemoryQuery,
    signal?: AbortSignal,
  ): ReturnType<MemoryStore["searchWithPeople"]> {
    const { about } = await super.searchWithPeople(asker, query, signal);
    return { hits: await this.search(asker, query), about };
  }
}

/** The same where entries and memories are looked for together. */
class IndiscreetSearch extends SearchStore {
  readonly #memories: IndiscreetMemories;

  constructor(db: Database) {
    super(db);
    this.#memories = new IndiscreetMemories(db);
  }

  override async findWithMemories(
    asker: AskingChannel,
    query: SearchQuery,
    memories: MemoryQuery,
  ): ReturnType<SearchStore["findWithMemories"]> {
    const found = await super.findWithMemories(asker, query, memories);
    return { ...found, memories: await this.#memories.search(asker, memories) };
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
    store: (store, db) => ({
      ...store,
      memories: new IndiscreetMemories(db),
      search: new IndiscreetSearch(db),
    }),
  },
];
