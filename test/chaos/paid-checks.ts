import type { PaidRequest } from "./chaos-model.ts";
import type { LogChecks, Problem } from "./log-checks.ts";
import type { Sql } from "./sql.ts";
import { short } from "./texts.ts";

/** From a result's row to a request that knows of it, ms: two clocks, and a request on its way. */
const SLACK_MS = 50;
/** A job whose result still counts: what a deletion, a reset or another owner has ended may be done anew. */
const COUNTS = "j.state not in ('failed', 'stale', 'void')";
/**
 * A whole result counts also where its range was found to be another. It does not where an edit or a deletion ended its job: what
 * the job had read reaches back over its range where tools were called in it, so that the next request may be the same.
 */
const WHOLE_COUNTS = "(p.is_whole and not (j.state = 'stale' and j.reason ~ '(edited|deleted)'))";

/** A finished summary is not paid for again: judged by the request's bytes, and by the job and the range that it reads. */
export class PaidChecks {
  readonly #log: LogChecks;
  readonly #sql: Sql;
  readonly #byKey = new Map<string, PaidRequest[]>();
  /** Marks of messages, by the mark of the summary. */
  readonly #readBy = new Map<string, readonly string[]>();
  readonly #reported = new Set<string>();

  constructor(log: LogChecks, sql: Sql) {
    this.#log = log;
    this.#sql = sql;
  }

  /** Looks at requests that were answered since the last look. Call it after the log was looked at. */
  async problems(requests: readonly PaidRequest[]): Promise<Problem[]> {
    const found: Problem[] = await this.#twoResults();
    for (const request of requests) {
      this.#byKey.set(request.key, [...(this.#byKey.get(request.key) ?? []), request]);
      found.push(...(await this.#readAgain(request)));
    }
    return [...found, ...(await this.#askedAgain())];
  }

  /** The same bytes, after their result was stored. */
  async #askedAgain(): Promise<Problem[]> {
    const found: Problem[] = [];
    for (const [key, requests] of this.#byKey) {
      if (requests.length < 2 || this.#reported.has(key)) continue;
      const latest = Math.max(...requests.map(({ at }) => at));
      for (const { mark, at } of requests) {
        const stored = await this.#sql.rows<{ job: string }>(
          `select j::text as job from chaos.paid p join jobs j on j.id = p.job_id where p.text like $1 and p.at < $2
              and (${WHOLE_COUNTS} or (j.to_seq = p.to_seq and ${COUNTS}))`,
          [`%${mark}%`, new Date(latest - SLACK_MS)],
        );
        if (stored.length === 0 || at === latest) continue;
        this.#reported.add(key);
        found.push({
          kind: "doubled",
          what: `summary ${mark} was stored by ${short(stored[0]?.job ?? "")} and paid again`,
        });
      }
    }
    return found;
  }

  /**
   * Whatever the bytes: messages that are read for the first time belong to no job that has its summary already, nor to a part
   * that it has. What a part has read, the request says that brought it: its row has the ends in the order of the view.
   */
  async #readAgain({ mark, read, at }: PaidRequest): Promise<Problem[]> {
    this.#readBy.set(mark, read);
    const places = read.flatMap((one) => this.#log.seqs.get(one) ?? []);
    const [first] = places;
    if (first === undefined) return [];
    const seqs = places.map(({ seq }) => seq);
    const [from, to] = [Math.min(...seqs), Math.max(...seqs)];
    const stored = await this.#sql.rows<{ job: string; is_whole: boolean; text: string }>(
      `select distinct j::text as job, p.is_whole, p.text from chaos.paid p join jobs j on j.id = p.job_id
        where j.channel_id = $1 and j.kind = 'leaf' and p.at < $2 and j.from_seq <= $4 and j.to_seq >= $3
          and j.to_seq = p.to_seq and ${COUNTS}`,
      [this.#log.channelIds.get(first.channel), new Date(at - SLACK_MS), from, to],
    );
    const again = stored.find(({ is_whole: isWhole, text }) => isWhole || this.#hasRead(text, read));
    if (again === undefined) return [];
    const had = again.is_whole ? "its summary" : `the part ${short(again.text)}`;
    const what = `${mark} reads ${from} to ${to} of ${first.channel}, of which ${short(again.job)} had ${had}`;
    return [{ kind: "doubled", what }];
  }

  /** A part may end within a message: its last one, and the first of the next, say nothing. */
  #hasRead(text: string, read: readonly string[]): boolean {
    const whole = new Set(this.#readBy.get(/^S\d+#/.exec(text)?.[0] ?? "")?.slice(0, -1));
    return read.slice(1).some((one) => whole.has(one));
  }

  /** A job is finished once. */
  async #twoResults(): Promise<Problem[]> {
    const jobs = await this.#sql.rows<{ job_id: number; count: number }>(
      "select job_id, count(distinct text) as count from chaos.paid where is_whole group by job_id having count(distinct text) > 1",
    );
    return jobs.map(({ job_id: job, count }) => ({
      kind: "doubled",
      what: `job ${job} was finished with ${count} summaries`,
    }));
  }
}
