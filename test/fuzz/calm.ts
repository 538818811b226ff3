import { setTimeout as delay } from "node:timers/promises";
import type { Incarnation } from "./incarnation.ts";
import { untilQuiet } from "./quiet.ts";
import type { Room } from "./rooms.ts";
import type { World } from "./world.ts";

/** A working summariser has healed and settled all channels by then, ms. */
const CALM_MS = 10_000;

/** Everything works again: what was left behind must be made good, within a bounded time. */
export async function calm(world: World, anyAwake: () => Promise<Incarnation>): Promise<void> {
  const { script, rooms, findings } = world;
  world.tally.calms++;
  script.mode = "good";
  script.isPatient = false;
  script.isAway = false;
  world.chat.refuseSends = 0;
  let settled: (readonly [Room, string])[] = rooms.map((room) => [room, "nothing was looked at"] as const);
  for (const end = performance.now() + CALM_MS; settled.length > 0 && performance.now() < end;) {
    script.release("turn");
    script.release("summary");
    const incarnation = await anyAwake();
    // As the next append would.
    for (const { id } of rooms) incarnation.actor(id)?.compactor.consider();
    await delay(1);
    if (!(await untilQuiet(world))) break;
    await world.look();
    settled = rooms.flatMap((room) => unsettled(room, incarnation).map((what) => [room, what] as const));
  }
  script.isPatient = true;
  for (const [{ ledger }, what] of settled) ledger.violate(what.startsWith("omitted") ? "I15" : "I14", what);
  const tables = await world.deleted.tablesWithAgain(rooms.flatMap(({ ledger }) => [...ledger.gone]));
  if (tables.length > 0) findings.violate("I12", `deleted text is in ${tables.join(", ")}`);
}

/** What a working summariser has still to do. */
function unsettled({ state, ledger, measured }: Room, incarnation: Incarnation): string[] {
  if (state === null) return [];
  const { channel, jobs } = state;
  const wrong: string[] = [];
  const due = [...ledger.entries.values()].filter((one) => one.addressed && one.seq > channel.settled_to);
  if (due.length > 0) wrong.push(`${due.length} messages are due, entry ${due[0]?.seq} first`);
  const { profile } = incarnation;
  // With the worker tiers off nothing comes back, and nobody summarises.
  if (!profile.config.compaction.enabled) return wrong;
  if (channel.omitted_to > channel.covered_to)
    wrong.push(`omitted to ${channel.omitted_to}, covered to ${channel.covered_to}`);
  const open = jobs.filter((job) => job.state === "running" || job.state === "staged");
  if (open.length > 0) wrong.push(`job ${open[0]?.id} is ${open[0]?.state}`);
  if (measured?.incarnation !== incarnation) return wrong;
  const { decision } = measured;
  // Another owner has done it since, and this one has not looked again: nothing is full.
  const isDone =
    decision.kind === "job" && decision.plan.kind === "leaf" && decision.plan.toSeq <= channel.covered_to;
  if (isDone) return wrong;
  if (measured.decision.kind === "job") wrong.push(`due is still ${JSON.stringify(measured.decision.plan)}`);
  if (measured.decision.kind === "idle" && measured.isFull)
    wrong.push("the context is fuller than it should be, and nothing says why");
  return wrong;
}
