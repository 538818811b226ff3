import { setImmediate as tick } from "node:timers/promises";
import type { Incarnation } from "./incarnation.ts";
import type { World } from "./world.ts";

/** Nothing of a run takes longer than this, ms: else something hangs. */
const PATIENCE_MS = 30_000;
/** Looks in a row at which nothing moved. */
const STILL_LOOKS = 4;
/** By then whatever a cut connection left in doubt is read again or repeated, ms: a write that is repeated waits for 100. A simulation reaches it exactly. */
export const DOUBT_MS = 400;

/** Resolves when the condition holds. @returns false: it did not within the patience */
export async function until(
  world: World,
  condition: () => boolean,
  patienceMs = PATIENCE_MS,
): Promise<boolean> {
  const end = performance.now() + patienceMs;
  while (!condition()) {
    if (performance.now() > end) return false;
    await world.activity.next();
    await tick();
  }
  return true;
}

/** Resolves when nothing moves any more but what a script holds back. @returns false: it goes on moving */
export async function untilQuiet(world: World): Promise<boolean> {
  const isQuiet = (): boolean => world.awake().every((one) => isStill(world, one));
  for (let looks = 0; looks < STILL_LOOKS; looks++) {
    if (!isQuiet()) {
      looks = 0;
      if (!(await until(world, isQuiet))) return false;
    }
    await tick();
  }
  return true;
}

/** Still, and nobody waits but for a turn that is held. */
export function isAtRest(world: World, incarnation: Incarnation): boolean {
  const isAwaited = world.rooms.some(({ id }) => incarnation.actor(id)?.status.isAwaiting === true);
  return !isAwaited && isStill(world, incarnation);
}

function isStill(world: World, incarnation: Incarnation): boolean {
  const { script } = world;
  if (incarnation.database.inFlight > 0 || script.busy(incarnation) > 0) return false;
  if (performance.now() < incarnation.cutAt + DOUBT_MS) return false;
  const held = script.held(incarnation, "summary");
  let compacting = 0;
  for (const { id } of world.rooms) {
    const actor = incarnation.actor(id);
    if (actor === undefined) continue;
    const { compactor } = actor;
    if (!compactor.isIdle && !compactor.isRunning) return false;
    if (compactor.isRunning) compacting++;
    if (actor.isIdle || script.held(incarnation, "turn") > 0) continue;
    const { turnRunningForMs, due, delivering } = actor.status;
    if (!compactor.isRunning || turnRunningForMs !== null || due > 0 || delivering) return false;
  }
  return compacting <= held;
}
