// proves: src/daemon/cluster.ts, src/ownership/cluster/member-row.ts, src/store/channels/members.ts, src/cli/cluster.ts, src/admin/reports/cluster-report.ts, migrations/baseline/22_cluster.sql
// Real daemons on one Postgres and one RabbitMQ, and people who chat with them.
import assert from "node:assert/strict";
import { copyFile, readdir, rm, writeFile } from "node:fs/promises";
import { hostname } from "node:os";
import path from "node:path";
import { after, test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { type ClusterReport, reportCluster } from "../../src/admin/reports/cluster-report.ts";
import { partitionOf } from "../../src/ownership/homes.ts";
import { openStore, type OpenStore } from "../store/open-store.ts";
import { findBroker, makeNamespace, skippedWithout } from "../support/cluster/broker.ts";
import { areEven } from "../support/cluster/shares.ts";
import { DaemonHomes } from "../support/cluster/daemon-homes.ts";
import { createTestDatabase } from "../support/database.ts";
import { type LoopbackWorld, openLoopbackWorld } from "../support/e2e-loopback.ts";
import { envOf } from "../support/e2e-main.ts";
import { echo, Gate } from "../support/e2e-model.ts";
import { type ModelServer, startModelServer } from "../support/model-server.ts";
import { until } from "../support/patience.ts";
import type { TestProcess } from "../support/process.ts";

const broker = await findBroker();
after(async () => broker?.[Symbol.asyncDispose]());
const RUN = { skip: skippedWithout(broker) };

/** The daemons of one cluster, each a process with a folder of its own. */
class Scene implements AsyncDisposable {
  readonly model: ModelServer;
  readonly world: LoopbackWorld;
  readonly beside: OpenStore;
  readonly #stack: AsyncDisposableStack;
  readonly #homes: DaemonHomes;

  private constructor(
    parts: Pick<Scene, "model" | "world" | "beside">,
    homes: DaemonHomes,
    stack: AsyncDisposableStack,
  ) {
    this.model = parts.model;
    this.world = parts.world;
    this.beside = parts.beside;
    this.#homes = homes;
    this.#stack = stack;
  }

  static async open(): Promise<Scene> {
    await using stack = new AsyncDisposableStack();
    const url = broker?.url ?? "";
    const { prefix } = stack.use(makeNamespace(url));
    const { connection } = stack.use(await createTestDatabase());
    const model = stack.use(await startModelServer());
    const world = stack.use(await openLoopbackWorld());
    const beside = stack.use(openStore(connection));
    model.respond(echo);
    const config = `${world.config}[cluster]\nurl = "env:AMQP_URL"\nprefix = "${prefix}"\n`;
    const env = { ...envOf(connection, model.url), AMQP_URL: url };
    const homes = stack.use(new DaemonHomes(config, env));
    return new Scene({ model, world, beside }, homes, stack.move());
  }

  async start(name: string): Promise<TestProcess> {
    return (await this.#homes.of(name)).start();
  }

  /** Runs a command from the folder of a daemon. */
  async run(
    name: string,
    ...args: readonly string[]
  ): Promise<{ code: number | null; out: string; stderr: string }> {
    const home = await this.#homes.of(name);
    const { code, out, stderr } = await home.look(...args);
    return { code, out: out.join("\n"), stderr };
  }

  /** Starts another daemon under the name of one, from a folder of its own. */
  async startNamesake(name: string): Promise<TestProcess> {
    return (await this.#homes.another(name)).run("start");
  }

  async look(): Promise<ClusterReport> {
    const { members, gatewayShards } = this.beside.store;
    return reportCluster(await members.all(), await members.partitions(), await gatewayShards.all());
  }

  /** Resolves when these daemons, and no others, have even shares of all partitions. */
  async untilEven(...names: readonly string[]): Promise<ClusterReport> {
    let seen = await this.look();
    await until(`even shares of ${names.join(", ")}`, async () => {
      seen = await this.look();
      const shares = names.map((name) => seen.partitions.filter(({ homes }) => homes.join() === name).length);
      return areEven(shares);
    });
    return seen;
  }

  /** Where a daemon has its key. */
  async keyFile(name: string): Promise<string> {
    return path.join((await this.#homes.of(name)).folder, "data", "signing.key");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#stack.disposeAsync();
  }
}

/** Rooms of which these daemons are home, so many of each. */
function roomsOf({ partitions }: ClusterReport, names: readonly string[], each: number): string[] {
  const homeOf = (room: string): string | undefined =>
    partitions[partitionOf({ platform: "loopback", name: room })]?.homes[0];
  return names.flatMap((name) => {
    const rooms = Array.from({ length: 1000 }, (_, number) => `room-${number}`);
    return rooms.filter((room) => homeOf(room) === name).slice(0, each);
  });
}

/** People who go on asking, in turn in each room. */
class Talk {
  readonly #world: LoopbackWorld;
  readonly #rooms: readonly string[];
  readonly #going: Promise<void>;
  #isOver = false;
  #said = 0;

  constructor(world: LoopbackWorld, rooms: readonly string[]) {
    this.#world = world;
    this.#rooms = rooms;
    this.#going = this.#go();
  }

  /** Resolves when so many more questions were asked. */
  async more(count: number): Promise<void> {
    const wanted = this.#said + count;
    await until(`${count} more questions`, () => this.#said >= wanted);
  }

  async stop(): Promise<void> {
    this.#isOver = true;
    await this.#going;
  }

  async #go(): Promise<void> {
    while (!this.#isOver) {
      const room = this.#rooms[this.#said % this.#rooms.length] ?? "";
      await this.#world.say(room, `m${this.#said}`, `question ${this.#said}?`);
      this.#said += 1;
      // A person is slower than a loop.
      await delay(20);
    }
  }
}

test(
  "one daemon is killed, one joins, one leaves, while people chat: each question is answered once",
  RUN,
  async () => {
    await using scene = await Scene.open();
    const { world, beside } = scene;
    const [a, b] = await Promise.all([scene.start("a"), scene.start("b")]);
    const rooms = roomsOf(await scene.untilEven("a", "b"), ["a", "b"], 6);
    const talk = new Talk(world, rooms);
    await talk.more(12);
    await a.kill();
    await talk.more(12);
    await scene.start("c");
    await scene.untilEven("b", "c");
    await talk.more(12);
    b.signal("SIGTERM");
    assert.deepEqual(await b.ended, { code: 0, signal: null }, b.stderr);
    await talk.more(10);
    await talk.stop();
    await world.untilAnswered();
    await world.assertAnsweredOnce();
    const { daemons } = await scene.untilEven("c");
    assert.ok(!daemons.some(({ name }) => name === "b"), "who leaves in order leaves no row");
    const gaps = await beside.sql(
      "select channel_id from entries group by channel_id having max(seq) <> count(*) or min(seq) <> 1",
    );
    assert.deepEqual(gaps, []);
  },
);

test("/stop ends an answer wherever it is typed, and an operator sees and drains daemons", RUN, async () => {
  await using scene = await Scene.open();
  const { model, world } = scene;
  const [a, b] = await Promise.all([scene.start("a"), scene.start("b")]);
  const even = await scene.untilEven("a", "b");
  // Whichever daemon hears the commands, it is not home of all of these.
  const rooms = roomsOf(even, ["a", "b"], 2);
  const gate = new Gate();
  model.respond(() => gate.between("Half of an answer", " never comes"));
  for (const room of rooms) await world.say(room, `${room}-asked`, "tell me something long");
  await until("half of each answer", async () => {
    const shown = await Promise.all(rooms.map(async (room) => world.bot(room)));
    return shown.every((texts) => texts.some(({ text }) => text.startsWith("Half")));
  });
  for (const room of rooms) await world.command(room, "stop");
  await world.untilAnswered();
  for (const room of rooms) {
    const [answer] = await world.bot(room);
    assert.doesNotMatch(answer?.text ?? "", /never comes/, room);
  }
  gate.open();
  model.respond(echo);

  const shown = await scene.run("b", "cluster");
  assert.match(
    shown.out,
    /^daemon +on +version +since +heard +partitions +channels +due +shards +state$/m,
    shown.stderr,
  );
  assert.match(
    shown.out,
    new RegExp(`^a +${hostname()}, process ${a.pid} .* 32 .*home of 32 partitions`, "m"),
  );
  assert.match(shown.out, /^Every partition has a home\.$/m);

  const status = await scene.run("a", "status", "--daemon", "b");
  assert.match(status.out, new RegExp(`process ${b.pid} on `), status.stderr);
  assert.match(status.out, /^cluster +b: home of 32 partitions, among 2 daemons that take their share$/m);
  const nobody = await scene.run("a", "status", "--daemon", "nobody");
  assert.match(nobody.stderr, /^No daemon called nobody has answered/);
  assert.match((await scene.run("b", "reload", "--daemon", "a")).out, /^Daemon a:\nNothing has changed\.$/);

  const drained = await scene.run("b", "cluster", "drain", "a");
  assert.match(drained.out, /^a is home of nothing any more, and takes nothing\.$/, drained.stderr);
  await scene.untilEven("b");
  for (const room of rooms) await world.say(room, `${room}-again`, "and now?");
  await world.untilAnswered();
  const back = await scene.run("b", "cluster", "drain", "a", "--undo");
  assert.match(back.out, /^a takes its share again/, back.stderr);
  await scene.untilEven("a", "b");
  const wrong = await scene.run("b", "cluster", "drain", "nobody");
  assert.match(wrong.stderr, /^No daemon of the cluster is called nobody\. There are: a, b\.$/);
});

test(
  "a second daemon of one name does not start and says who has it; one that comes after a kill starts at once",
  RUN,
  async () => {
    await using scene = await Scene.open();
    const { world } = scene;
    const a = await scene.start("a");
    await scene.untilEven("a");
    const second = await scene.startNamesake("a");
    assert.deepEqual(await second.ended, { code: 1, signal: null }, second.stderr);
    assert.match(
      second.stderr,
      new RegExp(
        `^Another daemon of this cluster is called a, and runs \\(on ${hostname()}, process ${a.pid}\\)\\. Give this one a name`,
        "m",
      ),
    );
    await world.say("room", "m1", "does the first go on?");
    await world.untilAnswered();
    await a.kill();
    const again = await scene.start("a");
    assert.doesNotMatch(again.stderr, /name_not_taken/);
    await world.say("room", "m2", "and now?");
    await world.untilAnswered();
    await world.assertAnsweredOnce();
  },
);

test(
  "a daemon without the key of the others makes none, and one with another key says so, until it has theirs",
  RUN,
  async () => {
    await using scene = await Scene.open();
    const a = await scene.start("a");
    const [ofA, ofB] = [await scene.keyFile("a"), await scene.keyFile("b")];
    assert.doesNotMatch(a.stderr, /signing_key/, "the first makes one");

    const without = await scene.start("b");
    await scene.untilEven("a", "b");
    assert.match(without.stderr, / sign with one, a \(on .*signing_key_missing/);
    assert.ok(!(await readdir(path.dirname(ofB))).includes("signing.key"));
    assert.match(
      (await scene.run("a", "cluster")).out,
      /^Not all sign with the same key.* b \(on .*\) has none/m,
    );
    await copyFile(ofA, ofB);
    await until("word of the copy", async () => !/Not all sign/.test((await scene.run("b", "cluster")).out));
    without.signal("SIGTERM");
    await without.ended;

    await rm(ofB);
    await writeFile(ofB, `${"0f".repeat(32)}\n`, { mode: 0o600 });
    const other = await scene.start("b");
    await scene.untilEven("a", "b");
    assert.match(other.stderr, / is another key than that of a \(on .*signing_key_differs/);
    assert.match((await scene.run("a", "cluster")).out, /^Not all sign with the same key/m);
    assert.match(
      (await scene.run("b", "doctor")).out,
      /^✗ signing key: .* is another key than that of a \(on/m,
    );
    other.signal("SIGTERM");
    await other.ended;
    await rm(ofB);
    await copyFile(ofA, ofB);
    const same = await scene.start("b");
    await scene.untilEven("a", "b");
    assert.doesNotMatch(same.stderr, /signing_key/);
    assert.match(
      (await scene.run("b", "doctor")).out,
      /^✓ signing key: the daemons that are there have the same$/m,
    );
  },
);
