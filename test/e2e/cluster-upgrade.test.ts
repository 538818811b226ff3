// proves: src/store/database/migrate.ts, src/ownership/cluster/roster.ts, src/store/channels/members.ts
// Daemons of a cluster are started anew one after the other with a newer version, which migrates while those of before serve.
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { reportCluster } from "../../src/admin/reports/cluster-report.ts";
import { readKnownVersion } from "../../src/store/database/migrate.ts";
import { openStore, type OpenStore } from "../store/open-store.ts";
import { findBroker, makeNamespace, skippedWithout } from "../support/cluster/broker.ts";
import { areEven } from "../support/cluster/shares.ts";
import { createTestDatabase } from "../support/database.ts";
import { type LoopbackWorld, openLoopbackWorld } from "../support/e2e-loopback.ts";
import { envOf, openMainHome } from "../support/e2e-main.ts";
import { echo } from "../support/e2e-model.ts";
import { startModelServer } from "../support/model-server.ts";
import { makeNextVersion } from "../support/next-version.ts";
import { until } from "../support/patience.ts";
import type { TestProcess } from "../support/process.ts";

const broker = await findBroker();
after(async () => broker?.[Symbol.asyncDispose]());
const url = broker?.url ?? "";
const ROOMS = Array.from({ length: 12 }, (_, number) => `room-${number}`);

/** Says so many more things, in turn in each room. */
function talker(world: LoopbackWorld): (count: number) => Promise<void> {
  let said = 0;
  return async (count) => {
    for (let left = count; left > 0; left--) {
      const room = ROOMS[said % ROOMS.length] ?? "";
      said += 1;
      await world.say(room, `m${said}`, `question ${said}?`);
      // A person is slower than a loop.
      await delay(20);
    }
  };
}

/** Resolves when these daemons, and no others, have even shares of all partitions. */
async function untilShared(
  { store: { members, gatewayShards } }: OpenStore,
  names: readonly string[],
): Promise<void> {
  await until(`even shares of ${names.join(" and ")}`, async () => {
    const { partitions } = reportCluster(
      await members.all(),
      await members.partitions(),
      await gatewayShards.all(),
    );
    return areEven(names.map((name) => partitions.filter(({ homes }) => homes.join() === name).length));
  });
}

test(
  "a newer version takes the place of an older one, daemon by daemon, while people chat: each question is answered once",
  { skip: skippedWithout(broker) },
  async () => {
    await using space = makeNamespace(url);
    await using next = await makeNextVersion();
    await using model = await startModelServer();
    model.respond(echo);
    const { connection, ...database } = await createTestDatabase();
    await using _ = database;
    await using world = await openLoopbackWorld();
    await using beside = openStore(connection);
    const config = `${world.config}[cluster]\nurl = "env:AMQP_URL"\nprefix = "${space.prefix}"\n`;
    const env = { ...envOf(connection, model.url), AMQP_URL: url };
    await using a = await openMainHome(`${config}name = "a"\n`, env);
    await using b = await openMainHome(`${config}name = "b"\n`, env);

    const talk = talker(world);
    const untilEven = async (...names: readonly string[]): Promise<void> => untilShared(beside, names);
    const upgraded = async (home: typeof a, old: TestProcess): Promise<TestProcess> => {
      old.signal("SIGTERM");
      assert.deepEqual(await old.ended, { code: 0, signal: null }, old.stderr);
      const started = home.runVersion(next.main, "start");
      await started.line("Weir is ready");
      return started;
    };

    const oldA = await a.start();
    const oldB = await b.start();
    await untilEven("a", "b");
    await talk(12);
    // The newer one migrates beside the older one, and both have their share.
    const [newA] = await Promise.all([upgraded(a, oldA), talk(30)]);
    await untilEven("a", "b");
    await talk(12);
    // What a command of before can look at, it looks at no more; the daemon of before serves.
    await world.untilAnswered();
    assert.equal(oldB.isOver, false, oldB.stderr);

    // One of before that is killed now does not come back, and its channels are the newer one's.
    await Promise.all([oldB.kill(), talk(12)]);
    await untilEven("a");
    const again = b.run("start");
    assert.deepEqual(await again.ended, { code: 1, signal: null });
    const known = await readKnownVersion();
    assert.match(
      again.stderr,
      new RegExp(`^The database is at schema version ${known + 1}, this Weir knows ${known}:`, "m"),
    );
    const newB = b.runVersion(next.main, "start");
    await newB.line("Weir is ready");
    await untilEven("a", "b");
    await talk(12);
    await world.untilAnswered();
    await world.assertAnsweredOnce();
    for (const { stderr } of [oldA, oldB, newA, newB]) {
      assert.doesNotMatch(stderr, /left out|event_refused|cached plan|"level":50/);
      assert.doesNotMatch(stderr, /partitions_not_taken|member_not_told/);
    }
  },
);
