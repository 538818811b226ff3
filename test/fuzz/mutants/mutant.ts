import type { QuestionStore } from "../../../src/features/questions/question-store.ts";
import type { SubagentStore } from "../../../src/features/subagents/subagent-store.ts";
import type { ReminderStore } from "../../../src/features/reminders/reminder-store.ts";
import type { HistoryMutex } from "../../../src/channel/guarded-history.ts";
import type { CompactionState, Decision } from "../../../src/compactor/policy/policy.ts";
import type { Model } from "../../../src/llm/model.ts";
import type { Database } from "../../../src/store/database/database.ts";
import type { Store } from "../../../src/store/store.ts";
import type { Miscast } from "../profile.ts";

/** Whether a violation finds a mutant out. One that dies by something else proves nothing of the checks that it is there for. */
export function findsOut({ breaks, hangs = false }: Mutant, invariant: string): boolean {
  return breaks.includes(invariant) || (hangs && invariant === STUCK);
}

/** The invariant of a step that does not end, or behind which nothing comes to rest. */
export const STUCK = "stuck";

/** A Weir that is wrong in one place. */
export interface Mutant extends Miscast {
  readonly name: string;
  /** The invariants of which one at least must fail; whatever else it breaks does not count. */
  readonly breaks: readonly string[];
  /** It waits, or looks again, without an end: so does the step in which it does, and that finds it out as well. */
  readonly hangs?: boolean;
  /** Wrong functions of the database, without the triggers that would refuse what they do. */
  readonly install?: (db: Database) => Promise<void>;
  readonly store?: (store: Store, db: Database) => Store;
  readonly approvals?: (db: Database) => QuestionStore;
  readonly subagents?: (db: Database) => SubagentStore;
  readonly reminders?: (db: Database) => ReminderStore;
  readonly decide?: (state: CompactionState) => Decision;
  readonly createMutex?: () => HistoryMutex;
  /** Real tokens per estimated one, in each seed: for what shows nowhere else. */
  readonly ratio?: number;
  /** Answers are shown while they are written, in each seed: for what shows nowhere else. */
  readonly isStreaming?: true;
  /** Called before each run: a mutant that remembers forgets. */
  readonly forget?: () => void;
  /**
   * Changes the code itself, for one run: what no store, model and configuration can do.
   * @returns undoes it
   */
  readonly patch?: () => () => void;
  /** Wraps what the agent is given as its model. */
  readonly model?: (model: Model) => Model;
}
