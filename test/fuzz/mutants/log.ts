import { setTimeout as delay } from "node:timers/promises";
import type { HistoryMutex } from "../../../src/channel/guarded-history.ts";
import type { Entry, TurnEntryDraft } from "../../../src/core/entry.ts";
import type { ChannelId, Seq, TurnId } from "../../../src/core/ids.ts";
import { ChannelStore } from "../../../src/store/channels/channels.ts";
import { LogStore } from "../../../src/store/log/log.ts";
import type { Database } from "../../../src/store/database/database.ts";
import type { Mutant } from "./mutant.ts";
import { changeFunction } from "./sql.ts";
import { writesWhenDue } from "./write-ahead.ts";
import { ENGINE } from "../../store/carriers-with.ts";

/**
 * Appends a call at once, and its results behind it. A crash in between leaves a call that nobody closes: of one that
 * is appended with its results there is nothing to expire.
 */
class ApartLog extends LogStore {
  override async appendTurnEntries(
    owner: { channel: ChannelId; epoch: number },
    turn: { id: TurnId; after: Seq },
    drafts: readonly TurnEntryDraft[],
    at: Date,
  ): Promise<Entry[]> {
    const calls = await super.appendTurnEntries(owner, turn, drafts.slice(0, 1), at);
    const results = drafts.slice(1);
    return results.length === 0
      ? calls
      : [...calls, ...(await super.appendTurnEntries(owner, turn, results, at))];
  }
}

/** Takes the text from the log, and leaves what was made of it. */
class ShallowLog extends LogStore {
  readonly #db: Database;

  constructor(db: Database) {
    super(db, ENGINE);
    this.#db = db;
  }

  override async delete(channel: ChannelId, messageId: string): Promise<Seq | undefined> {
    const [row] = await this.#db.query<{ seq: number | null }>(
      "delete_message",
      "select seq from delete_message($1, $2)",
      [channel, messageId],
    );
    return row?.seq ?? undefined;
  }
}

/** Omits only while no job is under way. */
class WaitingChannels extends ChannelStore {
  readonly #db: Database;

  constructor(db: Database) {
    super(db);
    this.#db = db;
  }

  override async omit(id: ChannelId, epoch: number, toSeq: Seq): Promise<boolean> {
    for (;;) {
      const jobs = await this.#db.query(
        "fuzz_live_job",
        "select from jobs where channel_id = $1 and state in ('running', 'staged')",
        [id],
      );
      if (jobs.length === 0) return super.omit(id, epoch, toSeq);
      await delay(5);
    }
  }
}

/** Lets everybody in at once, and every other one is slow. */
function noMutex(): HistoryMutex {
  let entered = 0;
  return {
    isLocked: () => false,
    runExclusive: async (work) => {
      if (entered++ % 2 === 1) await delay(6);
      return work();
    },
  };
}

/** Wrong writes to the log and to a channel's row, and to the history that shows them. */
export const LOG_MUTANTS: readonly Mutant[] = [
  {
    name: "a kept context outlives a deletion",
    breaks: ["I12"],
    async install(db) {
      await db.script(`
        drop trigger entries_void_context on entries;
        drop trigger revisions_void_context on revisions;
        drop trigger memories_void_context on memories`);
      await changeFunction(db, "keep_context_records", [
        ["e.deleted_at is not null or md5(e.text) <> a->>1", "false"],
        // So that not only a message of the last turns finds it out.
        ["offset p_kept", "offset 1000"],
      ]);
    },
  },
  {
    name: "a call behind a deletion keeps its words",
    breaks: ["I12"],
    install: async (db) => db.script("drop trigger entries_blank_late_call on entries"),
  },
  {
    name: "a thread's turn outlives the notes that it was shown",
    breaks: ["I12"],
    install: async (db) => changeFunction(db, "knows_deletions", [["or p.shown_gone_at > t.started_at", ""]]),
  },
  {
    name: "no dead-call expiry",
    breaks: ["I5"],
    config: writesWhenDue,
    store: (store, db) => ({ ...store, log: new ApartLog(db, ENGINE) }),
  },
  {
    name: "a deletion leaves the summary",
    breaks: ["I12"],
    store: (store, db) => ({ ...store, log: new ShallowLog(db) }),
  },
  {
    name: "messages of several channels change places",
    breaks: ["I9"],
    install: async (db) =>
      changeFunction(db, "append_batches", [
        ["select m.batch, ", "select jsonb_array_length(p_batches) + 1 - m.batch, "],
      ]),
  },
  {
    name: "settlements of several channels change places",
    breaks: ["I9"],
    install: async (db) =>
      changeFunction(db, "settle_turns", [
        ["select s.place, m.seq, ", "select jsonb_array_length(p_settlements) + 1 - s.place, m.seq, "],
      ]),
  },
  {
    name: "no mutex",
    breaks: ["I9"],
    createMutex: noMutex,
  },
  {
    name: "emergency waits for the job",
    breaks: ["I13"],
    hangs: true,
    store: (store, db) => ({ ...store, channels: new WaitingChannels(db) }),
  },
];
