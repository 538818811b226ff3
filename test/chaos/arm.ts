import { setTimeout as delay } from "node:timers/promises";
import type { Point } from "./points.ts";
import type { Scene } from "./scene.ts";

/** Whoever comes to the point next hangs there. */
export async function arm({ model, gates, proxy }: Scene, { at }: Point): Promise<void> {
  if (at.kind === "gate") await gates.arm(at.gate);
  if (at.kind === "model") model.holds[at.place].arm();
  if (at.kind === "service") proxy.holds[at.place].arm();
}

/** Resolves with true once somebody hangs at an armed point, else with what the timer says. */
export async function hangsAt(
  { model, gates, proxy, random }: Scene,
  { at }: Point,
  over: AbortSignal,
  timer: Promise<boolean>,
): Promise<boolean> {
  switch (at.kind) {
    case "gate":
      return Promise.race([gates.reached(over), timer]);
    case "model":
      return Promise.race([model.holds[at.place].reached.then(() => true), timer]);
    case "service":
      return Promise.race([proxy.holds[at.place].reached.then(() => true), timer]);
    case "time":
      return delay(random.int(at.from, at.to), true);
  }
}
