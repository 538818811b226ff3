import { setTimeout as delay } from "node:timers/promises";
import { tablesWith } from "./checks/i12-deleted.ts";
import type { Incarnation } from "./incarnation.ts";
import { People } from "./inbound.ts";
import { until, untilQuiet } from "./quiet.ts";
import { type Step, tellStep } from "./schedule.ts";
import type { World } from "./world.ts";

/** Longest time from a message to its model call, ms: much more than any step on the way takes. */
const REPLY_MS = 3000;
/** A working summariser has healed and settled a channel by then, ms. */
const CALM_MS = 4000;
const HOUR_MS = 3_600_000;

/** Performs steps on a world, one after the other, and looks for violations behind each. */
export class Performer {
  readonly #world: World;
  readonly #people: People;
  #stalled: Incarnation | null = null;
  #comparisons = 0;

  constructor(world: World) {
    this.#world = world;
    this.#people = new People(world);
  }

  async step(step: Step): Promise<void> {
    const world = this.#world;
    world.tally.steps++;
    world.ledger.note(`step ${tellStep(step)}`);
    world.pass();
    world.mark();
    const incarnation = await this.#anyAwake();
    await this.#perform(step, incarnation);
    const mayBeBusy = step.do === "say" && step.hurry;
    if (!mayBeBusy && !(await untilQuiet(world)))
      world.ledger.violate("stuck", `it does not come to rest behind: ${step.do}`);
    await world.look();
    // The whole fold is read where something was changed, and now and then.
    this.#comparisons++;
    if (!mayBeBusy && (step.do !== "say" || this.#comparisons % 5 === 0)) await world.compareMemory();
  }

  /** One that is awake; where all are dead or stalled, the next life begins. */
  async #anyAwake(): Promise<Incarnation> {
    const world = this.#world;
    for (;;) {
      const awake = world.awake();
      // Of two that race, each gets its share of the events.
      const chosen = awake[world.tally.steps % Math.max(1, awake.length)];
      if (chosen !== undefined) return chosen;
      if (this.#stalled === null) this.#buryDead();
      const next = await world.start();
      await this.#people.repeat(next);
    }
  }

  #buryDead(): void {
    const { incarnations } = this.#world;
    const dead = incarnations.filter(({ isDead }) => isDead);
    for (const one of dead) {
      incarnations.splice(incarnations.indexOf(one), 1);
      this.#world.bury(one);
    }
  }

  async #perform(step: Step, incarnation: Incarnation): Promise<void> {
    const world = this.#world;
    switch (step.do) {
      case "say":
        return this.#say(step, incarnation);
      case "redeliver":
        return this.#people.redeliver(step.pick, incarnation);
      case "edit":
        return this.#people.edit(step.pick, step.n, incarnation);
      case "delete":
        return this.#people.delete(step.target, step.pick, incarnation);
      case "release":
        return world.script.release("turn");
      case "summariser":
        world.script.mode = step.mode;
        if (step.mode !== "held") world.script.release("summary");
        return;
      case "reset":
        return this.#reset(incarnation);
      case "force":
        void incarnation.actor(world.channel)?.compactor.force();
        return;
      case "evict":
        incarnation.registry.evictIdle();
        return;
      case "pass":
        return world.pass(step.hours * HOUR_MS);
      case "trouble":
        world.chat.refuseSends = step.sends;
        return;
      case "crash":
        incarnation.arm(step.point);
        return;
      case "restart":
        return this.#restart(step.profile);
      case "race":
        return this.#race();
      case "end_race":
        return this.#endRace(step.pick, step.how);
      case "stall":
        return this.#stall(incarnation);
      case "thaw":
        return this.#thaw();
      case "calm":
        return this.#calm(incarnation);
    }
  }

  /** Nobody who is answered waits for a compaction: the model is asked, whatever the summariser does. */
  async #say(step: Extract<Step, { do: "say" }>, incarnation: Incarnation): Promise<void> {
    const world = this.#world;
    const { marker } = await this.#people.say(step, incarnation);
    const isPlain =
      !world.isRacing &&
      !world.isUnaware &&
      this.#stalled === null &&
      !world.script.isHeld(incarnation, "turn");
    if (step.reply === null || step.hurry || !isPlain) return;
    const isHeld = world.script.isHeld(incarnation, "summary");
    const { asked } = world.ledger;
    const isAsked = (): boolean =>
      incarnation.isDead || asked.has(marker) || world.script.isHeld(incarnation, "turn");
    if (await until(isAsked, REPLY_MS)) return;
    const why = isHeld ? "while the summariser is silent" : "though nothing is in its way";
    world.ledger.violate("I13", `no model is asked about message ${step.n} ${why}`);
  }

  async #reset(incarnation: Incarnation): Promise<void> {
    const actor = incarnation.actor(this.#world.channel);
    if (actor === undefined) return;
    await Promise.race([actor.reset().catch(() => undefined), incarnation.death]);
  }

  async #restart(profile: number | null): Promise<void> {
    const world = this.#world;
    await this.#thaw();
    for (const one of world.awake()) one.crash();
    world.isRacing = false;
    if (profile !== null) world.setProfile(profile);
    await this.#anyAwake();
  }

  async #race(): Promise<void> {
    if (this.#stalled !== null) return;
    this.#world.isRacing = true;
    await this.#world.start();
  }

  async #endRace(pick: number, how: "crash" | "drain"): Promise<void> {
    const world = this.#world;
    if (!world.isRacing) return;
    const racing = world.awake();
    const loser = racing.length > 1 ? racing[pick % racing.length] : undefined;
    if (how === "drain") await Promise.race([loser?.drain(), loser?.death]);
    else loser?.crash();
    await untilQuiet(world);
    await this.#retake();
    world.isRacing = false;
  }

  /** The one that is left may have lost the channel, and may not know: it loads it anew, as after a start. */
  async #retake(): Promise<void> {
    const world = this.#world;
    world.isUnaware = true;
    const [left] = world.awake();
    if (left === undefined) return;
    left.registry.evictIdle();
    world.isRacing = false;
    await Promise.race([left.start(), left.death]);
    await Promise.race([this.#people.repeat(left), left.death]);
    await untilQuiet(world);
  }

  async #stall(incarnation: Incarnation): Promise<void> {
    const world = this.#world;
    if (this.#stalled !== null || world.isRacing) return;
    this.#stalled = incarnation;
    incarnation.stall();
    await this.#anyAwake();
  }

  /** It wakes, believes that it still has the channel, and is refused. */
  async #thaw(): Promise<void> {
    const stalled = this.#stalled;
    const world = this.#world;
    if (stalled === null) return;
    this.#stalled = null;
    world.isRacing = true;
    stalled.thaw();
    await untilQuiet(world);
    if (world.awake().length > 1) {
      stalled.crash();
      world.tally.crashes--;
    }
    world.isRacing = false;
    this.#buryDead();
  }

  /** Everything works again: what was left behind must be made good, within a bounded time. */
  async #calm(incarnation: Incarnation): Promise<void> {
    const world = this.#world;
    const { script, ledger } = world;
    world.tally.calms++;
    await this.#thaw();
    if (world.isRacing) await this.#endRace(0, "crash");
    script.mode = "good";
    script.isPatient = false;
    world.chat.refuseSends = 0;
    let settled: string[] = ["nothing was looked at"];
    for (const end = performance.now() + CALM_MS; settled.length > 0 && performance.now() < end;) {
      script.release("turn");
      script.release("summary");
      const [one = incarnation] = world.awake();
      if (one.isDead) await this.#anyAwake();
      // As the next append would.
      one.actor(world.channel)?.compactor.consider();
      await delay(1);
      if (!(await untilQuiet(world))) break;
      settled = this.#unsettled(await world.look(), one);
    }
    script.isPatient = true;
    for (const what of settled) ledger.violate(what.startsWith("omitted") ? "I15" : "I14", what);
    const tables = await tablesWith(world.probe, [...ledger.gone]);
    if (tables.length > 0) ledger.violate("I12", `deleted text is in ${tables.join(", ")}`);
  }

  /** What a working summariser has still to do. */
  #unsettled(state: Awaited<ReturnType<World["look"]>>, incarnation: Incarnation): string[] {
    const { channel } = state;
    const { ledger, measured } = this.#world;
    const wrong: string[] = [];
    if (channel.omitted_to > channel.covered_to)
      wrong.push(`omitted to ${channel.omitted_to}, covered to ${channel.covered_to}`);
    const due = [...ledger.entries.values()].filter((one) => one.addressed && one.seq > channel.settled_to);
    if (due.length > 0) wrong.push(`${due.length} messages are due, entry ${due[0]?.seq} first`);
    const open = state.jobs.filter(({ state: phase }) => phase === "running" || phase === "staged");
    if (open.length > 0) wrong.push(`job ${open[0]?.id} is ${open[0]?.state}`);
    if (measured?.incarnation !== incarnation) return wrong;
    if (measured.decision.kind === "job")
      wrong.push(`due is still ${JSON.stringify(measured.decision.plan)}`);
    if (measured.decision.kind === "idle" && measured.isFull)
      wrong.push("the context is fuller than it should be, and nothing says why");
    return wrong;
  }
}
