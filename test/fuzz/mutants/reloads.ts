import { ChannelActor } from "../../../src/channel/actor.ts";
import { Renewal } from "../../../src/channel/renewal.ts";
import type { Mutant } from "./mutant.ts";
import { patched } from "./patched.ts";

/** Takes each wake-up of an actor that makes way for somebody who waits. */
function hurryAtWakeUps(): () => void {
  const wanted = new WeakMap<ChannelActor, () => void>();
  const undoLeave = patched(
    ChannelActor.prototype,
    "leave",
    (leave) =>
      async function left(this: ChannelActor): Promise<void> {
        const { promise, resolve } = Promise.withResolvers<void>();
        wanted.set(this, resolve);
        await Promise.race([leave.call(this), promise]);
      },
  );
  const undoWake = patched(
    ChannelActor.prototype,
    "wake",
    (wake) =>
      function woken(this: ChannelActor): void {
        wake.call(this);
        if (this.status.turnRunningForMs === null) wanted.get(this)?.();
      },
  );
  return () => {
    undoWake();
    undoLeave();
  };
}

/** Reloads that are wrong. */
export const RELOAD_MUTANTS: readonly Mutant[] = [
  {
    name: "a reload waits for no turn",
    breaks: ["I9"],
    patch: () =>
      patched(
        ChannelActor.prototype,
        "leave",
        (leave) =>
          async function left(this: ChannelActor): Promise<void> {
            void leave.call(this);
            return Promise.resolve();
          },
      ),
  },
  { name: "a reload ends the compaction that it promised to finish", breaks: ["I9"], patch: hurryAtWakeUps },
  {
    name: "a reload forgets who is in memory",
    breaks: ["I9"],
    patch: () => patched(Renewal.prototype, "renew", () => async () => Promise.resolve()),
  },
];
