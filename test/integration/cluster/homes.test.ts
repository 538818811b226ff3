// proves: src/channel/home-keeper.ts, src/ownership/channel-homes.ts, src/ownership/homes.ts, src/channel/hand-over.ts, src/channel/waker.ts, src/channel/resumption.ts
// Several daemons on one database, among which a test hands the channels about.
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { setImmediate as nextTick, setTimeout as delay } from "node:timers/promises";
import { createTestDatabase } from "../../support/database.ts";
import { hold } from "../../support/compaction.ts";
import { text } from "../../support/model-behaviours.ts";
import {
  ALL_PARTITIONS,
  answers,
  type ClusterScene,
  openCluster,
  partitionOfRoom,
  turnsOf,
} from "../../support/cluster/test-cluster.ts";
import { until } from "../../support/patience.ts";
import { startWeir } from "../../support/weir.ts";
import { openStore } from "../../store/open-store.ts";

const database = await createTestDatabase();
after(async () => database[Symbol.asyncDispose]());
const beside = openStore(database.connection);
after(async () => beside[Symbol.asyncDispose]());

/** Whatever waits for what does not come fails by then. */
const OPTIONS = { timeout: 300_000 };

/** Two daemons on the tests' database. */
const openScene = async (): Promise<ClusterScene> => openCluster({ connection: database.connection });

async function epochIn(room: string): Promise<number | undefined> {
  return (await beside.store.channels.find({ platform: "test", name: room }))?.epoch;
}

test("whoever receives a message, the home of its channel answers it, once", OPTIONS, async () => {
  await using scene = await openScene();
  const { a, b, cluster, server } = scene;
  const rooms = Array.from({ length: 8 }, (_, index) => `either-${index}`);
  const ofA = ALL_PARTITIONS.filter((id) => id % 2 === 0);
  await cluster.give("a", ofA);
  await cluster.give(
    "b",
    ALL_PARTITIONS.filter((id) => id % 2 === 1),
  );
  for (const [index, room] of rooms.entries())
    for (const one of index % 3 === 0 ? [a, b] : [b, a]) {
      const before = scene.platform.texts(room).length;
      await one.say("hello", { room });
      await answers(scene, room, before + 1);
    }
  for (const room of rooms) {
    assert.equal(scene.platform.texts(room).length, 2);
    const isOfA = ofA.includes(partitionOfRoom(room));
    assert.deepEqual([turnsOf(a, room), turnsOf(b, room)], isOfA ? [2, 0] : [0, 2]);
    assert.equal(await epochIn(room), 1, "its home has taken it, and nobody else");
  }
  assert.equal(server.requests.length, 16);
});

test(
  "a daemon that is not home loads nothing, whatever it hears; the next home takes up what is due",
  OPTIONS,
  async () => {
    await using scene = await openScene();
    const { a, b, cluster } = scene;
    const room = "homeless";
    const receipt = await a.say("is anybody home?", { room });
    assert.equal(receipt.outcome, "accepted");
    await a.say("hm", { room, addressed: false });
    await nextTick();
    assert.deepEqual([a.daemon.registry.size, b.daemon.registry.size], [0, 0]);
    assert.equal(await epochIn(room), 0);
    // Only the message that wants an answer.
    assert.deepEqual(
      cluster.wakes.map(({ from, partition, seq }) => [from, partition, seq]),
      [["a", partitionOfRoom(room), 1]],
    );
    const row = await beside.store.channels.find({ platform: "test", name: room });
    assert.ok(row !== undefined);
    await assert.rejects(a.daemon.registry.get(row.id), { name: "NotHomeError" });
    await assert.rejects(
      a.daemon.registry.visit(row.id, async () => Promise.resolve()),
      { name: "NotHomeError" },
    );
    await cluster.give("b", [partitionOfRoom(room)]);
    await answers(scene, room, 1);
    assert.deepEqual([turnsOf(a, room), turnsOf(b, room)], [0, 1]);
  },
);

test("a wake is sent behind the commit of its message, and to the home alone", OPTIONS, async () => {
  await using scene = await openScene();
  const { a, b, cluster } = scene;
  await cluster.give("b");
  const seen: Promise<boolean>[] = [];
  cluster.onWake = ({ channel, seq }) =>
    seen.push(
      // By another connection: it sees what is committed.
      beside
        .sql("select from entries where channel_id = $1 and seq = $2", channel, seq)
        .then((rows) => rows.length === 1),
    );
  for (let number = 1; number <= 5; number++) {
    await a.say(`message ${number}`, { room: "committed" });
    await answers(scene, "committed", number);
  }
  assert.deepEqual(await Promise.all(seen), [true, true, true, true, true]);
  await b.say("and here", { room: "committed" });
  await answers(scene, "committed", 6);
  assert.equal(seen.length, 5, "a home wakes itself in memory");
});

test("messages whose wakes are lost are answered by the home's look", OPTIONS, async () => {
  await using scene = await openScene();
  const { a, b, cluster } = scene;
  await cluster.give("b");
  cluster.dropsWakes = true;
  // One that b has in memory, and one that it has not.
  await b.say("hello", { room: "known" });
  await answers(scene, "known", 1);
  await a.say("and now?", { room: "known" });
  await a.say("is anybody there?", { room: "unknown" });
  await answers(scene, "known", 2);
  await answers(scene, "unknown", 1);
  assert.deepEqual([turnsOf(a, "known"), turnsOf(a, "unknown")], [0, 0]);
  assert.equal(cluster.wakes.length, 2);
});

test("a daemon that does not know that it has lost a partition takes no channel of it", OPTIONS, async () => {
  await using scene = await openScene();
  const { a, b, cluster } = scene;
  const room = "stale";
  const partition = partitionOfRoom(room);
  await cluster.give("a", [partition]);
  await cluster.give("b", [partition]);
  // As it knows, a is home. It hears of its loss by the refusal, and wakes the home.
  await a.say("hello", { room });
  await answers(scene, room, 1);
  assert.deepEqual([turnsOf(a, room), turnsOf(b, room)], [0, 1]);
  assert.deepEqual(a.daemon.homes.held, []);
  assert.equal(await epochIn(room), 1);
});

test(
  "a late take of an earlier home ends no service: whoever has the lease takes it anew",
  OPTIONS,
  async () => {
    await using scene = await openScene();
    const { a, b, cluster } = scene;
    const room = "late";
    const partition = partitionOfRoom(room);
    await cluster.give("b", [partition]);
    await b.say("hello", { room });
    await answers(scene, room, 1);
    // A statement of a was on its way while it lost the partition: nobody there has it.
    await beside.store.partitions.take([partition], "a");
    const rooms = Array.from({ length: 10_000 }, (_, index) => `late-${index}`);
    const fresh = rooms.find((one) => partitionOfRoom(one) === partition);
    assert.ok(fresh !== undefined);
    await b.say("is anybody there?", { room: fresh });
    await answers(scene, fresh, 1);
    await a.say("and here?", { room });
    await answers(scene, room, 2);
    assert.deepEqual([b.daemon.homes.held, a.daemon.homes.held], [[partition], []]);
    assert.equal(
      (await beside.sql<{ owner: string }>("select owner from partitions where id = $1", partition))[0]
        ?.owner,
      "b",
    );
  },
);

test(
  "a daemon that was frozen finishes nothing that the next home has begun, and takes nothing back",
  OPTIONS,
  async () => {
    await using scene = await openScene();
    const { a, b, cluster, server, platform } = scene;
    const room = "frozen";
    const partition = partitionOfRoom(room);
    await cluster.give("a", [partition]);
    const gate = hold();
    server.reply(gate.behaviour);
    await a.say("hello", { room });
    await server.received(1);
    await cluster.give("b", [partition]);
    await answers(scene, room, 1);
    gate.release(text("too late"));
    await a.event("channel_lost", ({ channel }) => channel === `test:${room}`);
    await a.say("and now?", { room });
    await answers(scene, room, 2);
    assert.deepEqual(platform.texts(room), ["noted", "noted"]);
    assert.equal(turnsOf(b, room), 2);
  },
);

test(
  "a daemon that loses its partitions ends its turns at once, and the next home begins them again",
  OPTIONS,
  async () => {
    await using scene = await openScene();
    const { a, b, cluster, server, platform } = scene;
    const room = "lost";
    await cluster.give("a");
    const gate = hold();
    server.reply(gate.behaviour);
    await a.say("hello", { room });
    const request = await server.received(1).then(() => server.requests[0]);
    cluster.lose("a");
    assert.equal(a.daemon.registry.size, 0, "at once");
    await cluster.give("b");
    await answers(scene, room, 1);
    gate.release(text("too late"));
    await a.say("and now?", { room });
    await answers(scene, room, 2);
    assert.ok(request !== undefined);
    assert.deepEqual(platform.texts(room), ["noted", "noted"]);
    assert.deepEqual([turnsOf(a, room), turnsOf(b, room)], [1, 2]);
  },
);

test(
  "a home that hands on begins no turn, ends the one that runs, and the next home answers what came meanwhile",
  OPTIONS,
  async () => {
    await using scene = await openScene();
    const { a, b, cluster, server, platform } = scene;
    const room = "handed";
    await cluster.give("a");
    const gate = hold();
    server.reply(gate.behaviour);
    await a.say("first", { room });
    await server.received(1);
    const moved = cluster.move("a", "b");
    await a.say("second", { room });
    await b.say("third", { room });
    await nextTick();
    assert.equal(server.requests.length, 1);
    gate.release(text("of a"));
    await moved;
    assert.equal(a.daemon.registry.size, 0);
    await answers(scene, room, 2);
    assert.deepEqual(platform.texts(room), ["of a", "noted"]);
    assert.deepEqual([turnsOf(a, room), turnsOf(b, room)], [1, 1]);
  },
);

test(
  "what still runs at the deadline of a hand-over is ended, and begun again by the next home",
  OPTIONS,
  async () => {
    await using scene = await openScene();
    const { a, b, cluster, server, platform } = scene;
    const room = "overdue";
    await cluster.give("a");
    server.reply(hold().behaviour);
    await a.say("first", { room });
    await server.received(1);
    await cluster.move("a", "b", ALL_PARTITIONS, AbortSignal.abort());
    await answers(scene, room, 1);
    assert.deepEqual(platform.texts(room), ["noted"]);
    assert.equal(turnsOf(b, room), 1);
  },
);

test("a partition that is lost while it is being taken is not held", OPTIONS, async () => {
  await using scene = await openScene();
  const { a, cluster } = scene;
  const [one = 0, other = 0] = ALL_PARTITIONS;
  const taking = cluster.give("a", [one, other]);
  cluster.member("a").listener?.lost([one]);
  await taking;
  assert.deepEqual(a.daemon.homes.held, [other]);
  assert.deepEqual([cluster.member("a").owns(one), cluster.member("a").owns(other)], [false, true]);
});

test("a daemon that ends hands on all that it has, and nobody who chats notices", OPTIONS, async () => {
  await using scene = await openScene();
  const { b, cluster, server, platform } = scene;
  const room = "rolling";
  {
    const options = { connection: database.connection, modelUrl: server.url, platform };
    await using ending = await startWeir({ ...options, cluster: cluster.join("c") });
    await cluster.give("c");
    await ending.say("hello", { room });
    await answers(scene, room, 1);
    const gate = hold();
    server.reply(gate.behaviour);
    await ending.say("one more", { room });
    await server.received(2);
    setImmediate(() => gate.release(text("by the one that ends")));
  }
  await cluster.give("b");
  await b.say("and now?", { room });
  await answers(scene, room, 3);
  assert.deepEqual(platform.texts(room), ["noted", "by the one that ends", "noted"]);
});

test("each message is answered once and in order while partitions move to and fro", OPTIONS, async () => {
  await using scene = await openScene();
  const { a, b, cluster, platform } = scene;
  const rooms = Array.from({ length: 6 }, (_, index) => `moving-${index}`);
  await cluster.give("a");
  const over = new AbortController();
  const begun = (): number => rooms.reduce((sum, room) => sum + turnsOf(a, room) + turnsOf(b, room), 0);
  const moving = (async () => {
    for (let turn = 0; !over.signal.aborted; turn++) {
      // Each home begins at least one turn.
      for (const before = begun(); begun() === before && !over.signal.aborted;) await delay(1);
      const [from, to] = turn % 2 === 0 ? (["a", "b"] as const) : (["b", "a"] as const);
      // Now handed on, now torn away.
      if (turn % 3 === 2) {
        await cluster.give(to);
        cluster.lose(from);
      } else await cluster.move(from, to);
    }
  })();
  const asked: string[] = [];
  await Promise.all(
    rooms.map(async (room, index) => {
      for (let number = 1; number <= 8; number++) {
        const id = `${room}-${number}`;
        asked.push(id);
        await ((index + number) % 2 === 0 ? a : b).say(`question ${number}`, { room, id });
        if (number % 3 === 0) await answers(scene, room, 1);
      }
    }),
  );
  const settled = (): string[] =>
    [a, b].flatMap(({ events }) =>
      events.flatMap((event) => (event.type === "turn_settled" ? event.inReplyTo : [])),
    );
  while (new Set(settled()).size < asked.length) await delay(5);
  over.abort();
  await moving;
  assert.deepEqual(settled().toSorted(), asked.toSorted(), "each is settled once");
  for (const room of rooms) {
    const turns = await beside.sql<{ fromSeq: number; toSeq: number; state: string }>(
      "select t.from_seq, t.to_seq, t.state from turns t join channels c on c.id = t.channel_id where c.name = $1 order by t.id",
      room,
    );
    assert.ok(turns.every(({ state }) => state === "answered"));
    for (const [index, turn] of turns.entries())
      assert.ok(turn.fromSeq > (turns[index - 1]?.toSeq ?? 0), "no turn overlaps another");
    await answers(scene, room, turns.length);
    assert.equal(platform.texts(room).length, turns.length);
  }
  for (const { partition, from } of cluster.wakes)
    assert.ok(ALL_PARTITIONS.includes(partition) && from !== "");
});

test("a channel that is only listened to is looked at by its home all the same", OPTIONS, async () => {
  await using scene = await openScene();
  const { a, b, cluster } = scene;
  await cluster.give("b");
  for (let number = 1; number <= 20; number++)
    await a.say(`overheard ${number}`, { room: "listened", addressed: false });
  const loaded = await b.event("channel_loaded", ({ channel }) => channel === "test:listened");
  assert.equal(loaded.entries, 20);
  assert.equal(cluster.wakes.length, 1);
});

test(
  "a partition that is lost and taken anew at once: its turn begins again, and is answered once",
  OPTIONS,
  async () => {
    await using scene = await openScene();
    const { b, a, cluster, server, platform } = scene;
    const room = "regained";
    await cluster.give("b");
    const gate = hold();
    server.reply(gate.behaviour);
    await b.say("hello", { room });
    await server.received(1);
    cluster.lose("b");
    const gained = cluster.give("b");
    // Wakes find an actor that is being closed, or that is loaded anew.
    for (let number = 1; number <= 3; number++) await a.say(`and ${number}?`, { room });
    await gained;
    gate.release(text("too late"));
    const settled = (): number =>
      b.events.reduce((sum, event) => sum + (event.type === "turn_settled" ? event.inReplyTo.length : 0), 0);
    await until("all four to be settled", () => settled() >= 4);
    await answers(scene, room, 1);
    assert.ok(platform.texts(room).every((one) => one === "noted"));
    assert.equal(settled(), 4, "each once");
    const overlaps = await beside.sql(
      "select t.id from turns t join turns u on t.channel_id = u.channel_id and t.id < u.id and u.from_seq <= t.to_seq join channels c on c.id = t.channel_id where c.name = $1",
      room,
    );
    assert.deepEqual(overlaps, []);
    assert.deepEqual([turnsOf(a, room), cluster.member("b").owns(partitionOfRoom(room))], [0, true]);
  },
);
