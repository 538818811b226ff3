import { setTimeout as delay } from "node:timers/promises";
import { undecided } from "./checks/i21-approvals.ts";
import { unclaimed } from "./checks/i9-claimed.ts";
import { leftDrafts, lostAnswers } from "./checks/i9-drafts.ts";
import { untold } from "./checks/i20-subagents.ts";
import { unreminded } from "./checks/i22-reminders.ts";
import type { Incarnation } from "./incarnation.ts";
import { untilQuiet } from "./quiet.ts";
import type { Room } from "./rooms.ts";
import type { World } from "./world.ts";

/** A working summariser has healed and settled all channels by then, ms. */
const QUIESCENCE_MS = 10_000;
/** The same, where attempts take so long on this machine that their deadline ends them, ms. */
const LONGEST_QUIESCENCE_MS = 90_000;
/** What is due is taken up by then, where somebody knows of it, ms. */
const WAKING_MS = 2000;
/** Longest time between two looks, ms. */
const LOOK_EVERY_MS = 20;

type Unsettled = readonly [Room, string];

/** Everything works again: what was left behind must be made good, within a bounded time. */
export async function quiesce(world: World, anyAwake: () => Promise<Incarnation>): Promise<void> {
  const { script, rooms, findings } = world;
  world.tally.quiescences++;
  script.mode = "good";
  script.isPatient = false;
  script.isAway = false;
  world.chat.refuseSends = 0;
  const settled = await new Quiescence(world, anyAwake).settle();
  script.isPatient = true;
  for (const [{ ledger }, what] of settled) ledger.violate(invariantOf(what), what);
  const tables = await world.deleted.tablesWithAgain(rooms.flatMap(({ ledger }) => [...ledger.gone]));
  if (tables.length > 0) findings.violate("I12", `deleted text is in ${tables.join(", ")}`);
  for (const what of await leftDrafts(world.probe, world.chat)) findings.violate("I9", what);
  for (const what of await lostAnswers(world.probe, world.chat)) findings.violate("I9", what);
  for (const { ledger, state } of rooms)
    for (const what of untold(state, ledger)) ledger.violate("I20", what);
  for (const { id, ledger } of rooms)
    for (const what of await unclaimed(world.probe, id)) ledger.violate("I9", what);
}

function invariantOf(what: string): string {
  if (what.startsWith("reminder")) return "I22";
  return what.startsWith("omitted") ? "I15" : "I14";
}

class Quiescence {
  readonly #world: World;
  readonly #anyAwake: () => Promise<Incarnation>;
  readonly #startedAt = performance.now();
  #end = this.#startedAt + QUIESCENCE_MS;
  #missed: number;

  constructor(world: World, anyAwake: () => Promise<Incarnation>) {
    this.#world = world;
    this.#anyAwake = anyAwake;
    this.#missed = world.missedDeadlines;
  }

  /** @returns what is left to do when the time is over: nothing, where all is well */
  async settle(): Promise<Unsettled[]> {
    const { rooms, script } = this.#world;
    let left: Unsettled[] = rooms.map((room) => [room, "nothing was looked at"]);
    for (let looks = 0; performance.now() < this.#end; looks++) {
      script.release("turn");
      script.release("summary");
      script.release("subagent");
      const incarnation = await this.#anyAwake();
      // As the next append would.
      for (const { id } of rooms) incarnation.actor(id)?.compactor.consider();
      await delay(Math.min(LOOK_EVERY_MS, looks + 1));
      if (!(await untilQuiet(this.#world))) break;
      await this.#world.look();
      const now = this.#world.now().getTime();
      left = rooms.flatMap((room) =>
        [...unsettled(room, incarnation), ...unreminded(room.state, now)].map((what): Unsettled => [
          room,
          what,
        ]),
      );
      if (left.length > 0) await this.#help(left);
      else if (!(await this.#loaded(incarnation))) {
        this.#world.hadRivals = false;
        break;
      }
    }
    return left;
  }

  /** Loads what was evicted when something was due: nobody looks at it before somebody speaks. @returns false: nothing was */
  async #loaded(incarnation: Incarnation): Promise<boolean> {
    const evicted = this.#world.rooms.filter(
      ({ id, measured }) =>
        incarnation.actor(id) === undefined &&
        measured?.incarnation === incarnation &&
        (measured.decision.kind === "job" || measured.isFull),
    );
    for (const room of evicted) {
      room.measured = null;
      await Promise.race([
        incarnation.channels.registry.get(room.id).catch(() => undefined),
        incarnation.death,
      ]);
    }
    return evicted.length > 0;
  }

  /** What takes longer than it may, for a reason that is known and allowed. */
  async #help(left: readonly Unsettled[]): Promise<void> {
    const world = this.#world;
    const now = performance.now();
    // The summariser answers at once by now: it is the machine that is slower than a deadline of the configuration.
    if (world.missedDeadlines > this.#missed)
      this.#end = Math.min(now + QUIESCENCE_MS, this.#startedAt + LONGEST_QUIESCENCE_MS);
    this.#missed = world.missedDeadlines;
    // By the clock of a run no time passes in a step: a cache that a turn has warmed in this one would never go cold.
    if (left.some(([, what]) => what === AWAITS_COLD)) world.pass();
    // Of two daemons, one may have died over a message or a reminder that it had written down, and had told nobody of. The
    // other one, whose channel it is, hears of it with the next message, or at the next start: which is now.
    const isDue = left.some(([, what]) => what.includes(DUE) || what.startsWith("reminder"));
    if (!isDue || !world.hadRivals || now < this.#startedAt + WAKING_MS) return;
    for (const one of world.awake()) one.crash();
    world.hadRivals = false;
    this.#end = now + QUIESCENCE_MS;
  }
}

const DUE = "messages are due";
const AWAITS_COLD = "what is written ahead has not landed, though it only waited for a cache to go cold";

/** What a working summariser has still to do. */
function unsettled({ id, state, ledger, measured }: Room, incarnation: Incarnation): string[] {
  if (state === null) return [];
  const { channel, jobs } = state;
  const wrong: string[] = [];
  const due = [...ledger.entries.values()].filter((one) => one.addressed && one.seq > channel.settled_to);
  if (due.length > 0) wrong.push(`${due.length} ${DUE}, entry ${due[0]?.seq} first`);
  wrong.push(...undecided(state));
  const atWork = state.subagents.filter(({ closed }) => !closed);
  if (atWork.length > 0)
    wrong.push(`subagent ${atWork[0]?.number} is open (${atWork[0]?.state}, told ${atWork[0]?.told})`);
  const { profile } = incarnation;
  // With the worker tiers off nothing comes back, and nobody summarises.
  if (!profile.config.compaction.enabled) return wrong;
  if (channel.omitted_to > channel.covered_to)
    wrong.push(`omitted to ${channel.omitted_to}, covered to ${channel.covered_to}`);
  const open = jobs.filter((job) => job.state === "running" || job.state === "staged");
  if (open.length > 0) wrong.push(`job ${open[0]?.id} is ${open[0]?.state}`);
  if (measured?.incarnation !== incarnation) return wrong;
  // What it looked at has changed since (by a reset, say), and what there is now it need not look at: it is far from full.
  if (measured.history !== incarnation.actor(id)?.history.current) return wrong;
  const { decision } = measured;
  // Another owner has done it since, and this one has not looked again: nothing is full.
  const isDone =
    decision.kind === "job" && decision.plan.kind === "leaf" && decision.plan.toSeq <= channel.covered_to;
  if (isDone) return wrong;
  if (measured.decision.kind === "job") wrong.push(`due is still ${JSON.stringify(measured.decision.plan)}`);
  if (measured.decision.kind === "idle" && measured.isFull)
    wrong.push(
      measured.awaitsCold ? AWAITS_COLD : "the context is fuller than it should be, and nothing says why",
    );
  return wrong;
}
