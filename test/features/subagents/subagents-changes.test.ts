// proves: src/features/subagents/carrier.ts, migrations/baseline/15_subagents.sql
// What was taken back is told by no subagent: those that have read it end without a report, and the others go on.
import assert from "node:assert/strict";
import { test } from "node:test";
import { SUBAGENTS } from "../../../src/features/subagents/key.ts";
import { agentId } from "../../../src/core/ids.ts";
import type { OpenStore } from "../../store/open-store.ts";
import { rowsWith } from "../../store/rows-with.ts";
import { command } from "../../support/commands.ts";
import { indexAll } from "../../support/covered.ts";
import { text, toolCalls } from "../../support/model-behaviours.ts";
import type { Behaviour, ChatRequest } from "../../support/model-server.ts";
import { until } from "../../support/patience.ts";
import {
  askedBySubagents,
  assertBlank,
  isSubagents,
  lastWords,
  openSubagentWorld,
  results,
  rowsOf,
  scriptBoth,
  spawn,
  startWithSubagents,
  type SubagentWorld,
  type Task,
  untilClosed,
} from "../../support/subagents.ts";
import type { TestWeir } from "../../support/weir.ts";

const SECRET = "zxqpine";
const hangs: Behaviour = () => undefined;

/** A room in which somebody has said the secret and something else; then these are begun, and go on for ever. */
async function plant(
  { server, beside }: SubagentWorld,
  weir: TestWeir,
  tasks: readonly Task[],
  subagent: (request: ChatRequest) => Behaviour = () => hangs,
): Promise<void> {
  let isBegun = false;
  scriptBoth(server, subagent, () => {
    if (isBegun) return text("told");
    isBegun = true;
    return spawn(...tasks);
  });
  await weir.say("sunny again", { room: "safe", id: "weather", addressed: false });
  for (let number = 0; number < 12; number++)
    await weir.say(`boat ${number} has left`, { room: "safe", addressed: false });
  await weir.say(`the code of the safe is ${SECRET}`, { room: "safe", id: "secret", addressed: false });
  await indexAll(beside.store.search);
  await weir.say("please look into it", { room: "safe", id: "asked" });
  await weir.platform.until(() => weir.platform.texts("safe").length === 1);
  await until("call of each subagent", () => askedBySubagents(server).length >= tasks.length);
}

async function takeBack(weir: TestWeir, id: string, edited?: string): Promise<void> {
  const change = { platform: "test", id, at: new Date() };
  const event =
    edited === undefined
      ? ({ type: "deletion", ...change } as const)
      : ({ type: "edit", ...change, text: edited } as const);
  await weir.daemon.inbox.receive(event);
}

const SEARCH = toolCalls([{ name: "search_history", arguments: { query: "code safe" } }]);
const searching = (request: ChatRequest): Behaviour => (results(request).length === 0 ? SEARCH : hangs);

const CASES: Readonly<
  Record<string, { readonly task: Task; readonly subagent?: (request: ChatRequest) => Behaviour }>
> = {
  "was briefed with it": { task: { task: "guess what opens the door", context: "brief" } },
  "has found it": { task: "look for what opens the door", subagent: searching },
  "was told of it": { task: `try ${SECRET} at the door` },
};

for (const [what, { task, subagent }] of Object.entries(CASES)) {
  for (const edited of [undefined, "never mind"]) {
    test(`${edited === undefined ? "a deletion" : "an edit"} ends one that ${what}, in words, and leaves one that has not`, async () => {
      await using world = await openSubagentWorld();
      const { beside, server } = world;
      await using weir = await startWithSubagents(world.connection, server, "wait_ms = 0");
      await plant(world, weir, [task], subagent);
      await until(
        "beginning of the subagent",
        async () => subagent === undefined || (await rowsOf(beside, "safe"))[0]?.["begun"] === 1,
      );
      if (subagent !== undefined)
        await until("call of the second step", () => askedBySubagents(server).length === 2);
      const isBriefed = typeof task !== "string";
      if (!isBriefed) await takeBack(weir, "weather");
      if (!isBriefed)
        assert.equal((await rowsOf(beside, "safe"))[0]?.state, "running", "what it has not read");
      await takeBack(weir, "secret", edited);
      const closed = await untilClosed(beside, "safe");
      assertBlank(closed);
      assert.equal(closed[0]?.state, "void");
      await weir.platform.until(() => weir.platform.texts("safe").length === 2);
      const told = server.requests.map(({ body }) => body).findLast((body) => !isSubagents(body));
      assert.match(
        lastWords(told),
        /Subagent 1 was ended without a report: a message that it may have read was/,
      );
      assert.ok(!(await rowsWith(beside, SECRET)).includes("subagents"));
      if (edited === undefined) assert.ok(!lastWords(told).includes(SECRET));
    });
  }
}

test("a report that waits to be told goes with what it tells of", async () => {
  await using world = await openSubagentWorld();
  const { beside, server } = world;
  await using weir = await startWithSubagents(world.connection, server, "wait_ms = 0");
  const behave = (request: ChatRequest): Behaviour =>
    lastWords(request).includes("other") ? hangs : text(`It is ${SECRET}.`);
  await plant(world, weir, ["find out what opens it", "find out some other thing"], behave);
  await until("result", async () => (await rowsOf(beside, "safe"))[0]?.state === "done");
  assert.ok((await rowsWith(beside, SECRET)).includes("subagents"));
  await takeBack(weir, "secret");
  assert.deepEqual(await rowsWith(beside, SECRET), []);
  assert.equal(await command(weir, "safe", "agents stop 2"), "Subagent 2 is stopped.");
  await untilClosed(beside, "safe");
  await weir.platform.until(() => weir.platform.texts("safe").length === 2);
  assert.match(
    lastWords(server.requests.at(-1)?.body),
    /Subagent 1 was ended without a report[^]*Subagent 2 was stopped/,
  );
});

test("what comes back from a model after a deletion is not kept: the step is made again", async () => {
  await using world = await openSubagentWorld();
  const { beside, server } = world;
  await using weir = await startWithSubagents(world.connection, server, "wait_ms = 0");
  const first = Promise.withResolvers<Behaviour>();
  let asked = 0;
  const behave = (): Behaviour =>
    asked++ === 0 ? async (exchange) => (await first.promise)(exchange) : text("Nothing is known.");
  await plant(world, weir, ["find out what opens it"], behave);
  await takeBack(weir, "secret");
  assert.equal((await rowsOf(beside, "safe"))[0]?.state, "running", "it has read nothing of it");
  first.resolve(text(`It is ${SECRET}.`));
  await untilClosed(beside, "safe");
  await weir.platform.until(() => weir.platform.texts("safe").length === 2);
  assert.match(lastWords(server.requests.at(-1)?.body), /> Nothing is known\./);
  assert.deepEqual(await rowsWith(beside, SECRET), []);
});

test("a memory that was shown to one takes it along", async () => {
  await using world = await openSubagentWorld();
  const { beside, server } = world;
  await using weir = await startWithSubagents(world.connection, server, "wait_ms = 0");
  await plant(world, weir, ["one", "two"]);
  const ids = (await rowsOf(beside, "safe")).map((row) => Number(row["id"]));
  const [channel] = await beside.sql<{ id: number }>("select id from channels where name = 'safe'");
  const memory = {
    type: "fact",
    subject: "the safe",
    assertedBy: "Ann",
    at: new Date(),
    statement: `opens with ${SECRET}`,
    importance: 0.5,
    keywords: [],
    sources: [{ seq: 14, quote: SECRET }],
  };
  const [added] = await beside.sql<{ id: number }>(
    "select add_memory($1, null, $2) as id",
    channel?.id,
    JSON.stringify(memory),
  );
  await beside.sql("update subagents set memories = array[$1::bigint] where id = $2", added?.id, ids[0]);
  await beside.sql("select forget_memory($1, $2)", channel?.id, added?.id);
  assert.deepEqual(
    (await rowsOf(beside, "safe")).map(({ state }) => state),
    ["void", "running"],
  );
});

test("a channel that is deleted takes its subagents along, and nobody is told", async () => {
  await using world = await openSubagentWorld();
  const { beside, server } = world;
  await using weir = await startWithSubagents(world.connection, server, "wait_ms = 0");
  await plant(world, weir, ["count the boats"]);
  const channel = { platform: "test", name: "safe" };
  await weir.daemon.inbox.receive({
    type: "channel_deletion",
    platform: "test",
    channel,
    id: "safe",
    at: new Date(),
  });
  const closed = await untilClosed(beside, "safe");
  assertBlank(closed);
  assert.equal(closed[0]?.told, "nobody");
  assert.deepEqual(await beside.sql("select from entries where message_id like 'subagent/%'"), []);
});

/** A thread of the safe. */
async function openLoft({ store }: OpenStore): Promise<void> {
  await store.channels.open({
    address: { platform: "test", name: "loft" },
    kind: "thread",
    workspace: "w",
    agent: agentId("main"),
    place: { workspace: "w", channel: "loft", parent: { id: "safe", name: "safe" } },
  });
}

test("a thread's subagent that tells of its channel ends with what was said there", async () => {
  await using world = await openSubagentWorld();
  const { beside, server } = world;
  await using weir = await startWithSubagents(world.connection, server, "wait_ms = 0");
  await openLoft(beside);
  await plant(world, weir, ["one"]);
  scriptBoth(
    server,
    () => hangs,
    (request) => (results(request).length === 0 ? spawn(`try ${SECRET} at the door`) : text("begun")),
  );
  await weir.say("go on", { room: "loft", kind: "thread" });
  await until(
    "subagent that is told of later",
    async () => (await rowsOf(beside, "loft"))[0]?.told === "later",
  );
  scriptBoth(
    server,
    () => hangs,
    () => text("told"),
  );
  await takeBack(weir, "secret");
  assert.equal((await untilClosed(beside, "loft"))[0]?.state, "void");
  assert.equal((await rowsOf(beside, "safe"))[0]?.state, "running");
});

test("a thread's subagent ends at once with what was said in its channel, though that is not in memory", async () => {
  await using world = await openSubagentWorld();
  const { beside, server } = world;
  await using weir = await startWithSubagents(world.connection, server, "wait_ms = 0");
  await openLoft(beside);
  await weir.say(`the code of the safe is ${SECRET}`, { room: "safe", id: "secret", addressed: false });
  scriptBoth(
    server,
    () => hangs,
    (request) => (results(request).length === 0 ? spawn(`try ${SECRET} at the door`) : text("begun")),
  );
  await weir.say("go on", { room: "loft", kind: "thread" });
  await until("call of the subagent", () => askedBySubagents(server).length === 1);
  await until("its turn's end", async () => (await rowsOf(beside, "loft"))[0]?.told === "later");
  const safe = await beside.store.channels.find({ platform: "test", name: "safe" });
  assert.ok(safe !== undefined && weir.daemon.registry.loaded(safe.id) === undefined);
  scriptBoth(
    server,
    () => hangs,
    () => text("told"),
  );
  await takeBack(weir, "secret");
  assert.equal((await untilClosed(beside, "loft"))[0]?.state, "void");
});

test("one that has not heard of its end yet shows its model nothing of it again", async () => {
  await using world = await openSubagentWorld();
  await using weir = await startWithSubagents(world.connection, world.server, "wait_ms = 50");
  const { rows: subagents } = weir.daemon.features.serviceOf(SUBAGENTS);
  const answer = Promise.withResolvers<Behaviour>();
  const hears = Promise.withResolvers<void>();
  await plant(
    world,
    weir,
    [{ task: "guess what opens the door", context: "brief" }],
    () => async (exchange) => {
      await (
        await answer.promise
      )(exchange);
    },
  );
  // Whoever is to end it is slow.
  const settle = subagents.settle.bind(subagents);
  subagents.settle = async (...args) => {
    await hears.promise;
    return settle(...args);
  };
  const over = subagents.over.bind(subagents);
  const looked = Promise.withResolvers<void>();
  let looks = 0;
  subagents.over = async (...args) => {
    const ids = await over(...args);
    // The first look is of whoever ends it.
    if (++looks > 1) looked.resolve();
    return ids;
  };
  await takeBack(weir, "secret");
  answer.resolve(SEARCH);
  await looked.promise;
  hears.resolve();
  assert.match((await untilClosed(world.beside, "safe"))[0]?.state ?? "", /void/);
  assert.equal(askedBySubagents(world.server).length, 1);
});
