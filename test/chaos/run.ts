import { setTimeout as delay } from "node:timers/promises";
import { errorMessage } from "../../src/core/errors.ts";
import { Deck, Random } from "../fuzz/random.ts";
import { arm, hangsAt } from "./arm.ts";
import { type Card, cardsFor } from "./cards.ts";
import { deliveryProblems } from "./delivery-checks.ts";
import { LogChecks, logProblems, type Problem } from "./log-checks.ts";
import { type Point, pointNamed } from "./points.ts";
import { untilHealed, untilRecovered } from "./recovery.ts";
import { Report } from "./report.ts";
import { RequestChecks } from "./request-checks.ts";
import { openScene, type Scene, startSession } from "./scene.ts";
import { isAfter, type Place } from "./service-proxy.ts";
import { talk } from "./traffic.ts";
import type { Trouble } from "./troubles.ts";

export interface ChaosOptions {
  readonly kills: number;
  readonly seed: number;
  /** Only points and troubles whose names begin so; default: all. */
  readonly only?: string | undefined;
  /** Several runs side by side share one deck of points: each takes its share of the cards. */
  readonly lane?: Lane | undefined;
  /** A short run: no merges, for which there is too little yet, and no wait for a compactor that rests. */
  readonly isQuick: boolean;
  /** Told of each kill. */
  readonly onLine: (line: string) => void;
}

export interface Lane {
  /** From 0. */
  readonly index: number;
  readonly count: number;
}

/** From the first word of a process to the point, ms. */
const REACH_MS = 4000;
const QUICK_REACH_MS = 2500;
const RECOVERY_MS = 45_000;
const HEALING_MS = 90_000;
/** Share of the kills that come before all is well again after the one before. */
const HASTE = 0.25;
/** Kills from one look at everything to the next. */
const HEAL_EVERY = 60;

/**
 * Kills a daemon under traffic, again and again, and looks after each kill whether anything was lost, doubled, changed
 * or paid for twice. The seed decides what is done, not how the processes' steps fall together.
 */
export async function runChaos(options: ChaosOptions): Promise<Report> {
  await using scene = await openScene(options.seed + (options.lane?.index ?? 0));
  const run = new ChaosRun(scene, options);
  try {
    await run.all();
  } catch (error) {
    run.stopped(error);
  }
  return run.report;
}

class ChaosRun {
  readonly report = new Report();
  readonly #scene: Scene;
  readonly #options: ChaosOptions;
  readonly #log: LogChecks;
  readonly #requests: RequestChecks;
  /** What a killed process had on its way, and comes through only after its successor has begun. */
  #late: (() => Promise<void>) | null = null;
  #point = "";
  /** When the last point was armed: what hangs there was begun later. */
  #armedAt = 0;

  constructor(scene: Scene, options: ChaosOptions) {
    this.#scene = scene;
    this.#options = options;
    this.#log = new LogChecks(scene.sql, scene.people);
    this.#requests = new RequestChecks(scene.model, scene.people, this.#log, scene.sql);
  }

  async all(): Promise<void> {
    const { kills, seed, lane = { index: 0, count: 1 } } = this.#options;
    const deck = new Deck<Card>(new Random(seed), cardsFor(this.#options));
    for (let dealt = 0; this.report.kills < kills; dealt++) {
      const card = deck.deal();
      if (dealt % lane.count !== lane.index) continue;
      if ("run" in card) await this.#trouble(card);
      else {
        if (card.after !== undefined) await this.#kill(pointNamed(card.after), card);
        await this.#kill(card, null);
      }
      if (this.report.kills % HEAL_EVERY === 0) await this.#heal();
    }
    await this.#heal();
    await this.#scene.process.kill();
    await this.#scene.gates.untilAlone();
    this.#point = "weir log";
    this.#tell(await logProblems(this.#scene.home, this.#log));
  }

  /** With the last words of the daemon: it may be the one that ended. */
  stopped(error: unknown): void {
    const what = error instanceof Error ? error.stack : errorMessage(error);
    const words = this.#scene.process.err.slice(-12).join("\n");
    this.#tell([{ kind: "wrong", what: `the run ended: ${what}\n${words}` }]);
  }

  /** @param next the point at which the next process is killed in its start, if so */
  async #kill(point: Point, next: Point | null): Promise<void> {
    const scene = this.#scene;
    const startedAt = performance.now();
    this.#point = point.name;
    if (point.after === undefined) await this.#recoverNowAndThen();
    else await this.#arm(point);
    if (scene.process.isOver) this.#start();
    if (point.after === undefined) await this.#arm(point);
    scene.model.mood = point.mood ?? "mixed";
    scene.model.callsTools = point.callsTools ?? false;
    scene.model.failsTurns = point.failsTurns ?? false;
    scene.model.isLong = point.isLong ?? false;
    const stop = new AbortController();
    const talking = talk(scene, point, stop.signal);
    const isReached = await this.#reached(point);
    await scene.process.kill();
    scene.model.failsTurns = false;
    stop.abort();
    await talking;
    scene.people.listen();
    const how = await this.#resolve(point, isReached, next === null);
    this.report.count(point.name, isReached);
    await this.#after(how, startedAt, isReached);
  }

  async #trouble(trouble: Trouble): Promise<void> {
    const scene = this.#scene;
    const startedAt = performance.now();
    this.#point = trouble.name;
    if (scene.process.isOver) this.#start();
    await this.#recovered();
    const stop = new AbortController();
    const { name, keepsWords } = trouble;
    const traffic = scene.random.pick(["chat", "flood"] as const);
    const talking = talk(scene, { name, traffic, keepsWords }, stop.signal);
    // A database that cannot be reached at the very start ends it, as it should: a wrong address would be waited for.
    await this.#firstWord();
    await delay(scene.random.int(50, 400));
    if (trouble.name.startsWith("database.")) this.#requests.mayLag(scene.session, Date.now());
    await trouble.run(scene);
    stop.abort();
    await talking;
    if (trouble.ends) this.#start();
    await this.#recovered();
    await scene.process.kill();
    scene.people.listen();
    await scene.gates.untilAlone();
    this.report.count(trouble.name, true);
    await this.#after("and then killed", startedAt, true);
  }

  /**
   * Nobody says anything: what is omitted or to be written again is mended all the same. By a new process, for one that has met
   * failures may rest for ten minutes, and forgets that with its end.
   */
  async #heal(): Promise<void> {
    const scene = this.#scene;
    if (scene.process.isOver) this.#start();
    await this.#recovered();
    if (this.#options.isQuick) return this.#tell(await this.#problems());
    await scene.process.kill();
    await scene.gates.untilAlone();
    scene.model.mood = "well";
    this.#start();
    await this.#recovered();
    await untilHealed(scene, HEALING_MS);
    this.#tell(await this.#problems());
    scene.model.mood = "mixed";
    this.#options.onLine(`healed: nothing omitted, no job under way, after ${this.report.kills} kills`);
  }

  #start(): void {
    const scene = this.#scene;
    scene.process = startSession(scene);
    const late = this.#late;
    this.#late = null;
    if (late === null) return;
    this.#requests.mayLag(scene.session, this.#armedAt);
    setTimeout(() => void late().catch(() => undefined), scene.random.int(300, 900));
  }

  async #recoverNowAndThen(): Promise<void> {
    const scene = this.#scene;
    if (scene.process.isOver) this.#start();
    if (scene.random.chance(HASTE)) return;
    await this.#recovered();
  }

  async #recovered(): Promise<void> {
    const scene = this.#scene;
    await untilRecovered(scene, RECOVERY_MS);
    const log = await this.#log.problems();
    this.#tell([...log, ...(await deliveryProblems(scene.people, scene.sql, scene.service.url))]);
  }

  async #arm(point: Point): Promise<void> {
    this.#armedAt = Date.now();
    await arm(this.#scene, point);
  }

  /** Waits until the process hangs at the point. @returns false if it did not come there in time */
  async #reached(point: Point): Promise<boolean> {
    const over = new AbortController();
    try {
      return await hangsAt(this.#scene, point, over.signal, this.#patience(over.signal));
    } finally {
      over.abort();
    }
  }

  /** On a busy machine a process may be longer on its way than any point is from there. @returns false, when it is over */
  async #patience(signal: AbortSignal): Promise<false> {
    await this.#firstWord();
    const patienceMs = this.#options.isQuick ? QUICK_REACH_MS : REACH_MS;
    return delay(patienceMs, false as const, { signal }).catch(() => false);
  }

  /** The process has its database, and says its first word. */
  async #firstWord(): Promise<void> {
    const { process } = this.#scene;
    await process.until("its first word", () => process.out.length > 0).catch(() => undefined);
  }

  /** What becomes of what the dead process had begun. @returns in words */
  async #resolve({ at }: Point, isReached: boolean, mayBeLate: boolean): Promise<string> {
    const { model, gates, random } = this.#scene;
    model.releaseAll();
    if (at.kind === "service") return this.#resolveCall(at.place, mayBeLate);
    const fate = random.pick(
      mayBeLate ? (["rolled back", "committed", "late"] as const) : (["rolled back", "committed"] as const),
    );
    if (at.kind !== "gate" || !isReached || fate === "committed") {
      await gates.open();
      await gates.untilAlone();
      return at.kind === "gate" && isReached ? fate : "";
    }
    if (fate === "late") {
      this.#late = async () => gates.open();
      return fate;
    }
    await gates.rollBack();
    await gates.open();
    return fate;
  }

  async #resolveCall(place: Place, mayBeLate: boolean): Promise<string> {
    const { gates, proxy, random } = this.#scene;
    const hold = proxy.holds[place];
    proxy.comesThrough = random.chance(0.5);
    await gates.untilAlone();
    if (["send.before", "part.between"].includes(place) && mayBeLate && random.chance(0.5)) {
      this.#late = async () => hold.release();
      return proxy.comesThrough ? "late" : "never";
    }
    hold.release();
    if (isAfter(place)) return "done";
    return proxy.comesThrough ? "came through" : "never";
  }

  async #after(how: string, startedAt: number, isReached: boolean): Promise<void> {
    const problems = this.#late === null ? await this.#problems() : [];
    this.#tell(problems);
    const { kills } = this.report;
    const ms = Math.round(performance.now() - startedAt);
    const where = `${this.#point}${isReached ? "" : " (not reached)"}${how === "" ? "" : `, ${how}`}`;
    const said = this.#scene.people.said.size;
    const looked = this.#late === null ? `${said} messages checked` : "looked at after the next start";
    this.#options.onLine(`kill ${kills} of ${this.#options.kills} in ${ms} ms: ${where}; ${looked}`);
  }

  async #problems(): Promise<Problem[]> {
    return [...(await this.#log.problems()), ...(await this.#requests.problems())];
  }

  #tell(problems: readonly Problem[]): void {
    for (const problem of problems) {
      if (!this.report.add(this.#point, problem)) continue;
      this.#options.onLine(`  ${problem.kind.toUpperCase()} at ${this.#point}: ${problem.what}`);
    }
    const { looked, cut, kept, moved } = this.#requests;
    this.report.requests = { looked, cut, kept, moved };
    this.report.summaries = this.#scene.model.summaries;
    this.report.messages = this.#scene.people.said.size;
  }
}
