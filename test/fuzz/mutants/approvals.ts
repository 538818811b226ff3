import type { Entry, TurnEntryDraft } from "../../../src/core/entry.ts";
import type { AgentId, ChannelId, Owner, Seq, TurnId } from "../../../src/core/ids.ts";
import type { Database } from "../../../src/store/database/database.ts";
import { LogStore, type WrittenBeside } from "../../../src/store/log/log.ts";
import {
  type QuestionLook,
  QuestionStore,
  type Decision,
  type TakenApproval,
  type UnreportedDecision,
} from "../../../src/features/questions/question-store.ts";
import type { Mutant } from "./mutant.ts";
import { withoutCarrier } from "./without-carrier.ts";
import { ENGINE } from "../../store/carriers-with.ts";

/** Makes an allowed call without a note that it does. */
class UnclaimedApprovals extends QuestionStore {
  readonly #db: Database;

  constructor(db: Database) {
    super(db);
    this.#db = db;
  }

  override async take({ channel }: Owner, ids: readonly number[]): Promise<TakenApproval[]> {
    const rows = await this.#db.query<Omit<TakenApproval, "was"> & { state: TakenApproval["was"] }>(
      "approvals_take",
      "select id, state, agent, tool, arguments, fingerprint from approvals where channel_id = $1 and id = any ($2)",
      [channel, ids],
    );
    return rows.map(({ state: was, ...row }) => ({ ...row, was }));
  }
}

/** Decides whatever has become of it. @param condition of those that it decides */
function deciding(condition: string): (db: Database) => QuestionStore {
  return (db) =>
    new (class HastyDecisions extends QuestionStore {
      override async decide(channel: ChannelId, id: number, { state, by }: Decision): Promise<boolean> {
        const rows = await db.query(
          "approval_decide",
          `update approvals set state = $3, decided_by = $4, decided_name = $5, decided_at = clock_timestamp(), told_at = null
            where channel_id = $1 and id = $2 and ${condition} returning id`,
          [channel, id, state, by.id, by.name],
        );
        return rows.length > 0;
      }
    })(db);
}

/** Lets every call run. */
class AllAllowed extends QuestionStore {
  override async look(
    channel: ChannelId,
    agent: AgentId,
    fingerprints: readonly string[],
  ): Promise<QuestionLook> {
    return { ...(await super.look(channel, agent, fingerprints)), allowed: new Set(fingerprints) };
  }
}

/** Reports no decision. */
class NothingReported extends QuestionStore {
  override async unreported(): Promise<UnreportedDecision[]> {
    return Promise.resolve([]);
  }
}

/** Appends a call that waits, and then for what. */
class AskedApart extends LogStore {
  override async appendTurnEntries(
    owner: Owner,
    turn: { id: TurnId; after: Seq; agent?: AgentId | undefined },
    drafts: readonly TurnEntryDraft[],
    at: Date,
    beside?: WrittenBeside,
  ): Promise<Entry[]> {
    const entries = await super.appendTurnEntries(owner, turn, drafts, at);
    if (beside !== undefined) await super.appendTurnEntries(owner, turn, [], at, beside);
    return entries;
  }
}

/** Wrong ways of approvals. */
export const APPROVAL_MUTANTS: readonly Mutant[] = [
  {
    name: "an allowed call is made without its claim",
    breaks: ["I21"],
    approvals: (db) => new UnclaimedApprovals(db),
  },
  {
    name: "a decision does not look at what has become of the call",
    breaks: ["I21"],
    approvals: deciding("true"),
  },
  {
    name: "a decision behind the time counts",
    breaks: ["I21"],
    approvals: deciding("state = 'open'"),
  },
  {
    name: "every call is allowed",
    breaks: ["I21"],
    approvals: (db) => new AllAllowed(db),
  },
  {
    name: "a decision is not told",
    breaks: ["I14", "I21"],
    approvals: (db) => new NothingReported(db),
  },
  {
    name: "a call waits, and nobody is asked",
    breaks: ["I21"],
    store: (store, db) => ({ ...store, log: new AskedApart(db, ENGINE) }),
  },
  {
    name: "an approval outlives a deletion",
    breaks: ["I12", "I21"],
    store: withoutCarrier("questions"),
    install: async (db) => db.script("drop trigger entries_blank_approvals on entries"),
  },
];
