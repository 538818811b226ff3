import {
  type CommitOutcome,
  type Job,
  type JobPlan,
  type JobResult,
  type Landed,
  type LearnedDrafts,
  MAX_LIVE_SUMMARIES,
} from "../../core/compaction.ts";
import type { ChannelId, Owner, Seq } from "../../core/ids.ts";
import { openWorkOf } from "../channels/channels.ts";
import type { Database } from "../database/database.ts";
import type { Queryable } from "../database/queryable.ts";
import { readCurrentEntries } from "../log/entry-rows.ts";
import { type Digester, type Extract, mostTokens } from "./extracts.ts";
import { type EditedMeanwhile, renewWritten } from "../deletion/carriers/summaries.ts";
import { type LearnedRows, NO_LEARNED_ROWS } from "./learned-rows.ts";

/** A result as its row has it: each list of what was learned stands beside the memories. */
type StoredResult = Omit<JobResult, "learned"> & Readonly<Record<string, unknown>>;

const NOTHING: Omit<JobResult, "learned"> = { parts: [], memories: [], summary: null };

const COLUMNS = `id, channel_id as channel, kind, tier, from_seq, to_seq, level, source_tokens, attempt, state,
  coalesce(result, '${JSON.stringify(NOTHING)}') as result, is_ahead`;

/**
 * Rows of `jobs`. The start of a job is fenced by the channel's epoch, and all later writes by its attempt: an outdated process
 * cannot change a job that was started again, and a staged result stays.
 */
export class JobStore {
  readonly #db: Database;
  readonly #learned: LearnedRows;

  constructor(db: Database, learned: LearnedRows = NO_LEARNED_ROWS) {
    this.#db = db;
    this.#learned = learned;
  }

  /** @throws StaleEpochError if another daemon has the channel */
  async begin(owner: Owner, plan: JobPlan): Promise<Job> {
    const { kind, tier, fromSeq, toSeq, level, sourceTokens, isAhead = false } = plan;
    const [row] = await this.#db.query<RawJob>(
      "job_begin",
      `select ${COLUMNS} from begin_job($1, $2, $3, $4, $5, $6, $7, $8, p_is_ahead => $9)`,
      [owner.channel, owner.epoch, kind, tier, fromSeq, toSeq, level, Math.ceil(sourceTokens), isAhead],
    );
    if (row === undefined) throw new Error("begin_job returned no row");
    return toJob(row);
  }

  /** The channel's live job, for whoever owns the channel now; a running one counts as begun again. */
  async take(owner: Owner): Promise<Job | null> {
    const [row] = await this.#db.query<RawJob>("job_take", `select ${COLUMNS} from take_job($1, $2)`, [
      owner.channel,
      owner.epoch,
    ]);
    return row === undefined ? null : toJob(row);
  }

  /** Begins a job once more, for a shorter range or the same. @returns null: it is ours no more */
  async again(job: Job, range: { readonly toSeq: Seq; readonly sourceTokens: number }): Promise<Job | null> {
    const isSame = range.toSeq === job.toSeq;
    const [row] = await this.#db.query<RawJob>(
      "job_again",
      `update jobs set attempt = attempt + 1, to_seq = $3, source_tokens = $4,
              result = case when $5 then result end
        where id = $1 and attempt = $2 and state = 'running' returning ${COLUMNS}`,
      [job.id, job.attempt, range.toSeq, Math.ceil(range.sourceTokens), isSame],
    );
    return row === undefined ? null : toJob(row);
  }

  /** Keeps what is finished of it, so that it is not paid for again. @returns false: it is ours no more */
  async save(job: Job, result: JobResult): Promise<boolean> {
    const rows = await this.#db.query(
      "job_save",
      "update jobs set result = $3 where id = $1 and attempt = $2 and state = 'running' returning id",
      [job.id, job.attempt, JSON.stringify(toStored(result))],
    );
    return rows.length === 1;
  }

  /**
   * Stores the finished result before the commit, with the range that it is of; one that is written ahead then waits.
   * @returns false: it is ours no more, or a deletion made it stale
   */
  async stage(job: Job, result: JobResult): Promise<boolean> {
    const learned = await this.#learned.complete(this.#db, job.channel, result.learned ?? {});
    const rows = await this.#db.query(
      "job_stage",
      `update jobs set state = case when is_ahead then 'ahead' else 'staged' end, result = $3, model = $4, to_seq = $5, source_tokens = $6
        where id = $1 and attempt = $2 and state = 'running' returning id`,
      [
        job.id,
        job.attempt,
        JSON.stringify(toStored({ ...result, learned })),
        result.summary?.model ?? null,
        job.toSeq,
        Math.ceil(job.sourceTokens),
      ],
    );
    return rows.length === 1;
  }

  /**
   * Does ahead what a commit need not do while others wait for it: if something in the job's range was edited meanwhile, makes the extract
   * that its summary is to become as soon as no view shows it. That of a merge is made quickly, of summaries.
   */
  async makeReady(job: Job, digester: Digester): Promise<SubstituteMaker> {
    const { summary } = job.result;
    const edits = await readEdits(this.#db, job);
    if (edits === undefined || !edits.isInRange || summary === null || job.level > 1) return { digester };
    const entries = await readCurrentEntries(this.#db, job.channel, job.fromSeq, job.toSeq);
    const extract = await digester.ofEntries(entries, mostTokens(summary));
    return { digester, ready: { extract, edits: edits.count } };
  }

  /**
   * The transaction that covers. Asked again after a commit whose answer was lost, it says the same.
   * @param maker makes what the summary becomes later where it tells what was edited meanwhile; default: it stays
   */
  async commit(job: Pick<Job, "id" | "attempt">, maker?: SubstituteMaker): Promise<CommitOutcome> {
    return this.#db.transaction(async (client) => {
      // Behind this lock no edit comes in between.
      await client.query(
        "job_channel_lock",
        "select from channels where id = (select channel_id from jobs where id = $1) for no key update",
        [job.id],
      );
      const edits = await readEdits(client, job);
      const [row] = await client.query<{ outcome: CommitOutcome }>(
        "job_commit",
        "select outcome from commit_job($1, $2)",
        [job.id, job.attempt],
      );
      if (row === undefined) throw new Error("commit_job returned no row");
      if (row.outcome === "committed" && edits !== undefined && maker !== undefined) {
        const { digester, ready } = maker;
        const made = ready?.edits === edits.count ? ready.extract : undefined;
        await renewWritten(client, edits.channel, job.id, edits, digester, made);
      }
      return row.outcome;
    });
  }

  /**
   * Commits all that was written ahead, in one transaction.
   * @returns what has landed, in the order of its commit; empty: nothing waits (any more)
   * @throws StaleEpochError if another daemon has the channel
   */
  async commitAhead(owner: Owner): Promise<Landed[]> {
    const jobs = await this.#db.query<RawJob>(
      "jobs_commit_ahead",
      `select ${COLUMNS} from commit_ahead($1, $2, $3)`,
      [owner.channel, owner.epoch, MAX_LIVE_SUMMARIES],
    );
    return jobs.map((row) => {
      const job = toJob(row);
      const { summary, memories } = job.result;
      if (summary === null) throw new Error(`job ${job.id} was written ahead without a summary`);
      return { job, summary, memories: memories.length };
    });
  }

  /** False: it has ended, whoever ended it. */
  async isLive(job: Pick<Job, "id">): Promise<boolean> {
    const rows = await this.#db.query(
      "job_is_live",
      "select from jobs where id = $1 and state in ('running', 'staged')",
      [job.id],
    );
    return rows.length === 1;
  }

  /**
   * How many jobs to write the same summary again have ended with one of these reasons, since it was made.
   * @param kinds what stands before the colon of a reason
   */
  async refusedRedos(
    { channel, fromSeq, toSeq }: Pick<Job, "channel" | "fromSeq" | "toSeq">,
    kinds: readonly string[],
  ): Promise<number> {
    const [row] = await this.#db.query<{ count: number }>(
      "jobs_refused_redos",
      `select count(*) from jobs j join summaries s using (channel_id, from_seq, to_seq)
        where j.channel_id = $1 and j.from_seq = $2 and j.to_seq = $3 and s.live and j.id > coalesce(s.job_id, 0)
          and j.kind = 'redo' and j.state = 'failed' and split_part(j.reason, ':', 1) = any ($4)`,
      [channel, fromSeq, toSeq, kinds],
    );
    return row?.count ?? 0;
  }

  async fail(job: Pick<Job, "id" | "attempt">, reason: string): Promise<void> {
    await this.#db.query(
      "job_fail",
      `update jobs set state = 'failed', reason = $3, ended_at = clock_timestamp()
        where id = $1 and attempt = $2 and state in ('running', 'staged')`,
      [job.id, job.attempt, reason],
    );
  }
}

type RawJob = Omit<Job, "result"> & { readonly result: StoredResult };

function toJob({ result: { parts, memories, summary, ...learned }, ...job }: RawJob): Job {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- as `toStored` has written them
  const drafts = learned as LearnedDrafts;
  const isNone = Object.keys(drafts).length === 0;
  return { ...job, result: { parts, memories, summary, ...(!isNone && { learned: drafts }) } };
}

function toStored({ learned, ...result }: JobResult): StoredResult {
  return { ...result, ...learned };
}

/** Who makes the substitute of a summary that tells what was edited while it was written. */
export interface SubstituteMaker {
  readonly digester: Digester;
  /** Made ahead, after this number of edits. */
  readonly ready?: { readonly extract: Extract; readonly edits: number };
}

interface JobEdits extends EditedMeanwhile {
  readonly channel: ChannelId;
  /** Each that touched what the job reads makes it larger. */
  readonly count: number;
}

/** What was edited since a job began. @returns undefined: nothing, or the job has ended */
async function readEdits(client: Queryable, { id }: Pick<Job, "id">): Promise<JobEdits | undefined> {
  const [row] = await client.query<{ channel: ChannelId; edited: boolean; terms: string[]; count: number }>(
    "job_edits",
    `select channel_id as channel, edited, edited_terms as terms, cardinality(edited_seqs) as count from jobs
      where id = $1 and state in ('running', 'staged') and (edited or edited_terms <> '{}')`,
    [id],
  );
  if (row === undefined) return undefined;
  const { channel, edited: isInRange, terms, count } = row;
  return { channel, isInRange, terms: new Set(terms), count };
}

/** What was begun in a channel, and is not over: of a compaction, and of features. */
export interface UnderWay {
  /** A compaction's job was under way: its owner died, or is us. */
  readonly hasLiveJob: boolean;
  /** Work of a feature that has outlived its turn is open. */
  readonly hasOpenWork: boolean;
  /** How often a text of the channel, or of a thread's channel, was edited or taken back. */
  readonly takenBack: number;
  /** The same of the channel alone. */
  readonly takenBackHere: number;
  /** When something was last deleted of which the rows do not say yet that the channel's owner knows; null: it knows of all. */
  readonly lastDeletion: string | null;
}

export async function readUnderWay(client: Queryable, channel: ChannelId): Promise<UnderWay> {
  const [row] = await client.query<UnderWay>(
    "under_way",
    `select exists (select from jobs where channel_id = $1 and state in ('running', 'staged')) as has_live_job,
            ${openWorkOf("$1")} as has_open_work,
            notes_taken_back($1) as taken_back,
            coalesce((select taken_back from search_progress where channel_id = $1), 0) as taken_back_here,
            last_deletion($1)::text as last_deletion`,
    [channel],
  );
  if (row === undefined) throw new Error("under_way returned no row");
  return row;
}
