import type { AgentConfig } from "../config/config.ts";
import type { ChannelRow } from "../store/channels/channels.ts";
import type { SpokenLineStore } from "../store/search/spoken-lines.ts";
import { type HistoryFound, type HistoryRequest, HistorySearch } from "./history-search.ts";
import type { Recall } from "./recall.ts";
import type { RecallMemories } from "./recall-memories.ts";

/** Searches the log of a channel for an operator, as `search_history` does for its agent: also what the agent is shown. */
export class ChannelSearch {
  readonly #history: HistorySearch;
  readonly #memories: RecallMemories;

  constructor(parts: {
    readonly recall: Pick<Recall, "rank">;
    readonly lines: SpokenLineStore;
    readonly memories: RecallMemories;
    readonly now: () => Date;
  }) {
    this.#history = new HistorySearch(parts.recall, parts.lines, parts.now);
    this.#memories = parts.memories;
  }

  /** @param agent the channel's own: its names and its days are meant */
  async find(
    request: HistoryRequest,
    { id: channel, workspace, kind, lastSeq: to }: Pick<ChannelRow, "id" | "workspace" | "kind" | "lastSeq">,
    agent: Pick<AgentConfig, "id" | "name" | "timeZone">,
    signal: AbortSignal,
  ): Promise<HistoryFound> {
    const { query, limit } = request;
    const asked = { agent: agent.id, channel, workspace, kind, text: query ?? "", askers: [], limit, signal };
    const self = { names: [agent.name], agent: null };
    const log = { channel, from: 1, to, timeZone: agent.timeZone, self, signal };
    return this.#history.search(request, log, { memories: this.#memories, asked });
  }
}
