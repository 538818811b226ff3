import type { Job, JobResult } from "../../../src/core/compaction.ts";
import { JobStore } from "../../../src/store/compaction/jobs.ts";
import type { Database } from "../../../src/store/database/database.ts";
import type { Mutant } from "./mutant.ts";
import { changeFunction } from "./sql.ts";

interface Proof {
  readonly seq: number;
  readonly quote: string;
}

/** What stands in the oldest message of the channel that is before the job's range. */
async function oldProof(db: Database, { channel, fromSeq }: Job): Promise<Proof | undefined> {
  const [row] = await db.query<{ seq: number; text: string }>(
    "fuzz_old_proof",
    `select seq, text from entries where channel_id = $1 and seq < $2 and kind = 'user' and text <> ''
      order by seq limit 1`,
    [channel, fromSeq],
  );
  return row && { seq: row.seq, quote: row.text.split(" ").slice(0, 2).join(" ") };
}

/** Moves all sources to a message that its model was not shown. */
class StrayJobs extends JobStore {
  readonly #db: Database;

  constructor(db: Database) {
    super(db);
    this.#db = db;
  }

  override async stage(job: Job, result: JobResult): Promise<boolean> {
    const proof = await oldProof(this.#db, job);
    if (proof === undefined) return super.stage(job, result);
    const memories = result.memories.map((memory) => ({ ...memory, sources: [proof] }));
    return super.stage(job, { ...result, memories });
  }
}

/** Proves what is remembered already by a message that its model was not shown. */
class LateJobs extends JobStore {
  readonly #db: Database;

  constructor(db: Database) {
    super(db);
    this.#db = db;
  }

  override async stage(job: Job, result: JobResult): Promise<boolean> {
    const proof = await oldProof(this.#db, job);
    if (proof !== undefined)
      await this.#db.query(
        "fuzz_late_proof",
        `insert into memory_sources (memory_id, channel_id, seq, quote)
         select max(id), channel_id, $2::bigint, $3 from memories where channel_id = $1 group by channel_id
         on conflict do nothing`,
        [job.channel, proof.seq, proof.quote],
      );
    return super.stage(job, result);
  }
}

/** What was made of a text that went is looked for by none of its words. */
async function forgetNoWords(db: Database): Promise<void> {
  await changeFunction(db, "texts_to_go", [["select e.seq, said.text from", "select e.seq, ''::text from"]]);
}

/** Whether a channel is public when its memories are committed decides, whenever they were said. */
async function shareAsOfNow(db: Database): Promise<void> {
  const isNever = "if p_channel.privacy_from is null and p_channel.privacy_after = 0";
  await changeFunction(db, "memory_scope", [[isNever, isNever.replace("if ", "if true or ")]]);
}

/** Memories that rest on something else than what was summarised. */
export const MEMORY_MUTANTS: readonly Mutant[] = [
  {
    name: "a memory from before its range",
    breaks: ["I11"],
    store: (store, db) => ({ ...store, jobs: new StrayJobs(db) }),
  },
  {
    name: "a proof that is added from before the range",
    breaks: ["I11"],
    store: (store, db) => ({ ...store, jobs: new LateJobs(db) }),
  },
  {
    name: "a deletion leaves what tells of it",
    breaks: ["I12"],
    install: forgetNoWords,
  },
  {
    name: "the time of speaking does not count",
    breaks: ["I12"],
    install: shareAsOfNow,
  },
];
