import { JobStore } from "../../../src/store/compaction/jobs.ts";
import type { Database } from "../../../src/store/database/database.ts";
import type { Mutant } from "./mutant.ts";
import { patched } from "./patched.ts";
import { changeFunction } from "./sql.ts";
import { writesWhenDue } from "./write-ahead.ts";
import { withoutCarrier } from "./without-carrier.ts";

/** Commits what was written, whatever was edited meanwhile. */
function hastyCommits(): () => void {
  return patched(
    JobStore.prototype,
    "commit",
    (commit) =>
      async function hastyCommit(this: JobStore, job) {
        return commit.call(this, job);
      },
  );
}

/** An edit gives only those summaries a substitute that cover its message, or a note of its edits. */
async function leaveBehind(db: Database): Promise<void> {
  await db.script(`
    create function fuzz_leave_behind() returns trigger language plpgsql as $$
    declare v_seqs bigint[] := array(
      select unnest(array[r.seq, r.noted_seq]) from revisions r
       where r.channel_id = new.channel_id and r.seq in (
         select e.seq from revisions e where e.channel_id = new.channel_id and e.xmin = pg_current_xact_id()::xid));
    begin
      if v_seqs = '{}' or exists (select from unnest(v_seqs) s where s between new.from_seq and new.to_seq)
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
    breaks: ["I12", "I17"],
    store: withoutCarrier("summaries", "edited"),
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
    patch: hastyCommits,
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
