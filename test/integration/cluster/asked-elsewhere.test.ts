// proves: src/admin/requests/at-home.ts, src/admin/requests/ask-daemon.ts, src/cli/compact.ts, src/cli/forget-user.ts, src/admin/requests/request-server.ts, src/channel/registry.ts, src/channel/waker.ts, src/channel/actor.ts
// What people and operators ask of a daemon that is not the channel's home is done by the home, or has its effect there.
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { NOBODY_HOME } from "../../../src/admin/requests/at-home.ts";
import { compactAnswer } from "../../../src/admin/requests/compact-answer.ts";
import type { ChannelId } from "../../../src/core/ids.ts";
import { STOPPED } from "../../../src/platforms/platform.ts";
import { openStore } from "../../store/open-store.ts";
import { openApprovals, shownIn } from "../../support/approvals.ts";
import {
  answers,
  type ClusterScene,
  openCluster,
  TestCluster,
  turnsOf,
} from "../../support/cluster/test-cluster.ts";
import { askFor, asking, ROOM } from "../../support/asking.ts";
import { ANN, authorOf, BEN, command } from "../../support/commands.ts";
import { hold, listen } from "../../support/compaction.ts";
import { createTestDatabase } from "../../support/database.ts";
import { text } from "../../support/model-behaviours.ts";
import { envOf, openMainHome } from "../../support/e2e-main.ts";
import { until } from "../../support/patience.ts";
import type { TestWeir } from "../../support/weir.ts";

const database = await createTestDatabase();
after(async () => database[Symbol.asyncDispose]());
const beside = openStore(database.connection);
after(async () => beside[Symbol.asyncDispose]());

/** Whatever waits for what does not come fails by then. */
const OPTIONS = { timeout: 300_000 };
const CONFIG = `
[llm]
max_retries = 0
[[agents]]
id = "main"
model = "test-model"
compactor_model = "summariser"
context_window = 16000
[agents.compaction]
keep_messages = 5
write_ahead = false
`;

/** Two daemons, of which b is home of everything. */
async function openScene(): Promise<ClusterScene> {
  const scene = await openCluster({ connection: database.connection, config: CONFIG });
  await scene.cluster.give("b");
  return scene;
}

async function idOf(room: string): Promise<ChannelId> {
  const row = await beside.store.channels.find({ platform: "test", name: room });
  assert.ok(row !== undefined);
  return row.id;
}

/** What the requests of a room have come to; none holds anybody's words. */
async function requestsOf(room: string): Promise<{ kind: string; focus: string | null }[]> {
  return beside.sql("select kind, focus from requests where channel_id = $1 order by id", await idOf(room));
}

test("/stop ends the answer that is being written at the home, at once", OPTIONS, async () => {
  await using scene = await openScene();
  const { a, b, server, platform } = scene;
  const room = "stopped";
  server.reply(hold().behaviour);
  await a.say("hello", { room });
  await server.received(1);
  for (const asked of [a, b])
    assert.match(
      await command(asked, room, "/status"),
      /is being written, for [^]*Waiting for an answer: 1 message/,
    );
  assert.equal(await command(a, room, "/stop"), STOPPED);
  const { outcome } = await b.event("turn_settled", ({ channel }) => channel === `test:${room}`);
  assert.equal(outcome, "stopped");
  assert.deepEqual([a.daemon.registry.size, turnsOf(a, room)], [0, 0]);
  assert.deepEqual(platform.texts(room), []);
  assert.deepEqual(await requestsOf(room), []);
  assert.match(await command(a, room, "/stop"), /^Nothing is being written/);
});

test("/reset is done by the home: its next turn is shown nothing from before", OPTIONS, async () => {
  await using scene = await openScene();
  const { a, server } = scene;
  const room = "afresh";
  await a.say("the code is zxqpine", { room, kind: "dm" });
  await answers(scene, room, 1);
  assert.match(await command(a, room, "/reset"), /^Reset:/);
  await a.say("what was the code?", { room, kind: "dm" });
  await answers(scene, room, 2);
  assert.doesNotMatch(JSON.stringify(server.requests.at(-1)?.body), /zxqpine/);
  assert.equal(a.daemon.registry.size, 0);
  assert.deepEqual(await requestsOf(room), []);
});

test(
  "where nobody is home, whoever asks is told to try again, and nothing is left behind",
  OPTIONS,
  async () => {
    await using scene = await openScene();
    const { a, b, cluster } = scene;
    const room = "between";
    await a.say("hello", { room, kind: "dm" });
    await answers(scene, room, 1);
    cluster.lose("b");
    assert.equal(await command(a, room, "/reset"), NOBODY_HOME);
    assert.deepEqual(await requestsOf(room), []);
    await cluster.give("b");
    await b.say("and now?", { room, kind: "dm" });
    await answers(scene, room, 2);
  },
);

test(
  "/compact with a focus, and weir compact, are done by the home; the words of the focus go with the request",
  OPTIONS,
  async () => {
    await using scene = await openScene();
    const { a, b, server } = scene;
    const room = "focused";
    server.respond(() => text("Ann measures the river each morning."));
    await listen(a, room, 1, 40);
    await beside.sql("update channels set kind = 'dm' where name = $1", room);
    assert.match(await command(a, room, "/compact the zxqmill"), /^Summarised \d+ messages/);
    assert.ok(server.requests.some(({ body }) => JSON.stringify(body).includes("zxqmill")));
    assert.equal(a.daemon.registry.size, 0);
    assert.deepEqual(await requestsOf(room), []);
    await listen(a, room, 41, 80);
    const { requests } = beside.store;
    const id = await requests.add(await idOf(room), { kind: "compact", focus: "the zxqbank" });
    await until("the answer", async () => (await requests.state(id)).answer !== undefined);
    assert.equal(compactAnswer.safeParse((await requests.state(id)).answer).data?.kind, "committed");
    assert.deepEqual(await requestsOf(room), [{ kind: "compact", focus: null }]);
    assert.deepEqual([a.daemon.registry.size, b.daemon.registry.size], [0, 1]);
  },
);

for (const type of ["deletion", "edit"] as const)
  test(
    `the home hears of a ${type} that another daemon was told, and does what it does with its own`,
    OPTIONS,
    async () => {
      await using scene = await openScene();
      const { a, b, server, platform } = scene;
      const room = `taken-back-${type}`;
      await a.say("the code is zxqpine", { room, id: `${room}-secret`, addressed: false });
      const gate = hold();
      server.reply(gate.behaviour);
      await a.say("what is the code?", { room });
      await server.received(1);
      assert.match(JSON.stringify(server.requests[0]?.body), /zxqpine/);
      const change = { platform: "test", id: `${room}-secret`, at: new Date() } as const;
      const receipt = await a.daemon.inbox.receive(
        type === "edit" ? { ...change, type, text: "never mind" } : { ...change, type },
      );
      assert.equal(receipt.outcome, "accepted");
      if (type === "deletion") {
        // The turn that has read it begins again without it.
        await server.received(2);
        gate.release(text("it is zxqpine"));
      } else {
        // A turn that has read a text is not begun again for its edit; the next one is told.
        const id = await idOf(room);
        await until("the notice", () => b.daemon.registry.loaded(id)?.history.current.lastSeq === 3);
        gate.release(text("noted"));
        await answers(scene, room, 1);
        await a.say("and now?", { room });
      }
      await answers(scene, room, type === "edit" ? 2 : 1);
      const last = JSON.stringify(server.requests.at(-1)?.body);
      if (type === "deletion") assert.doesNotMatch(last, /zxqpine/);
      else assert.match(last, /never mind/);
      assert.ok(platform.texts(room).every((one) => one === "noted"));
      assert.deepEqual([turnsOf(a, room), turnsOf(b, room)], [0, 2]);
      assert.equal(server.requests.length, 2);
    },
  );

test(
  "a reminder that was set at one home is told by the next, whose clock did not know of it",
  OPTIONS,
  async () => {
    let now = new Date("2026-11-25T04:30:00Z");
    await using scene = await openCluster({ connection: database.connection, now: () => now });
    const { b, a, cluster, server } = scene;
    const room = "reminded";
    await cluster.give("a");
    await a.say("hello", { room });
    await answers(scene, room, 1);
    assert.match(await command(a, room, "/remind in 1h water the plants"), /ends it\.$/);
    // a ends without a word.
    await a[Symbol.asyncDispose]();
    now = new Date(now.getTime() + 3_700_000);
    await cluster.give("b");
    await answers(scene, room, 2);
    assert.match(JSON.stringify(server.requests.at(-1)?.body), /water the plants/);
    assert.equal(turnsOf(b, room), 1);
  },
);

test(
  "a summary that is being written holds up no message of a channel that is handed on",
  OPTIONS,
  async () => {
    await using scene = await openScene();
    const { a, b, cluster, server } = scene;
    const room = "summarised";
    await listen(b, room, 1, 40);
    const summary = hold();
    server.respond((request) => (request.model === "summariser" ? summary.behaviour : text("noted")));
    const { compactor } = await b.daemon.registry.get(await idOf(room));
    const forced = compactor.force();
    await server.received(1);
    const moved = cluster.move("b", "a");
    await b.say("are you there?", { room });
    await moved;
    await answers(scene, room, 1);
    assert.deepEqual([turnsOf(a, room), turnsOf(b, room)], [1, 0]);
    assert.equal((await forced).kind, "failed");
    // Else the end of the next home waits for it.
    summary.release(text("The room was summarised."));
  },
);

test("what is decided at a daemon that is not home is run and shown by the home, once", OPTIONS, async () => {
  await using approvals = await openApprovals();
  const { platform, open } = approvals;
  const cluster = new TestCluster();
  await using a = await approvals.start({ cluster: cluster.join("a") });
  await using b = await approvals.start({ cluster: cluster.join("b") });
  await cluster.give("b");
  await a.say("note buy milk");
  await platform.until(() => shownIn(platform, "room", /^#1: main asks/).length === 1);
  assert.match(await command(a, "room", "/approve 1", BEN), /llowed/);
  await platform.until(() => shownIn(platform, "room", /told: Noted/).length === 1);
  await platform.until(() => shownIn(platform, "room", /^#1: Allowed by Ben/).length === 1);
  assert.equal((await approvals.notes()).match(/buy milk/g)?.length, 1);
  assert.equal((await open.sql("select from entries where message_id = 'approval/1'")).length, 1);
  assert.deepEqual([turnsOf(a, "room"), turnsOf(b, "room")], [0, 2]);
});

test(
  "a plain answer to a question counts, whichever daemon hears it and whichever was there when it was asked",
  OPTIONS,
  async () => {
    await using scene = await openApprovals();
    const { platform, open, server } = scene;
    server.respond(asking);
    const cluster = new TestCluster();
    await using a = await scene.start({ cluster: cluster.join("a") });
    await using b = await scene.start({ cluster: cluster.join("b") });
    await cluster.give("b");
    const seen = async (what: RegExp): Promise<void> =>
      platform.until(() => shownIn(platform, "room", what).length === 1);
    const say = async (weir: TestWeir, words: string): Promise<string> => {
      const { outcome } = await weir.say(words, { channel: ROOM, workspace: "w", author: authorOf(ANN) });
      return outcome;
    };
    await say(b, askFor());
    await seen(/^#1: main asks/);
    await seen(/^told: Asked, as #1/);
    assert.equal(await say(a, "2"), "command");
    await seen(/^heard: You asked: Which colour\?\nAnn has chosen: Deep blue/);
    await seen(/^#1: main asked: Which colour\?\nAnn has chosen: Deep blue$/);
    assert.equal((await open.sql("select from entries where message_id = 'approval/1'")).length, 1);
    assert.equal((await open.sql("select from entries where text = '2' and not addressed")).length, 1);
    assert.equal(turnsOf(a), 0);
  },
);

test(
  "beside a cluster of which nobody is home, a command does nothing by itself, and says so",
  OPTIONS,
  async () => {
    await using scene = await openScene();
    const { a, cluster, server } = scene;
    const room = "unattended";
    await listen(a, room, 1, 40);
    cluster.lose("b");
    const { members, channels } = beside.store;
    const member = { id: "8a0c0c9e-6f0e-4d5e-9d3a-1f2b3c4d5e6f", name: "b", version: "1", host: "h", pid: 1 };
    await using home = await openMainHome("", envOf(database.connection, server.url));
    // The commands ask for longer than a daemon may be silent.
    const telling = setInterval(() => void tell(), 1000);
    const tell = async (): Promise<boolean> =>
      members.tell({ ...member, startedAt: new Date(), held: [], keyId: null, vitals: {} });
    try {
      await tell();
      const before = server.requests.length;
      const epoch = (await channels.find({ platform: "test", name: room }))?.epoch;
      for (const words of [
        ["compact", `test:${room}`],
        ["forget-user", "test:u-ann", "--yes"],
      ]) {
        const run = home.run(...words);
        await run.ended;
        assert.match(run.stderr, /No daemon of the cluster has taken this \(.*\): the channel is moving/);
      }
      assert.equal(server.requests.length, before);
      const row = await channels.find({ platform: "test", name: room });
      assert.equal(row?.epoch, epoch, "nobody has taken it");
    } finally {
      clearInterval(telling);
      await members.remove(member.id);
    }
  },
);
