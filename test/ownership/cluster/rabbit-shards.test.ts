// proves: src/ownership/cluster/rabbit-shards.ts, src/ownership/cluster/leases.ts
// Daemons that share the connections to a platform, by a real broker and a real database; nothing is opened by them.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { pino } from "pino";
import { pause } from "../../../src/async/clock.ts";
import { RabbitShards } from "../../../src/ownership/cluster/rabbit-shards.ts";
import type { HeldShard } from "../../../src/platforms/shared/shard-homes.ts";
import { toldMember } from "../../store/told-member.ts";
import { openStore, type OpenStore } from "../../store/open-store.ts";
import { findBroker, makeNamespace, skippedWithout } from "../../support/cluster/broker.ts";
import { createTestDatabase } from "../../support/database.ts";
import { until } from "../../support/patience.ts";

const broker = await findBroker();
after(async () => broker?.[Symbol.asyncDispose]());
const url = broker?.url ?? "";
const RUN = { skip: skippedWithout(broker) };
const EVER = new AbortController().signal;
const PLATFORM = "discord";

/** Daemons on one database and one broker, all in this process. */
class Scene implements AsyncDisposable {
  /** Times at which a shard was given to one while another had it. */
  readonly overlaps: string[] = [];
  readonly #stack = new AsyncDisposableStack();
  readonly #owners = new Map<number, string>();
  #prefix = "";
  #weir: OpenStore | undefined;

  static async open(): Promise<Scene> {
    const scene = new Scene();
    scene.#prefix = scene.#stack.use(makeNamespace(url)).prefix;
    const { connection } = scene.#stack.use(await createTestDatabase());
    scene.#weir = scene.#stack.use(openStore(connection));
    return scene;
  }

  get weir(): OpenStore {
    if (this.#weir === undefined) throw new Error("not open");
    return this.#weir;
  }

  async start(name: string, wanted: number): Promise<Member> {
    const member = new Member(this, name, this.#prefix);
    await member.start(wanted);
    this.#stack.defer(async () => member.shards.leave(AbortSignal.abort()));
    return member;
  }

  /** What each has, of those that have something. */
  get shares(): Readonly<Record<string, number>> {
    const shares: Record<string, number> = {};
    for (const owner of this.#owners.values()) shares[owner] = (shares[owner] ?? 0) + 1;
    return shares;
  }

  give(shard: number, name: string): void {
    const owner = this.#owners.get(shard);
    if (owner !== undefined) this.overlaps.push(`${shard}: ${owner}, then ${name}`);
    this.#owners.set(shard, name);
  }

  drop(shard: number, name: string): void {
    if (this.#owners.get(shard) === name) this.#owners.delete(shard);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#stack.disposeAsync();
  }
}

class Member {
  readonly shards: RabbitShards;
  readonly epochs = new Map<number, number | null>();
  /** Shards that it was ever given. */
  readonly gained: number[] = [];
  /** What it was told of last. */
  of = 0;
  readonly #scene: Scene;
  readonly #name: string;
  readonly #id = randomUUID();

  constructor(scene: Scene, name: string, prefix: string) {
    this.#scene = scene;
    this.#name = name;
    const log = pino({ level: "silent" });
    this.shards = new RabbitShards({ config: { url, prefix, name }, platform: PLATFORM, log });
    this.shards.bind({ shards: scene.weir.store.gatewayShards, member: this.#id });
  }

  async start(wanted: number): Promise<void> {
    await this.tell();
    this.of = await this.shards.start(wanted, {
      gained: (shards, of) => this.#gain(shards, of),
      lost: async (shards) => {
        for (const shard of shards) {
          this.epochs.delete(shard);
          this.#scene.drop(shard, this.#name);
        }
      },
    });
  }

  /** As its row of members would be kept. */
  async tell(): Promise<void> {
    await this.#scene.weir.store.members.tell(toldMember(this.#name, { id: this.#id }));
  }

  #gain(shards: readonly HeldShard[], of: number): void {
    this.of = of;
    for (const { shard, epoch } of shards) {
      this.gained.push(shard);
      this.epochs.set(shard, epoch);
      this.#scene.give(shard, this.#name);
    }
  }
}

test("shards are shared out evenly as daemons come and go, each with a higher epoch", RUN, async () => {
  await using scene = await Scene.open();
  const a = await scene.start("a", 5);
  await until("all", () => scene.shares["a"] === 5);
  const before = new Map(a.epochs);
  const b = await scene.start("b", 5);
  await until("halves", () => scene.shares["a"] === 3 && scene.shares["b"] === 2);
  assert.ok([...b.epochs].every(([shard, epoch]) => (epoch ?? 0) > (before.get(shard) ?? 0)));
  await until("word of both", () => a.shards.members() === 2 && b.shards.members() === 2);
  const c = await scene.start("c", 5);
  await until("thirds", () => ["2,2,1"].includes(["a", "b", "c"].map((one) => scene.shares[one]).join()));
  a.shards.rest(true);
  await until("all but one", () => scene.shares["a"] === undefined && scene.shares["b"] === 3);
  a.shards.rest(false);
  await until(
    "thirds again",
    () =>
      Object.values(scene.shares)
        .toSorted((x, y) => x - y)
        .join() === "1,2,2",
  );
  await b.shards.leave(EVER);
  await c.shards.leave(EVER);
  await until("all of them", () => scene.shares["a"] === 5);
  assert.deepEqual(scene.overlaps, []);
  await until("word of all", () => a.shards.vitals()?.held.join() === "0,1,2,3,4");
});

test("one shard is one daemon's; the others have none, and take it when that one goes", RUN, async () => {
  await using scene = await Scene.open();
  const a = await scene.start("a", 1);
  await until("the shard", () => scene.shares["a"] === 1);
  const b = await scene.start("b", 1);
  await until("both", () => b.shards.members() === 2);
  assert.deepEqual(b.shards.vitals()?.held, []);
  await a.shards.leave(EVER);
  await until("the shard at the other", () => scene.shares["b"] === 1);
  assert.deepEqual(scene.overlaps, []);
  // Who is gone shares no calls any more.
  await until("one", () => b.shards.members() === 1);
});

test(
  "who wants another number of shards goes by what the others have; all change together when nobody has one",
  RUN,
  async () => {
    await using scene = await Scene.open();
    const a = await scene.start("a", 2);
    await until("both", () => scene.shares["a"] === 2);
    const b = await scene.start("b", 3);
    assert.equal(b.of, 2);
    await until("one each", () => scene.shares["a"] === 1 && scene.shares["b"] === 1);
    await a.shards.leave(EVER);
    await b.shards.leave(EVER);
    const c = await scene.start("c", 3);
    assert.equal(c.of, 3);
    await until("all three", () => scene.shares["c"] === 3);
    assert.deepEqual(scene.overlaps, []);
  },
);

test("who waits without a shard while the number changes divides the servers anew", RUN, async () => {
  await using scene = await Scene.open();
  const a = await scene.start("a", 1);
  await until("the shard", () => scene.shares["a"] === 1);
  const b = await scene.start("b", 1);
  await until("both", () => b.shards.members() === 2);
  // As if a third had found nobody, and had taken a shard by another number: the one that waits was told nothing of it.
  await scene.weir.sql("update gateway_shard_counts set shards = 2");
  const third = { owner: "c", member: randomUUID() };
  assert.equal((await scene.weir.store.gatewayShards.take(PLATFORM, [1], 2, third))?.length, 1);
  await a.shards.leave(EVER);
  await until("both by the new number", () => scene.shares["b"] === 2);
  assert.deepEqual([b.of, b.shards.vitals()?.of], [2, 2]);
  assert.deepEqual(scene.overlaps, []);
});

test(
  "whose epoch of a shard is over takes it anew while the lease is its own, and not otherwise",
  RUN,
  async () => {
    await using scene = await Scene.open();
    const a = await scene.start("a", 1);
    await until("the shard", () => scene.shares["a"] === 1);
    const b = await scene.start("b", 1);
    await until("both", () => b.shards.members() === 2);
    // A statement of b was on its way while it lost the shard.
    const late = { owner: "b", member: randomUUID() };
    const [taken] = (await scene.weir.store.gatewayShards.take(PLATFORM, [0], 1, late)) ?? [];
    assert.equal(await b.shards.retake(0), null);
    const epoch = await a.shards.retake(0);
    assert.ok((epoch ?? 0) > (taken?.epoch ?? 0));
    // What it gives back is what it has taken last.
    await a.shards.leave(EVER);
    await until("the shard at the other", () => scene.shares["b"] === 1);
    assert.ok((b.epochs.get(0) ?? 0) > (epoch ?? 0));
    assert.equal(await a.shards.retake(0), null);
  },
);

test("a shard that is lost while it is being taken is not opened, and nobody's", RUN, async () => {
  await using scene = await Scene.open();
  const lock = Promise.withResolvers<void>();
  const locked = Promise.withResolvers<void>();
  const holding = scene.weir.db.transaction(async (client) => {
    await client.query("", "lock table gateway_shards in exclusive mode");
    locked.resolve();
    await lock.promise;
  });
  await locked.promise;
  const a = await scene.start("a", 1);
  const waiting = "select from pg_locks where relation = 'gateway_shards'::regclass and not granted";
  await until("a take", async () => (await scene.weir.sql(waiting)).length > 0);
  const left = a.shards.leave(AbortSignal.abort());
  lock.resolve();
  await Promise.all([left, holding]);
  const free = "select from gateway_shards where member is null";
  await until("its end", async () => (await scene.weir.sql(free)).length > 0);
  await delay(50);
  assert.deepEqual(a.gained, []);
});

test("two daemons that log in keep the pause together", RUN, async () => {
  await using scene = await Scene.open();
  const [a, b] = [await scene.start("a", 2), await scene.start("b", 2)];
  // By the clock of the database: a busy process hears late that it may.
  await scene.weir.db.script(
    `create table taken (free_at timestamptz);
     create function note_taken() returns trigger language plpgsql as $$
     begin
       insert into taken values (new.free_at);
       return new;
     end $$;
     create trigger note_taken after insert or update on gateway_logins for each row execute function note_taken()`,
  );
  const log = async ({ shards }: Member): Promise<void> => {
    for (;;) {
      const waitMs = await shards.takeLogin(0, 300);
      if (waitMs === 0) return;
      await pause(waitMs);
    }
  };
  await Promise.all([log(a), log(b), log(a), log(b)]);
  const pauses = await scene.weir.sql<{ ms: number | null }>(
    "select (extract(epoch from free_at - lag(free_at) over (order by free_at)) * 1000)::float8 as ms from taken order by free_at",
  );
  assert.equal(pauses.length, 4);
  assert.ok(
    pauses.every(({ ms }) => ms === null || ms > 299),
    JSON.stringify(pauses),
  );
});

test("without a broker nobody has a shard, and a daemon can be left", RUN, async () => {
  await using scene = await Scene.open();
  const shards = new RabbitShards({
    config: { url: "amqp://127.0.0.1:1", prefix: "none", name: "a" },
    platform: PLATFORM,
    log: pino({ level: "silent" }),
  });
  shards.bind({ shards: scene.weir.store.gatewayShards, member: randomUUID() });
  const gained: number[] = [];
  const of = await shards.start(3, {
    gained: (held) => void gained.push(held.length),
    lost: async () => undefined,
  });
  assert.deepEqual([of, shards.members(), shards.vitals()?.state], [3, 1, "joining"]);
  await shards.leave(AbortSignal.abort());
  assert.deepEqual([gained, shards.vitals()?.state], [[], "left"]);
});
