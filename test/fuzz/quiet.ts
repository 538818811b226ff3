import { setImmediate as tick, setTimeout as delay } from "node:timers/promises";
import type { Incarnation } from "./incarnation.ts";
import type { World } from "./world.ts";

/** Nothing of a run takes longer than this, ms: else something hangs. */
const PATIENCE_MS = 5000;

/** Resolves when the condition holds. @returns false: it did not within the patience */
export async function until(condition: () => boolean, patienceMs = PATIENCE_MS): Promise<boolean> {
  const end = performance.now() + patienceMs;
  for (let round = 0; !condition(); round++) {
    if (performance.now() > end) return false;
    if (round % 4 === 0) await delay(1);
    else await tick();
  }
  return true;
}

/** Resolves when nothing moves any more but what a script holds back. @returns false: it goes on moving */
export async function untilQuiet(world: World): Promise<boolean> {
  let still = 0;
  return until(() => {
    still = world.awake().every((one) => isStill(world, one)) ? still + 1 : 0;
    return still > 3;
  });
}

function isStill(world: World, incarnation: Incarnation): boolean {
  const { script, channel } = world;
  if (incarnation.database.inFlight > 0 || script.busy(incarnation) > 0) return false;
  const actor = incarnation.actor(channel);
  if (actor === undefined) return true;
  const { compactor } = actor;
  const isCompacting = compactor.isRunning && script.isHeld(incarnation, "summary");
  if (!compactor.isIdle && !isCompacting) return false;
  if (actor.isIdle || script.isHeld(incarnation, "turn")) return true;
  return (
    isCompacting &&
    actor.status.turnRunningForMs === null &&
    actor.status.due === 0 &&
    !actor.status.delivering
  );
}
