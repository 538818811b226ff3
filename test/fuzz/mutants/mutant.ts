import type { CompactionState, Decision } from "../../../src/compactor/policy.ts";
import type { AgentConfig } from "../../../src/config/config.ts";
import type { Model } from "../../../src/llm/model.ts";
import type { Database } from "../../../src/store/pool.ts";
import type { Store } from "../../../src/store/store.ts";

/** A Weir that is wrong in one place. */
export interface Mutant {
  readonly name: string;
  /** The invariants of which one at least must fail. */
  readonly breaks: readonly string[];
  /** Wrong functions of the database, without the triggers that would refuse what they do. */
  readonly install?: (db: Database) => Promise<void>;
  readonly store?: (store: Store, db: Database) => Store;
  readonly decide?: (state: CompactionState) => Decision;
  readonly config?: (config: AgentConfig) => AgentConfig;
  /** Wraps what the agent is given as its model. */
  readonly model?: (model: Model) => Model;
}
