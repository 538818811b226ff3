// proves: src/channel/renewal.ts, src/channel/waker.ts, src/channel/actor.ts, src/channel/guarded-history.ts, src/store/channels/partitions.ts, src/admin/commands/model.ts
// What a daemon that is not home changes in a channel has its effect at the home, also where the wake that tells of it is lost.
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { answers, openCluster, turnsOf } from "../../support/cluster/test-cluster.ts";
import { command } from "../../support/commands.ts";
import { hold } from "../../support/compaction.ts";
import { createTestDatabase } from "../../support/database.ts";
import { text } from "../../support/model-behaviours.ts";
import { OWNED, OWNER } from "../../support/owners.ts";
import { until } from "../../support/patience.ts";
import { TestPlatform } from "../../support/test-platform.ts";
import type { TestWeir } from "../../support/weir.ts";

const database = await createTestDatabase();
after(async () => database[Symbol.asyncDispose]());

const OPTIONS = { timeout: 300_000 };
const CONFIG = `${OWNED}
[llm]
max_retries = 0
[models."other-model"]
context_window = 65536
[[agents]]
id = "main"
model = "own-model"
context_window = 16384
`;

for (const dropsWakes of [false, true])
  test(
    `/model at a daemon that is not home: the home answers with it${dropsWakes ? ", also where the wake is lost" : ""}`,
    OPTIONS,
    async () => {
      const platform = new TestPlatform({ serves: () => true });
      await using scene = await openCluster({ connection: database.connection, config: CONFIG, platform });
      const { a, b, cluster, server } = scene;
      await cluster.give("b");
      const room = `chosen-${dropsWakes}`;
      const channel = { platform: "discord", name: room };
      const modelOf = async (weir: TestWeir): Promise<string | undefined> => {
        const before = server.requests.length;
        await weir.say("hello", { channel, workspace: "w" });
        await answers(scene, room, before + 1);
        return server.requests[before]?.body.model;
      };
      assert.equal(await modelOf(b), "own-model");
      const row = await b.daemon.store.channels.find(channel);
      assert.ok(row !== undefined);
      const before = b.daemon.registry.loaded(row.id);
      assert.ok(before !== undefined);
      cluster.dropsWakes = dropsWakes;
      const told = await command(a, room, "/model other-model", OWNER, "discord");
      assert.match(told, /^From the next answer on, .* is answered with other-model/);
      await until("the next actor", () => {
        const now = b.daemon.registry.loaded(row.id);
        return now !== undefined && now !== before;
      });
      assert.equal(await modelOf(b), "other-model");
      assert.equal(a.daemon.registry.size, 0);
    },
  );

test("/model where nobody is home holds for the next home", OPTIONS, async () => {
  const platform = new TestPlatform({ serves: () => true });
  await using scene = await openCluster({ connection: database.connection, config: CONFIG, platform });
  const { a, b, cluster, server } = scene;
  const channel = { platform: "discord", name: "nobodys" };
  await a.say("hello", { channel, workspace: "w" });
  assert.match(
    await command(a, "nobodys", "/model other-model", OWNER, "discord"),
    /^From the next answer on/,
  );
  assert.equal(server.requests.length, 0);
  await cluster.give("b");
  await b.say("and now?", { channel, workspace: "w" });
  await answers(scene, "nobodys", 1);
  assert.equal(server.requests[0]?.body.model, "other-model");
});

test(
  "a turn that has read what another daemon was told is gone begins again, also where the wake is lost",
  OPTIONS,
  async () => {
    await using scene = await openCluster({ connection: database.connection, config: CONFIG });
    const { a, b, cluster, server, platform } = scene;
    await cluster.give("b");
    const room = "taken-back";
    await a.say("the code is zxqpine", { room, id: `${room}-secret`, addressed: false });
    const gate = hold();
    server.reply(gate.behaviour);
    await b.say("what is the code?", { room });
    await server.received(1);
    assert.match(JSON.stringify(server.requests[0]?.body), /zxqpine/);
    cluster.dropsWakes = true;
    const change = { platform: "test", id: `${room}-secret`, at: new Date() } as const;
    await a.daemon.inbox.receive({ ...change, type: "deletion" });
    await server.received(2);
    gate.release(text("it is zxqpine"));
    await answers(scene, room, 1);
    assert.doesNotMatch(JSON.stringify(server.requests[1]?.body), /zxqpine/);
    assert.deepEqual(platform.texts(room), ["noted"]);
    assert.equal(turnsOf(b, room), 2);
  },
);

test("a turn goes on beside an edit that its home has noted, whatever its looks find", OPTIONS, async () => {
  await using scene = await openCluster({ connection: database.connection, config: CONFIG });
  const { b, cluster, server, platform } = scene;
  await cluster.give("b");
  const room = "edited";
  await b.say("the code is zxqpine", { room, id: `${room}-first` });
  await answers(scene, room, 1);
  const gate = hold();
  server.reply(gate.behaviour);
  await b.say("what is the code?", { room });
  await server.received(2);
  const at = new Date();
  await b.daemon.inbox.receive({
    platform: "test",
    id: `${room}-first`,
    at,
    type: "edit",
    text: "never mind",
  });
  const row = await b.daemon.store.channels.find({ platform: "test", name: room });
  assert.ok(row !== undefined);
  // Nothing is to be found that is not known.
  const actor = b.daemon.registry.loaded(row.id);
  assert.ok(actor !== undefined);
  await until("the notice", () => actor.changesKnown === 1);
  await b.daemon.renewal.review();
  await actor.history.snapshot();
  gate.release(text("zxqpine"));
  await answers(scene, room, 2);
  assert.deepEqual(platform.texts(room), ["noted", "zxqpine"]);
  assert.equal(turnsOf(b, room), 2);
});

test(
  "what people say before a process is answered there, whoever is home of the others",
  OPTIONS,
  async () => {
    const platform = new TestPlatform({ isHere: true });
    await using scene = await openCluster({ connection: database.connection, config: CONFIG, platform });
    const { a, b, cluster } = scene;
    await cluster.give("b");
    const room = "before-a";
    await a.say("hello", { room });
    await answers(scene, room, 1);
    assert.deepEqual([turnsOf(a, room), turnsOf(b, room), cluster.wakes.length], [1, 0, 0]);
    // It goes on with its turns whatever becomes of its partitions.
    await cluster.give("a");
    const row = await a.daemon.store.channels.find({ platform: "test", name: room });
    assert.ok(row !== undefined);
    cluster.lose("a");
    assert.notEqual(a.daemon.registry.loaded(row.id), undefined);
    await a.say("and now?", { room });
    await answers(scene, room, 2);
    // Who has it open at another daemon is answered there: the channel's epoch keeps the two apart.
    await b.say("and here?", { room });
    await answers(scene, room, 3);
    assert.deepEqual([turnsOf(a, room), turnsOf(b, room)], [2, 1]);
    const now = await a.daemon.store.channels.find({ platform: "test", name: room });
    assert.equal(now?.epoch, 2);
  },
);
