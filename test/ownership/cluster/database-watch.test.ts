// proves: src/ownership/cluster/database-watch.ts, src/ownership/cluster/membership.ts, src/store/database/probe.ts
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { pino } from "pino";
import { PARTITIONS } from "../../../src/ownership/homes.ts";
import {
  Answers,
  type DatabaseView,
  DatabaseWatch,
  type WatchTiming,
} from "../../../src/ownership/cluster/database-watch.ts";
import { Database } from "../../../src/store/database/database.ts";
import { findBroker, makeNamespace, skippedWithout } from "../../support/cluster/broker.ts";
import { makeCluster, type RabbitMember } from "../../support/cluster/rabbit-cluster.ts";
import { startTcpProxy, type TcpProxy } from "../../support/cluster/tcp-proxy.ts";
import { createTestDatabase } from "../../support/database.ts";
import { until } from "../../support/patience.ts";

const broker = await findBroker();
after(async () => broker?.[Symbol.asyncDispose]());
const url = broker?.url ?? "";
const RUN = { skip: skippedWithout(broker) };
const LIMIT_MS = 300;
/** Half of a real daemon's. The rules between them hold as they do there: what another has said is up to two seconds old. */
const TIMING: WatchTiming = { askMs: 500, awayMs: 4000, steadyMs: 5000 };

test("a database is away after two questions and eight seconds without an answer, and there again with three answers", () => {
  const answers = new Answers(0);
  assert.deepEqual([answers.isAway(60_000), answers.isSteady(60_000)], [false, false]);
  answers.note(true, 1000);
  assert.equal(answers.isSteady(10_999), false);
  assert.equal(answers.isSteady(11_000), true);
  // The process stood still: what it asked before comes too late, and the next question is answered.
  answers.note(false, 2000);
  assert.deepEqual([answers.isAway(60_000), answers.isSteady(60_000)], [false, false]);
  answers.note(true, 61_000);
  answers.note(false, 62_000);
  answers.note(false, 64_000);
  assert.equal(answers.isAway(68_999), false);
  assert.equal(answers.isAway(69_000), true);
  answers.note(true, 70_000);
  answers.note(true, 71_000);
  assert.equal(answers.isAway(71_000), true);
  // As before: two answers were luck.
  answers.note(false, 72_000);
  for (const askedAt of [73_000, 74_000]) answers.note(true, askedAt);
  assert.equal(answers.isAway(74_000), true);
  answers.note(true, 75_000);
  assert.equal(answers.isAway(75_000), false);
  assert.equal(answers.isSteady(82_999), false);
  assert.equal(answers.isSteady(83_000), true);
  // One that is not away needs no second answer.
  answers.note(false, 84_000);
  answers.note(true, 85_000);
  assert.equal(answers.isAway(85_000), false);
});

test("a server that has no connection left for the question is there", async () => {
  await using database = await createTestDatabase();
  const { connection } = database;
  if ("url" in connection) throw new Error("this needs a Postgres that the tests start");
  await using owner = new Database(connection, pino({ level: "silent" }));
  const user = `crowded_${database.name}`;
  await owner.script(`create role ${user} login connection limit 0`);
  await using crowded = new Database({ ...connection, user }, pino({ level: "silent" }));
  await using probe = crowded.openProbe(5000);
  assert.equal(await probe.answers(), true);
  await owner.script(`alter role ${user} connection limit 5; alter role ${user} nologin`);
  assert.equal(await probe.answers(), false);
  await owner.script(`drop role ${user}`);
});

/** Two daemons without channels, each with a way of its own to Postgres that can be cut. */
interface Scene extends AsyncDisposable {
  readonly cluster: ReturnType<typeof makeCluster>;
  readonly ways: Readonly<Record<"a" | "b", TcpProxy>>;
  /** What each is answered in place of a real answer; null: what the database answers. */
  readonly answered: Record<"a" | "b", boolean | null>;
  readonly views: readonly DatabaseView[];
  readonly members: readonly RabbitMember[];
}

async function openScene(): Promise<Scene> {
  await using stack = new AsyncDisposableStack();
  const { connection } = stack.use(await createTestDatabase());
  if ("url" in connection) throw new Error("this needs a Postgres that the tests start");
  const path = `${connection.host}/.s.PGSQL.${connection.port}`;
  const target = connection.host.startsWith("/") ? { path } : connection;
  const ways = { a: stack.use(await startTcpProxy(target)), b: stack.use(await startTcpProxy(target)) };
  const cluster = makeCluster(url, stack.use(makeNamespace(url)));
  stack.use(cluster);
  const views: DatabaseView[] = [];
  const members: RabbitMember[] = [];
  const answered: Scene["answered"] = { a: null, b: null };
  for (const name of ["a", "b"] as const) {
    const way = { ...connection, host: "127.0.0.1", port: ways[name].port };
    const probe = stack.use(new Database(way, pino({ level: "silent" }))).openProbe(LIMIT_MS);
    stack.use(probe);
    const view = stack.use(new DatabaseWatch(async () => answered[name] ?? probe.answers(), TIMING));
    const member = cluster.add(name, { database: () => view });
    members.push(member);
    views.push(view);
    await member.started;
  }
  await until("shares of two", () => cluster.ledger.isEven("a", "b"));
  await until("a while in which it answers", () => views.every(({ isSteady }) => isSteady));
  const kept = stack.move();
  return { cluster, ways, answered, views, members, [Symbol.asyncDispose]: async () => kept.disposeAsync() };
}

for (const how of ["cut", "silence"] as const)
  test(
    `who is cut off from the database alone (${how}) leaves what it has to the others, and joins again`,
    RUN,
    async () => {
      await using scene = await openScene();
      const {
        cluster: { ledger },
        ways,
        members: [a],
      } = scene;
      assert.ok(a !== undefined);
      ways.a[how]();
      await until("all at the other", () => ledger.isEven("b"));
      assert.equal(a.listener.lostOnes.length, PARTITIONS / 2);
      await until("word of it", () => a.homes.vitals().state === "joining");
      assert.match(a.homes.vitals().why ?? "", /^Postgres does not answer this daemon/);
      ways.a.open();
      await until("shares of two again", () => ledger.isEven("a", "b"));
      assert.deepEqual(ledger.overlaps, []);
    },
  );

test("a database that is away for all moves nothing, neither then nor when it is back", RUN, async () => {
  await using scene = await openScene();
  const { cluster, answered, views, members } = scene;
  // Not the real answers: one of them that a busy machine gives late would count as none, for one daemon alone.
  Object.assign(answered, { a: false, b: false });
  await until("loss of the database", () => views.every(({ isAway }) => isAway));
  answered.b = true;
  await until("the database, for one", () => views[1]?.isAway === false);
  // Whoever has it back first is not believed at once.
  answered.a = true;
  await until("a while in which it answers", () => views.every(({ isSteady }) => isSteady));
  for (const { listener, homes } of members) {
    assert.deepEqual(listener.lostOnes, []);
    assert.equal(homes.vitals().owned, PARTITIONS / 2);
  }
  assert.ok(cluster.ledger.isEven("a", "b"));
});
