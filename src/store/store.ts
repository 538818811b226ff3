import type { ChannelId } from "../core/ids.ts";
import { ChannelStore } from "./channels.ts";
import { DeliveryStore } from "./deliveries.ts";
import { type ChannelSnapshot, loadSnapshot } from "./history.ts";
import { LogStore } from "./log.ts";
import { ModelCallStore } from "./model-calls.ts";
import type { Database } from "./pool.ts";
import { SearchStore } from "./search.ts";
import { TurnStore } from "./turns.ts";

/** All rows of Weir, by what they are about. */
export interface Store {
  readonly channels: ChannelStore;
  readonly log: LogStore;
  readonly turns: TurnStore;
  readonly deliveries: DeliveryStore;
  readonly modelCalls: ModelCallStore;
  readonly search: SearchStore;
  load(channel: ChannelId): Promise<ChannelSnapshot>;
}

export function createStore(db: Database): Store {
  return {
    channels: new ChannelStore(db),
    log: new LogStore(db),
    turns: new TurnStore(db),
    deliveries: new DeliveryStore(db),
    modelCalls: new ModelCallStore(db),
    search: new SearchStore(db),
    load: async (channel) => loadSnapshot(db, channel),
  };
}
