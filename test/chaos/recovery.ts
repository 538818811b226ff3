import { setTimeout as delay } from "node:timers/promises";
import type { Scene } from "./scene.ts";
import type { Sql } from "./sql.ts";

const POLL_MS = 25;
const INSIST_EVERY_MS = 400;

/** Says what is still to come; empty: nothing. Seqs are of the log. */
async function whatIsLeft({ people, sql }: Scene): Promise<string[]> {
  people.listen();
  const left = people.unacknowledged.map(({ id }) => `${id} is not acknowledged`);
  const said = [...people.said.values()].filter(({ platform }) => platform === "loopback").length;
  const [logged] = await sql.rows<{ count: number }>(
    `select count(*) as count from entries e join channels c on c.id = e.channel_id
      where c.platform = 'loopback' and e.kind = 'user'`,
  );
  if (logged?.count !== said) left.push(`of ${said} messages of the service ${logged?.count} are in the log`);
  // Last: a message that comes into the log between these questions would be due and seen by neither.
  return [...left, ...(await answersLeft(sql))];
}

/** Messages without an answer, turns that run and answers on their way, in words. */
export async function answersLeft(sql: Sql): Promise<string[]> {
  const rows = await sql.rows<{ what: string }>(
    `select format('channel %s: due messages behind %s', c.id, c.settled_to) as what from channels c
      where exists (select from entries e where e.channel_id = c.id and e.addressed and e.seq > c.settled_to)
     union all select format('turn %s of channel %s runs (attempt %s)', id, channel_id, attempts) from turns where state = 'running'
     union all select format('delivery %s of turn %s is pending', id, turn_id) from deliveries where state = 'pending'`,
  );
  return rows.map(({ what }) => what);
}

/**
 * Waits until everything that was said is in the log and answered, and the answers are delivered.
 * @throws Error with what is left, where that takes too long or the process ends
 */
export async function untilRecovered(scene: Scene, patienceMs: number): Promise<void> {
  const deadline = performance.now() + patienceMs;
  let insistAt = performance.now() + INSIST_EVERY_MS;
  for (;;) {
    const left = await whatIsLeft(scene);
    if (left.length === 0) return;
    if (performance.now() > deadline || scene.process.isOver) {
      const state = scene.process.isOver ? "the process has ended" : `${patienceMs} ms passed`;
      const tail = scene.process.err.slice(-12).join("\n");
      throw new Error(`${state}, and there is left:\n${left.slice(0, 12).join("\n")}\n${tail}`);
    }
    if (performance.now() > insistAt) {
      scene.people.insist();
      insistAt = performance.now() + INSIST_EVERY_MS;
    }
    await delay(POLL_MS);
  }
}

/** Jobs under way, what is omitted, and summaries that are to be written again, in words. */
export async function compactionLeft(sql: Sql): Promise<string[]> {
  const rows = await sql.rows<{ what: string }>(
    `select format('job %s of channel %s is %s (attempt %s)', id, channel_id, state, attempt) as what from jobs where state in ('running', 'staged')
     union all select format('channel %s is omitted to %s and covered to %s', id, omitted_to, covered_to) from channels where omitted_to > covered_to
     union all select format('summary %s of channel %s is to be written again', id, channel_id) from summaries where live and needs_redo`,
  );
  return rows.map(({ what }) => what);
}

/**
 * Waits until no compaction is under way, nothing is omitted and nothing is to be written again, without a word
 * from anybody.
 * @throws Error with what is left, and what has failed meanwhile: each failure is followed by a rest
 */
export async function untilHealed({ sql, process }: Scene, patienceMs: number): Promise<void> {
  const [start] = await sql.rows<{ now: Date }>("select clock_timestamp() as now");
  const deadline = performance.now() + patienceMs;
  for (;;) {
    const left = await compactionLeft(sql);
    if (left.length === 0) return;
    if (performance.now() > deadline) {
      const tail = process.err.slice(-12).join("\n");
      const rests = await restsSince(sql, start?.now ?? new Date(0));
      const what = [...left, ...rests].join("\n");
      throw new Error(`${patienceMs} ms passed, and there is left:\n${what}\n${tail}`);
    }
    await delay(POLL_MS * 4);
  }
}

/**
 * Failures since then, by channel, with the rest that follows so many in a row: 5 s, then twice as long each time. Behind three of
 * a model's, over all channels, its circuit is open besides: for 30 s, then twice as long each time.
 */
async function restsSince(sql: Sql, from: Date): Promise<string[]> {
  const rows = await sql.rows<{ channel_id: number; count: number; ago: number; reasons: string }>(
    `select channel_id, count(*) as count, extract(epoch from clock_timestamp() - max(ended_at))::float8 as ago,
            string_agg(distinct coalesce(reason, 'a digest'), '; ') as reasons
       from jobs where ended_at >= $1 and (state = 'failed' or (state = 'committed' and model is null)) group by channel_id`,
    [from],
  );
  const all = rows.reduce((sum, { count }) => sum + count, 0);
  const circuit = all < 3 ? "closed" : "perhaps open";
  const lines = rows.map(({ channel_id: id, count, ago, reasons }) => {
    const restS = Math.min(600, 5 * 2 ** (count - 1));
    return `channel ${id}: ${count} failures (${reasons}), the last ${ago.toFixed(1)} s ago: it may rest for ${restS} s`;
  });
  return [...lines, `${all} failures since this process began to heal; the circuit is ${circuit}`];
}
