import type { Incarnation } from "./incarnation.ts";
import type { Held } from "./model-script.ts";
import { isAtRest, untilQuiet } from "./quiet.ts";
import type { World } from "./world.ts";

const WORK = { turn: "the turn", summary: "the compaction", subagent: "the subagent" } as const;

/** Puts other configurations in force while everything goes on, and looks at what becomes of what is under way. */
export class Reloads {
  readonly #world: World;

  constructor(world: World) {
    this.#world = world;
  }

  async reload(number: number | "off"): Promise<void> {
    const world = this.#world;
    const profile = world.reloadProfile(number === "off" ? null : number);
    const [missed, live] = [world.missedDeadlines, world.awake()];
    const expected = live.map((one) => [one, this.#mustGoOn(one), one.cutAt, this.#lastSeqs(one)] as const);
    world.tally.reloads++;
    await Promise.all(live.map(async (one) => Promise.race([one.reload(profile), one.death])));
    if (!(await untilQuiet(world))) return;
    for (const [one, calls, cutAt, seqs] of expected) {
      // A channel that is not in memory has nothing that a reload could end.
      const loaded = world.rooms.filter(({ id }) => one.actor(id) !== undefined);
      const isOwn = !one.isDead && one.cutAt === cutAt && loaded.every((room) => world.isSole(one, room));
      // Who waits for an actor that is being replaced ends its compaction: a reminder that is told meanwhile does, too.
      if (!isOwn || this.#lastSeqs(one).some((seq, room) => (seq ?? 0) > (seqs[room] ?? Infinity))) continue;
      const held = world.script.heldCalls(one);
      // A deadline ends an attempt whatever is reloaded.
      const isLate = world.missedDeadlines > missed;
      for (const call of calls)
        if (!held.includes(call) && !(isLate && call.kind === "summary"))
          world.findings.violate("I9", `a reload has ended ${WORK[call.kind]} that was under way`);
      for (const { id, ledger } of world.rooms)
        if (one.isOutdated(id))
          ledger.violate("I9", "a reload has left an actor of the configuration before");
    }
  }

  /** The last sequence number of each room; undefined: it is not in memory. */
  #lastSeqs(incarnation: Incarnation): (number | undefined)[] {
    return this.#world.rooms.map(({ id }) => incarnation.actor(id)?.history.current.lastSeq);
  }

  /** Calls that no reload may end: nobody waits, and nothing else is on its way that could end them. */
  #mustGoOn(incarnation: Incarnation): Held[] {
    const { script } = this.#world;
    return isAtRest(this.#world, incarnation) ? script.heldCalls(incarnation) : [];
  }
}
