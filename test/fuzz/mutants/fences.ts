import type { Job, JobResult } from "../../../src/core/compaction.ts";
import type { ChannelId } from "../../../src/core/ids.ts";
import { JobStore } from "../../../src/store/compaction/jobs.ts";
import type { Database } from "../../../src/store/database/database.ts";
import type { Mutant } from "./mutant.ts";
import { changeFunction, dropGuards } from "./sql.ts";
import { writesWhenDue } from "./write-ahead.ts";

/** Stages whatever comes, however late it comes. */
class UnfencedJobs extends JobStore {
  readonly #db: Database;

  constructor(db: Database) {
    super(db);
    this.#db = db;
  }

  override async stage(job: Job, result: JobResult): Promise<boolean> {
    await this.#db.query(
      "job_stage",
      `update jobs set state = 'staged', ended_at = null, attempt = $4, from_seq = $2, to_seq = $3, result = $5
        where id = $1`,
      [job.id, job.fromSeq, job.toSeq, job.attempt, JSON.stringify(result)],
    );
    return true;
  }

  override async isLive(): Promise<boolean> {
    return true;
  }
}

/** Stages what the memories of a result say at once, apart from the summary. */
class HastyJobs extends JobStore {
  readonly #db: Database;

  constructor(db: Database) {
    super(db);
    this.#db = db;
  }

  override async stage(job: Job, result: JobResult): Promise<boolean> {
    const isStaged = await super.stage(job, { ...result, memories: [] });
    for (const memory of isStaged ? result.memories : [])
      await this.#db.query("memory_add", "select add_memory($1, null, $2)", [
        job.channel,
        JSON.stringify(memory),
      ]);
    return isStaged;
  }
}

/** Begins a job of an earlier owner from nothing, also where it was finished. */
class ForgetfulJobs extends JobStore {
  readonly #db: Database;

  constructor(db: Database) {
    super(db);
    this.#db = db;
  }

  override async take(owner: { channel: ChannelId; epoch: number }): Promise<Job | null> {
    const job = await super.take(owner);
    if (job?.state !== "staged") return job;
    await this.#db.query("job_forget", "update jobs set state = 'running', result = null where id = $1", [
      job.id,
    ]);
    return { ...job, state: "running", result: { parts: [], memories: [], summary: null } };
  }
}

/** What is committed without a look at whether it is still wanted, or apart from what it belongs to. */
export const FENCE_MUTANTS: readonly Mutant[] = [
  {
    name: "fence ignored",
    breaks: ["I1", "I2", "I4", "I12"],
    config: writesWhenDue,
    async install(db) {
      await dropGuards(db);
      await changeFunction(db, "commit_job", [
        ["v_job.attempt <> p_attempt or v_job.state <> 'staged'", "v_job.state <> 'staged'"],
        ["v_job.from_seq = v_channel.covered_to + 1 and v_job.to_seq <= v_channel.last_seq", "true"],
      ]);
    },
    store: (store, db) => ({ ...store, jobs: new UnfencedJobs(db) }),
  },
  {
    name: "memory apart from its summary",
    breaks: ["I11"],
    store: (store, db) => ({ ...store, jobs: new HastyJobs(db) }),
  },
  {
    name: "paid for twice",
    breaks: ["I9"],
    store: (store, db) => ({ ...store, jobs: new ForgetfulJobs(db) }),
  },
];
