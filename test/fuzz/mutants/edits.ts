import type { CommitOutcome, Job } from "../../../src/core/compaction.ts";
import type { ChannelId } from "../../../src/core/ids.ts";
import { JobStore } from "../../../src/store/compaction/jobs.ts";
import type { Database } from "../../../src/store/database/database.ts";
import { type EditOutcome, LogStore } from "../../../src/store/log/log.ts";
import type { Mutant } from "./mutant.ts";
import { changeFunction } from "./sql.ts";
import { writesWhenDue } from "./write-ahead.ts";

/** Gives a message its new text, and leaves what was summarised of its old one. */
class ShallowEdits extends LogStore {
  override async edit(channel: ChannelId, messageId: string, text: string, at: Date): Promise<EditOutcome> {
    return super.edit(channel, messageId, text, at);
  }
}

/** Commits what was written, whatever was edited meanwhile. */
class HastyJobs extends JobStore {
  override async commit(job: Pick<Job, "id" | "attempt">): Promise<CommitOutcome> {
    return super.commit(job);
  }
}

/** Only a summary that covers an edited message, or the note of its edit, gets a substitute. */
async function leaveBehind(db: Database): Promise<void> {
  await db.script(`
    create function fuzz_leave_behind() returns trigger language plpgsql as $$
    begin
      if exists (select from revisions r where r.channel_id = new.channel_id
                   and (r.seq between new.from_seq and new.to_seq or r.noted_seq between new.from_seq and new.to_seq))
      then return new; end if;
      return null;
    end $$;
    create trigger fuzz_leave_behind before update of substitute on summaries
      for each row when (new.substitute is not null) execute function fuzz_leave_behind()`);
}

/** Edits that leave what was said before them somewhere. */
export const EDIT_MUTANTS: readonly Mutant[] = [
  {
    name: "a shallow edit",
    breaks: ["I17"],
    store: (store, db) => ({ ...store, log: new ShallowEdits(db) }),
  },
  {
    name: "an edit leaves what was summarised behind",
    breaks: ["I17"],
    // A stretch that is written ahead has read no summary.
    config: writesWhenDue,
    install: leaveBehind,
  },
  {
    name: "an edit leaves what was being summarised",
    breaks: ["I17"],
    // An edit voids a stretch that is written ahead.
    config: writesWhenDue,
    store: (store, db) => ({ ...store, jobs: new HastyJobs(db) }),
  },
  {
    name: "what is summarised later reads the old summary",
    breaks: ["I17"],
    store: (store) => ({
      ...store,
      currentSummaries: async (channel) => (await store.coverage(channel)).summaries,
    }),
  },
  {
    name: "what is summarised later reads the old calls",
    breaks: ["I17"],
    install: async (db) =>
      changeFunction(db, "tells_outdated", [["r.channel_id = p_channel", "r.channel_id = 0"]]),
  },
];
