import { formatAddress } from "../../src/core/ids.ts";
import { Approvers } from "./approvers.ts";
import { quiesce } from "./quiescence.ts";
import type { Incarnation } from "./incarnation.ts";
import { People } from "./inbound.ts";
import { Reloads } from "./reloads.ts";
import { until, untilQuiet } from "./quiet.ts";
import type { Room } from "./rooms.ts";
import { type Step, type SummaryMode, tellStep } from "./schedule.ts";
import { STUCK } from "./mutants/mutant.ts";
import type { World } from "./world.ts";

/** Longest time from a message to its model call, ms: much more than any step on the way takes. */
const REPLY_MS = 5000;
const HOUR_MS = 3_600_000;

/** Steps that change more than what a script says. */
const FOR_ALL: ReadonlySet<Step["do"]> = new Set([
  "crowd",
  "restart",
  "reload",
  "end_race",
  "thaw",
  "evict",
  "retain",
  "release",
  "quiesce",
]);

/** Performs steps on a world, one after the other, and looks for violations behind each. */
export class Performer {
  readonly #world: World;
  readonly #people: People;
  readonly #approvers: Approvers;
  readonly #reloads: Reloads;
  #stalled: Incarnation | null = null;
  #comparisons = 0;

  constructor(world: World) {
    this.#world = world;
    this.#people = new People(world);
    this.#approvers = new Approvers(world);
    this.#reloads = new Reloads(world);
  }

  async step(step: Step): Promise<void> {
    const world = this.#world;
    world.tally.steps++;
    world.findings.note(`step ${tellStep(step)}`);
    world.pass();
    world.mark();
    const incarnation = await this.#anyAwake();
    await this.#perform(step, incarnation);
    const mayBeBusy = (step.do === "say" || step.do === "pass") && step.hurry === true;
    const isStuck = !mayBeBusy && !(await untilQuiet(world));
    if (isStuck) world.findings.violate(STUCK, `it does not come to rest behind: ${step.do}`);
    await world.look();
    // The whole fold is read where something was changed, and now and then.
    this.#comparisons++;
    if (mayBeBusy || (step.do === "say" && !isStuck && this.#comparisons % 5 !== 0)) return;
    // What hangs may do so because it remembers something else.
    for (const room of isStuck ? world.rooms : this.#touched(step)) await world.compareMemory(room);
  }

  /** Whose history a step may have changed. */
  #touched(step: Step): readonly Room[] {
    if ("room" in step) return [this.#room(step)];
    return FOR_ALL.has(step.do) ? this.#world.rooms : this.#world.rooms.slice(0, 1);
  }

  #room({ room }: { readonly room: number }): Room {
    const found = this.#world.rooms[room];
    if (found === undefined) throw new Error(`there is no room ${room}`);
    return found;
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
      void one.bury();
    }
  }

  async #perform(step: Step, incarnation: Incarnation): Promise<void> {
    const world = this.#world;
    switch (step.do) {
      case "say":
        return this.#say(step, incarnation);
      case "crowd":
        return this.#crowd(step, incarnation);
      case "redeliver":
        return this.#people.redeliver(this.#room(step), step.pick, incarnation);
      case "edit":
        return this.#people.edit(this.#room(step), step.pick, step.n, incarnation);
      case "delete":
        return this.#people.delete(this.#room(step), step.target, step.pick, incarnation);
      case "release":
        world.script.release("turn");
        return world.script.release("subagent");
      case "decide":
        return this.#approvers.decide(this.#room(step), step, incarnation);
      case "expire":
        return this.#approvers.expire(this.#room(step), step.pick, incarnation);
      case "stop_agent":
        return this.#stopAgent(this.#room(step), step.pick, incarnation);
      case "summariser":
      case "talker":
        return this.#script(step);
      case "reset":
        return this.#reset(this.#room(step), incarnation);
      case "privacy":
        return world.tellPrivacy(this.#room(step), step.isPrivate);
      case "force":
        void incarnation.actor(this.#room(step).id)?.compactor.force();
        return;
      case "evict":
        incarnation.channels.eviction.evictIdle();
        return;
      case "retain":
        return this.#retain(incarnation);
      case "cancel":
        return this.#cancel(this.#room(step), step.pick, incarnation);
      case "pass":
        return world.pass(step.hours * HOUR_MS);
      case "trouble":
      case "crash":
      case "lag":
      case "cut":
        return this.#disturb(step, incarnation);
      case "restart":
        return this.#restart(step.profile);
      case "reload":
        return this.#reloads.reload(step.profile);
      case "race":
        return this.#race();
      case "end_race":
        return this.#endRace(step.pick, step.how);
      case "stall":
        return this.#stall(incarnation);
      case "thaw":
        return this.#thaw(step.n);
      case "quiesce":
        await this.#thaw(null);
        if (world.isRacing) await this.#endRace(0, "crash");
        return quiesce(world, async () => this.#anyAwake());
    }
  }

  #disturb(step: Extract<Step, { do: "trouble" | "crash" | "lag" | "cut" }>, incarnation: Incarnation): void {
    if (step.do === "trouble") this.#world.chat.refuseSends = step.sends;
    else if (step.do === "lag") incarnation.database.lag = step.calls;
    else if (step.do === "crash") incarnation.arm(step.point);
    else incarnation.armCut(step.point);
  }

  /** Nobody who is answered waits for a compaction: the model is asked, whatever the summariser does. */
  async #say(step: Extract<Step, { do: "say" }>, incarnation: Incarnation): Promise<void> {
    const world = this.#world;
    const room = this.#room(step);
    const { marker } = await this.#people.say(room, step, incarnation);
    if (step.reply === null || step.hurry || this.#stalled !== null) return;
    if (!world.isSole(incarnation, room) || world.script.isHeld(incarnation, "turn")) return;
    const isHeld = world.script.isHeld(incarnation, "summary");
    const { asked } = room.ledger;
    const isAsked = (): boolean =>
      incarnation.isDead ||
      asked.has(marker) ||
      world.script.isHeld(incarnation, "turn") ||
      !world.isSole(incarnation, room);
    if (await until(world, isAsked, REPLY_MS)) return;
    const why = isHeld ? "while the summariser is silent" : "though nothing is in its way";
    room.ledger.violate("I13", `no model is asked about message ${step.n} ${why}`);
  }

  async #crowd({ ns, who, reply }: Extract<Step, { do: "crowd" }>, incarnation: Incarnation): Promise<void> {
    const { rooms } = this.#world;
    await Promise.all(
      ns.map(async (n, room) =>
        this.#people.say(
          this.#room({ room: room % rooms.length }),
          { n, who, size: "short", reply, isForGuest: false },
          incarnation,
        ),
      ),
    );
  }

  async #reset(room: Room, incarnation: Incarnation): Promise<void> {
    const actor = incarnation.actor(room.id);
    if (actor === undefined) return;
    await Promise.race([actor.reset().catch(() => undefined), incarnation.death]);
  }

  #script(step: Extract<Step, { do: "summariser" | "talker" }>): void {
    if (step.do === "talker") this.#world.script.isAway = step.isAway;
    else this.#summarise(step.mode);
  }

  #summarise(mode: SummaryMode): void {
    const { script } = this.#world;
    script.mode = mode;
    if (mode !== "held") script.release("summary");
  }

  async #retain(incarnation: Incarnation): Promise<void> {
    const { probe, tally, rooms } = this.#world;
    // What goes is looked at before.
    await this.#world.look();
    await incarnation.retain();
    const rows = await probe.query<{ channel: number; seq: number; isTaken: boolean }>(
      "fuzz_expired",
      `select channel_id as channel, seq, deleted_at is not null as is_taken from entries where expired_at is not null`,
    );
    tally.expired = rows.length;
    tally.expiredDeleted = rows.filter((row) => row.isTaken).length;
    for (const { id, ledger } of rooms)
      ledger.expired = new Set(rows.filter(({ channel }) => channel === id).map(({ seq }) => seq));
  }

  async #stopAgent({ id, state }: Room, pick: number, incarnation: Incarnation): Promise<void> {
    const open = state?.subagents.filter((one) => one.state === "running") ?? [];
    const chosen = open[Math.floor(pick * open.length)];
    if (chosen === undefined) return;
    const stopped = incarnation.subagents.stop(id, chosen.number).catch(() => undefined);
    await Promise.race([stopped, incarnation.death]);
  }

  async #cancel({ id, state }: Room, pick: number, incarnation: Incarnation): Promise<void> {
    const waiting = state?.reminders.filter((one) => one.state === "active") ?? [];
    const chosen = waiting[Math.floor(pick * waiting.length)];
    if (chosen === undefined) return;
    const cancelled = incarnation.reminders.store.cancel(id, chosen.id).catch(() => undefined);
    await Promise.race([cancelled, incarnation.death]);
  }

  async #restart(profile: Extract<Step, { do: "restart" }>["profile"]): Promise<void> {
    const world = this.#world;
    await this.#thaw(null);
    for (const one of world.awake()) one.crash();
    world.isRacing = false;
    world.hadRivals = false;
    if (profile !== "same") world.setProfile(profile === "off" ? null : profile);
    await this.#anyAwake();
  }

  async #race(): Promise<void> {
    if (this.#stalled !== null) return;
    this.#world.isRacing = true;
    this.#world.hadRivals = true;
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
    for (const { address } of world.rooms) world.unaware.add(formatAddress(address));
    const [left] = world.awake();
    if (left === undefined) return;
    left.channels.eviction.evictIdle();
    world.isRacing = false;
    await Promise.race([left.start(), left.death]);
    await Promise.race([this.#people.repeat(left), left.death]);
    await untilQuiet(world);
  }

  async #stall(incarnation: Incarnation): Promise<void> {
    const world = this.#world;
    if (this.#stalled !== null || world.isRacing) return;
    this.#stalled = incarnation;
    world.hadRivals = true;
    incarnation.stall();
    await this.#anyAwake();
  }

  /** It wakes, believes that it still has its channels, and is refused: whatever it is told first. */
  async #thaw(n: number | null): Promise<void> {
    const stalled = this.#stalled;
    const world = this.#world;
    if (stalled === null) return;
    this.#stalled = null;
    world.isRacing = true;
    stalled.thaw();
    if (n !== null) await this.#tellBoth(n, stalled);
    await untilQuiet(world);
    if (world.awake().length > 1) {
      stalled.crash();
      world.tally.crashes--;
    }
    // What it was told may have made it take a channel again, of which the one that is left has not heard.
    if (n !== null) await this.#retake();
    world.isRacing = false;
    this.#buryDead();
  }

  /** Both are connected to the platform, and hear it; one of them may answer. */
  async #tellBoth(n: number, stalled: Incarnation): Promise<void> {
    const [room] = this.#world.rooms;
    if (room === undefined) return;
    const said = await this.#people.say(
      room,
      { n, who: 0, size: "short", reply: "plain", isForGuest: false },
      stalled,
    );
    const owner = this.#world.awake().find((one) => one !== stalled);
    if (owner !== undefined) await this.#people.again(room, said, owner);
  }
}
