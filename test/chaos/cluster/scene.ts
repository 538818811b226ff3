import { fork } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import path from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { z } from "zod";
import { partitionOf } from "../../../src/ownership/homes.ts";
import { Random } from "../../fuzz/random.ts";
import { makeNamespace, type TestBroker } from "../../support/cluster/broker.ts";
import { areEven } from "../../support/cluster/shares.ts";
import { createTestDatabase } from "../../support/database.ts";
import { Audit } from "./audit.ts";
import type { ModelDelays } from "./cluster-model.ts";
import { ChaosDaemon, type Shared } from "./daemons.ts";
import type { DueChannel, Killed } from "./takeovers.ts";
import type { WayIn } from "./ways-in.ts";
import {
  askReceipt,
  type AskReceipt,
  type sayPost,
  sayReceipt,
  type WorldRecord,
  worldRecord,
} from "./world-record.ts";

/** One message that a person has said. */
export interface Said {
  readonly id: string;
  /** As the log has it. */
  readonly channel: string;
  readonly messageId: string;
  /** By the clock of the machine, ms. */
  readonly at: number;
}

/** A time in which a daemon, or all of them (null), were not well. ms by the clock of the machine. */
export interface FaultWindow {
  readonly name: string;
  readonly daemon: string | null;
  readonly from: number;
  until: number;
}

export interface SceneOptions {
  readonly seed: number;
  readonly daemons: number;
  readonly channels: number;
  /** Messages a second. */
  readonly rate: number;
  readonly broker: TestBroker;
  /** Default: the loopback service alone. */
  readonly ways?: readonly WayIn[];
  readonly mutant: string | null;
  /** Default: some tenths of a second. */
  readonly delays?: ModelDelays;
  /** One daemon that belongs to no cluster. */
  readonly isAlone?: boolean;
}

const worldHello = z.object({
  url: z.string(),
  modelUrl: z.string(),
  config: z.string(),
  env: z.record(z.string(), z.string()),
});
const LOOPBACK_ALONE: readonly WayIn[] = ["loopback"];
const POLL_MS = 25;
/** Whoever asks waits for so long, ms. */
const ANSWERED_MS = 120_000;

/** Several daemons, what they share, and the people who chat with them. */
export class ClusterScene implements AsyncDisposable {
  readonly random: Random;
  readonly audit: Audit;
  readonly broker: TestBroker;
  readonly options: SceneOptions;
  readonly daemons: ChaosDaemon[] = [];
  readonly said: Said[] = [];
  readonly windows: FaultWindow[] = [];
  readonly killed: Killed[] = [];
  readonly #shared: Shared;
  readonly #people: Random;
  readonly #stack: AsyncDisposableStack;
  #count = 0;
  #newChannels = 0;

  private constructor(options: SceneOptions, shared: Shared, audit: Audit, stack: AsyncDisposableStack) {
    this.options = options;
    this.random = new Random(options.seed);
    this.#people = new Random(options.seed + 1);
    this.broker = options.broker;
    this.audit = audit;
    this.#shared = shared;
    this.#stack = stack;
  }

  static async open(options: SceneOptions): Promise<ClusterScene> {
    await using stack = new AsyncDisposableStack();
    const { prefix } = stack.use(makeNamespace(options.broker.url));
    const { connection } = stack.use(await createTestDatabase());
    if ("url" in connection) throw new Error("this needs a Postgres that the tests start");
    const audit = stack.use(new Audit(connection));
    await audit.install();
    const world = fork(
      path.join(import.meta.dirname, "world-process.ts"),
      [(options.ways ?? LOOPBACK_ALONE).join(), options.seed + 2, ...Object.values(options.delays ?? {})].map(
        String,
      ),
    );
    stack.defer(async () => {
      const ended = once(world, "exit");
      world.disconnect();
      await ended;
    });
    const [hello] = await once(world, "message");
    const { url: worldUrl, modelUrl, ...platforms } = worldHello.parse(hello);
    const { mutant, broker, isAlone = false } = options;
    const shared = {
      worldUrl,
      modelUrl,
      platforms,
      broker: new URL(broker.url),
      postgres: connection,
      prefix: isAlone ? null : prefix,
      mutant,
    };
    const scene = new ClusterScene(options, shared, audit, stack.move());
    try {
      for (let index = 0; index < options.daemons; index++) (await scene.add()).start();
      for (const daemon of scene.daemons) await daemon.untilReady();
      if (!isAlone) await scene.untilEven();
      return scene;
    } catch (error) {
      await scene[Symbol.asyncDispose]();
      throw error;
    }
  }

  get running(): ChaosDaemon[] {
    return this.daemons.filter(({ isRunning }) => isRunning);
  }

  /** Makes one more daemon, which does not run yet. */
  async add(): Promise<ChaosDaemon> {
    // The user's name, too, of which a server has one for all databases.
    const name = `weir_${String.fromCodePoint(97 + this.daemons.length)}_${randomBytes(3).toString("hex")}`;
    await this.audit.addRole(name);
    const daemon = this.#stack.use(await ChaosDaemon.make(name, this.#shared));
    this.daemons.push(daemon);
    return daemon;
  }

  /** People say so many things, all at once, in channels by chance; or each in a channel of its own, which nobody has taken before. */
  async say(count: number, where: "anywhere" | "new channels" = "anywhere"): Promise<void> {
    const among = this.running.map(({ name }) => name);
    if (among.length === 0) return;
    const posts = Array.from({ length: count }, async () => {
      const id = `g${++this.#count}`;
      const { channels, ways = LOOPBACK_ALONE } = this.options;
      const room = where === "anywhere" ? this.#people.int(0, channels - 1) : channels + this.#newChannels++;
      const way = ways[room % ways.length] ?? "loopback";
      const text = `${id} how high does the gauge by the mill stand?`;
      const post = { way, channel: `c${room}`, id, text, among };
      this.said.push({ id, ...sayReceipt.parse(await this.#post("people", post)) });
    });
    await Promise.all(posts);
  }

  /** Says something to one daemon, and waits for the whole answer. */
  async ask(channel: string, daemon: string): Promise<AskReceipt> {
    const id = `g${++this.#count}`;
    const post = { channel, id, text: `${id} how high is it?`, among: [daemon] };
    return askReceipt.parse(await this.#post("ask", post));
  }

  async #post(where: "people" | "ask", post: z.input<typeof sayPost>): Promise<unknown> {
    const body = JSON.stringify(post);
    const signal = AbortSignal.timeout(ANSWERED_MS);
    return (await fetch(`${this.#shared.worldUrl}/${where}`, { method: "POST", body, signal })).json();
  }

  /** People talk until they are told to stop. */
  async talk(stop: AbortSignal): Promise<void> {
    while (!stop.aborted) {
      await this.say(1);
      await delay(this.#people.int(0, 2000) / this.options.rate, undefined, { signal: stop }).catch(
        () => undefined,
      );
    }
  }

  async record(): Promise<WorldRecord> {
    return worldRecord.parse(await (await fetch(`${this.#shared.worldUrl}/record`)).json());
  }

  /** How many partitions each daemon has taken last. */
  async shares(): Promise<Map<string, number>> {
    const rows = await this.audit.rows<{ owner: string; count: number }>(
      "select owner, count(*) as count from partitions where owner is not null group by owner",
    );
    return new Map(rows.map(({ owner, count }) => [owner, count]));
  }

  /**
   * Resolves when the daemons that run have taken all partitions, in shares that differ by one at most.
   * @returns after how long, ms; null: not in time
   */
  async untilEven(withinMs = 60_000): Promise<number | null> {
    const beganAt = performance.now();
    while (performance.now() - beganAt < withinMs) {
      const shares = await this.shares();
      const sizes = this.running.map(({ name }) => shares.get(name) ?? 0);
      if (areEven(sizes)) return performance.now() - beganAt;
      await delay(POLL_MS);
    }
    return null;
  }

  /** Who is home of each channel of the loopback service, by the log. */
  async homes(): Promise<(channel: string) => string> {
    const rows = await this.audit.rows<{ id: number; owner: string }>("select id, owner from partitions");
    const owners = new Map(rows.map(({ id, owner }) => [id, owner]));
    return (channel) => owners.get(partitionOf({ platform: "loopback", name: channel })) ?? "";
  }

  /** Notes what is due in a daemon's channels as it is killed. */
  async noteKill(daemon: string, at: number): Promise<void> {
    const due = await this.audit.rows<DueChannel>(
      `select c.name as channel,
              array(select e.message_id from entries e where e.channel_id = c.id and e.kind = 'user' and e.addressed
                       and e.seq > c.settled_to) as "messageIds"
         from channels c
         join lateral (select owner from chaos.partition_takes t
                        where t.id = c.partition and t.at <= to_timestamp($2::float8 / 1000) order by n desc limit 1) o on o.owner = $1
        where c.due_to > c.settled_to`,
      [daemon, at],
    );
    this.killed.push({ daemon, at, due });
  }

  /** A time begins in which a daemon is not well. @returns ends it */
  begin(name: string, daemon: string | null): () => void {
    const window = { name, daemon, from: Date.now(), until: Number.POSITIVE_INFINITY };
    this.windows.push(window);
    return () => {
      window.until = Date.now();
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#stack.disposeAsync();
  }
}
