import { setTimeout as delay } from "node:timers/promises";
import type { Scene } from "./scene.ts";

const POLL_MS = 25;
const INSIST_EVERY_MS = 400;

/** Says what is still to come; empty: nothing. Seqs are of the log. */
async function whatIsLeft({ people, sql }: Scene): Promise<string[]> {
  people.listen();
  const left = people.unacknowledged.map(({ id }) => `${id} is not acknowledged`);
  const rows = await sql.rows<{ what: string }>(
    `select format('channel %s: due messages behind %s', c.id, c.settled_to) as what from channels c
      where exists (select from entries e where e.channel_id = c.id and e.addressed and e.seq > c.settled_to)
     union all select format('turn %s of channel %s runs (attempt %s)', id, channel_id, attempts) from turns where state = 'running'
     union all select format('delivery %s of turn %s is pending', id, turn_id) from deliveries where state = 'pending'`,
  );
  left.push(...rows.map(({ what }) => what));
  const said = [...people.said.values()].filter(({ platform }) => platform === "loopback").length;
  const [logged] = await sql.rows<{ count: number }>(
    `select count(*) as count from entries e join channels c on c.id = e.channel_id
      where c.platform = 'loopback' and e.kind = 'user'`,
  );
  if (logged?.count !== said) left.push(`of ${said} messages of the service ${logged?.count} are in the log`);
  return left;
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

/**
 * Waits until no compaction is under way, nothing is omitted and nothing is to be written again, without a word
 * from anybody.
 * @throws Error with what is left
 */
export async function untilHealed({ sql, process }: Scene, patienceMs: number): Promise<void> {
  const deadline = performance.now() + patienceMs;
  for (;;) {
    const left = await sql.rows<{ what: string }>(
      `select format('job %s of channel %s is %s (attempt %s)', id, channel_id, state, attempt) as what from jobs where state in ('running', 'staged')
       union all select format('channel %s is omitted to %s and covered to %s', id, omitted_to, covered_to) from channels where omitted_to > covered_to
       union all select format('summary %s of channel %s is to be written again', id, channel_id) from summaries where live and needs_redo`,
    );
    if (left.length === 0) return;
    if (performance.now() > deadline) {
      const tail = process.err.slice(-12).join("\n");
      throw new Error(`${patienceMs} ms passed: ${left.map(({ what }) => what).join("\n")}\n${tail}`);
    }
    await delay(POLL_MS * 4);
  }
}
