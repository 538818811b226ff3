// proves: src/channel/channel-context.ts, src/features/subagents/subagent-desk.ts, src/features/subagents/channel-subagents.ts, migrations/baseline/15_subagents.sql
// Whatever ends between the beginning of a subagent and the moment when its agent is told of it: it is told once, and no step is paid twice.
import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { TakeoverWatch } from "../../../src/ownership/takeover-watch.ts";
import { channelId } from "../../../src/core/ids.ts";
import { SubagentStore } from "../../../src/features/subagents/subagent-store.ts";
import { patched } from "../../fuzz/mutants/patched.ts";
import { type OpenStore, SILENT } from "../../store/open-store.ts";
import { command } from "../../support/commands.ts";
import { cutAfterFirstSettlement } from "../../support/cut-settlement.ts";
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
  type Task,
  untilClosed,
} from "../../support/subagents.ts";
import { startWeir } from "../../support/weir.ts";

const SEARCH = toolCalls([{ name: "search_history", arguments: { query: "boats" } }]);
const hangs: Behaviour = () => undefined;

/** Begins them until something is told of them. */
function agentThat(...tasks: readonly Task[]): (request: ChatRequest) => Behaviour {
  return (request) => {
    const words = lastWords(request);
    if (/is over|are over/.test(words)) return text("told");
    return results(request).length > 0 || words.includes("Subagents that you have begun")
      ? text("answered")
      : spawn(...tasks);
  };
}

/** What people were told of a room's subagents, over all daemons: its answers, and the messages of its log that tell of them. */
async function toldIn(beside: OpenStore, room: string): Promise<{ answers: string[]; due: number }> {
  const rows = await beside.sql<{ kind: string; text: string }>(
    `select e.kind, e.text from entries e join channels c on c.id = e.channel_id
      where c.name = $1 and (e.kind = 'assistant' or e.message_id like 'subagent/%') order by e.seq`,
    room,
  );
  return {
    answers: rows.filter(({ kind }) => kind === "assistant").map((row) => row.text),
    due: rows.filter(({ kind }) => kind === "user").length,
  };
}

test("a daemon that ends while a turn waits leaves it to the next, which goes on with its steps", async () => {
  await using world = await openSubagentWorld();
  const { connection, beside, server } = world;
  const room = "quay";
  let isHeld = true;
  scriptBoth(
    server,
    (request) => (results(request).length === 0 ? SEARCH : isHeld ? hangs : text("Four.")),
    (request) => (results(request).length === 0 ? spawn("count the boats") : text("answered")),
  );
  {
    await using first = await startWithSubagents(connection, server);
    await first.say("how many boats?", { room });
    await until(
      "second step",
      async () => (await rowsOf(beside, room))[0]?.["begun"] === 1 && askedBySubagents(server).length === 2,
    );
    // The other daemon takes the channel, as after a crash.
    isHeld = false;
    await using second = await startWithSubagents(connection, server);
    await until("answer", async () => (await toldIn(beside, room)).answers.length > 0);
    await untilClosed(beside, room);
    await second.platform.until(() => second.platform.texts(room).length === 1);
    assert.equal(first.platform.texts(room).length, 0);
  }
  const asked = askedBySubagents(server);
  assert.equal(asked.filter((request) => results(request).length === 0).length, 1, "the first step once");
  assert.equal((await rowsOf(beside, room)).length, 1, "the turn that ran again found it");
  assert.deepEqual(await toldIn(beside, room), { answers: ["answered"], due: 0 });
});

test("one whose turn is settled by a commit that nobody heard of is closed", async () => {
  await using world = await openSubagentWorld();
  const { connection, beside, server } = world;
  scriptBoth(server, () => text("Four."), agentThat("count the boats"));
  await using weir = await startWithSubagents(connection, server);
  void cutAfterFirstSettlement(weir);
  await weir.say("how many boats?", { room: "unheard" });
  await until("answer", async () => (await toldIn(beside, "unheard")).answers.length > 0);
  assert.equal((await untilClosed(beside, "unheard")).length, 1);
  assert.deepEqual(await toldIn(beside, "unheard"), { answers: ["answered"], due: 0 });
});

test("one that goes on behind its turn outlives a drain, and is told of by the next daemon", async () => {
  await using world = await openSubagentWorld();
  const { connection, beside, server } = world;
  const room = "pier";
  let isHeld = true;
  scriptBoth(
    server,
    (request) => (results(request).length === 0 ? SEARCH : isHeld ? hangs : text("Four.")),
    agentThat("count the boats"),
  );
  {
    await using first = await startWithSubagents(connection, server, "wait_ms = 0");
    await first.say("how many boats?", { room });
    await until(
      "answer and second step",
      async () => (await toldIn(beside, room)).answers.length === 1 && askedBySubagents(server).length === 2,
    );
  }
  assert.deepEqual(
    (await rowsOf(beside, room)).map(({ state }) => state),
    ["running"],
  );
  isHeld = false;
  await using second = await startWithSubagents(connection, server, "wait_ms = 0");
  await second.platform.until(() => second.platform.texts(room).length === 1);
  assertBlank(await untilClosed(beside, room));
  assert.deepEqual(await toldIn(beside, room), { answers: ["answered", "told"], due: 1 });
  assert.equal(askedBySubagents(server).filter((request) => results(request).length === 0).length, 1);
});

test("a daemon that has lost a channel leaves it to the other as long as a subagent gets on there, and no longer", async () => {
  await using world = await openSubagentWorld();
  const { connection, beside, server } = world;
  const room = "weir";
  const steps = Array.from({ length: 5 }, () => Promise.withResolvers<Behaviour>());
  scriptBoth(
    server,
    (request) => async (exchange) => (await steps[results(request).length]?.promise)?.(exchange),
    agentThat("count the boats"),
  );
  await using first = await startWithSubagents(connection, server, "wait_ms = 0");
  await first.say("how many boats?", { room });
  await until("answer", async () => (await toldIn(beside, room)).answers.length === 1);
  await until("beginning", async () => (await rowsOf(beside, room))[0]?.["begun"] === 1);
  // The other daemon takes the channel, as after a start beside.
  await using _second = await startWithSubagents(connection, server, "wait_ms = 0");
  await until("second beginning", async () => (await rowsOf(beside, room))[0]?.["begun"] === 2);
  const done = async (): Promise<number> => {
    const all = (await rowsOf(beside, room))[0]?.["steps"];
    return Array.isArray(all) ? all.length : 0;
  };
  const taken: number[] = [];
  const seen: (string | null)[] = [];
  let looks = 0;
  const watch = new TakeoverWatch({
    async unfinished(id) {
      looks++;
      // One step between two looks, three times; then it hangs.
      if (looks > 1 && looks <= 4) {
        steps[looks - 2]?.resolve(SEARCH);
        await until("further step", async () => (await done()) === looks - 1);
      }
      const unfinished = await first.daemon.store.channels.unfinished(id);
      seen.push(unfinished?.told ?? null);
      return unfinished;
    },
    take: async () => void taken.push(looks),
    log: SILENT,
    stillMs: 5,
  });
  const [channel] = await beside.sql<{ id: number }>("select id from channels where name = $1", room);
  watch.add(channelId(channel?.id ?? 0));
  await until("take", () => taken.length > 0);
  watch.close();
  // What else goes on after the last step (a delivery that is repeated) may put it off by a look.
  assert.ok((taken[0] ?? 0) >= 5, `taken at look ${taken.join()}:\n${seen.join("\n")}`);
  assert.equal(seen.at(-1), seen.at(-2));
});

test("one that is begun when earlier ones have just been told of is worked on once", async () => {
  await using world = await openSubagentWorld();
  const { connection, beside, server } = world;
  const room = "strait";
  const [boats, oar] = [Promise.withResolvers<Behaviour>(), Promise.withResolvers<Behaviour>()];
  scriptBoth(
    server,
    (_, task) => async (exchange) => (await (task.includes("count") ? boats : oar).promise)(exchange),
    (request) => {
      const asked =
        lastWords(request)
          .match(/how many boats|hello|where is the oar|is over/g)
          ?.at(-1) ?? "";
      if (asked === "is over") return text("told");
      if (results(request).length > 0 || asked === "hello") return text("answered");
      return spawn(asked.includes("boats") ? "count the boats" : "look for the oar");
    },
  );
  let isHolding = false;
  const held: (() => void)[] = [];
  using stack = new DisposableStack();
  stack.defer(
    patched(
      SubagentStore.prototype,
      "settle",
      (settle) =>
        async function slowSettle(this: SubagentStore, owner) {
          if (isHolding) await new Promise<void>((resolve) => void held.push(resolve));
          return settle.call(this, owner);
        },
    ),
  );
  await using weir = await startWithSubagents(connection, server, "wait_ms = 50");
  const texts = async (count: number): Promise<void> =>
    weir.platform.until(() => weir.platform.texts(room).length === count);
  await weir.say("how many boats?", { room });
  await texts(1);

  // It has ended, and so has a turn: both want to have that settled, one after the other.
  isHolding = true;
  boats.resolve(text("Four."));
  await until("first look", async () => held.length === 1);
  for (const count of [2, 3]) {
    await weir.say("hello", { room });
    await texts(count);
  }
  held[0]?.();
  await texts(4);
  await until("second look", async () => held.length === 2);
  await weir.say("where is the oar?", { room });
  // Where the second look is waited for, it is not begun yet.
  const isBegun = until("its row", async () => (await rowsOf(beside, room)).length === 2);
  await Promise.race([isBegun, delay(500)]);
  isHolding = false;
  for (const release of held) release();
  await texts(5);
  oar.resolve(text("In the shed."));
  await texts(6);
  await untilClosed(beside, room);
  assert.deepEqual(weir.platform.texts(room), [
    "answered",
    "answered",
    "answered",
    "told",
    "answered",
    "told",
  ]);
  assert.equal(askedBySubagents(server).length, 2);
});

test("a step shows in what is unfinished, however little time it took", async () => {
  await using world = await openSubagentWorld();
  const { connection, beside, server } = world;
  const room = "mole";
  scriptBoth(server, () => hangs, agentThat("count the boats"));
  await using weir = await startWithSubagents(connection, server, "wait_ms = 0");
  await weir.say("how many boats?", { room });
  await until("answer", async () => (await toldIn(beside, room)).answers.length === 1);
  await until("beginning", async () => (await rowsOf(beside, room))[0]?.["begun"] === 1);
  // As after a crash: what a step does to this number must not make up for the time that it took.
  const [row] = await beside.sql<{ id: number; channelId: number; epoch: number }>(
    "update subagents set begun = 2 returning id, channel_id, epoch",
  );
  assert.ok(row !== undefined);
  const { channels } = beside.store;
  const subagents = new SubagentStore(beside.db);
  const owner = { channel: channelId(row.channelId), epoch: row.epoch };
  const before = (await channels.unfinished(owner.channel))?.told;
  const { takenBack } = await subagents.look(owner.channel);
  const change = { step: { text: "", calls: [], results: [] }, spentMs: 1 };
  assert.equal(await subagents.save(owner, row.id, { change, takenBack, end: null }), "saved");
  assert.notEqual((await channels.unfinished(owner.channel))?.told, before);
});

test("a shutdown does not wait for what a turn waits for: the turn says that it goes on", async () => {
  await using world = await openSubagentWorld();
  const { connection, beside, server } = world;
  const room = "lock";
  scriptBoth(server, () => hangs, agentThat("count the boats"));
  {
    await using first = await startWithSubagents(connection, server, "wait_ms = 3600000");
    await first.say("how many boats?", { room });
    await until("call of the subagent", () => askedBySubagents(server).length === 1);
  }
  assert.deepEqual(
    (await rowsOf(beside, room)).map(({ state, told }) => [state, told]),
    [["running", "later"]],
  );
  assert.deepEqual(await toldIn(beside, room), { answers: ["answered"], due: 0 });
});

test("however often its daemons are stopped in peace before its first step, it goes on; what that has cost is counted", async () => {
  await using world = await openSubagentWorld();
  const { connection, beside, server } = world;
  const room = "sluice";
  let isHeld = true;
  scriptBoth(server, () => (isHeld ? hangs : text("Four.")), agentThat("count the boats"));
  let spent = -1;
  for (let round = 1; round <= 5; round++) {
    await using weir = await startWithSubagents(connection, server, "wait_ms = 0");
    if (round === 1) await weir.say("how many boats?", { room });
    await until("answer", async () => (await toldIn(beside, room)).answers.length === 1);
    await until("call in this round", () => askedBySubagents(server).length === round);
    const [row] = await rowsOf(beside, room);
    assert.deepEqual([row?.state, row?.["begun"]], ["running", 1]);
    const before = spent;
    spent = Number(row?.["spentMs"]);
    assert.ok(spent > before, `${spent} > ${before}`);
  }
  isHeld = false;
  await using _ = await startWithSubagents(connection, server, "wait_ms = 0");
  assertBlank(await untilClosed(beside, room));
  await until("second answer", async () => (await toldIn(beside, room)).answers.length === 2);
  assert.match(lastWords(server.requests.at(-1)?.body), /> Four\./);
});

/** Ends in between, as statements of the same words would stand after a crash there. */
const CUTS: Readonly<
  Record<string, { readonly sql: string; readonly due: number; readonly answers: string[] }>
> = {
  "ended, and nobody was told": {
    sql: "update subagents set state = 'done', result = 'Four.', ended_at = now(), told = 'later' where channel_id = $1",
    due: 1,
    answers: ["answered", "told"],
  },
  "its call was told, and the result is not in the log": {
    sql: "update subagents set state = 'done', result = 'Four.', ended_at = now(), told = 'call', call_id = 'lost' where channel_id = $1",
    due: 1,
    answers: ["answered", "told"],
  },
  "it is to be told by a message, which is not in the log": {
    sql: "update subagents set state = 'done', result = 'Four.', ended_at = now(), told = 'entry', told_with = 1 where channel_id = $1",
    due: 1,
    answers: ["answered", "told"],
  },
  "its turn was stopped": {
    sql: `with t as (update turns set state = 'stopped' where channel_id = $1 returning id)
          update subagents set told = null where channel_id = $1 and exists (select from t)`,
    due: 0,
    answers: ["answered"],
  },
  "it was begun three times": {
    sql: "update subagents set begun = 3 where channel_id = $1",
    due: 1,
    answers: ["answered", "told"],
  },
};

for (const [where, { sql, due, answers }] of Object.entries(CUTS)) {
  test(`a crash after which ${where} is made good once`, async () => {
    await using world = await openSubagentWorld();
    const { connection, beside, server } = world;
    const room = where.replaceAll(/\W+/g, "-");
    scriptBoth(server, () => hangs, agentThat("count the boats"));
    {
      await using first = await startWithSubagents(connection, server, "wait_ms = 0");
      await first.say("how many boats?", { room });
      await until(
        "answer and call of the subagent",
        async () =>
          (await toldIn(beside, room)).answers.length === 1 && askedBySubagents(server).length === 1,
      );
    }
    const [channel] = await beside.sql<{ id: number }>("select id from channels where name = $1", room);
    await beside.sql(sql, channel?.id);
    for (let round = 0; round < 2; round++) {
      await using weir = await startWithSubagents(connection, server, "wait_ms = 0");
      assertBlank(await untilClosed(beside, room));
      await until(
        "answers of before",
        async () => (await toldIn(beside, room)).answers.length === answers.length,
      );
      await weir.daemon.registry.compactionsIdle();
    }
    assert.deepEqual(await toldIn(beside, room), { answers, due });
    const told = server.requests.map(({ body }) => body).findLast((body) => !isSubagents(body));
    if (where.includes("three times"))
      assert.match(lastWords(told), /It was begun 3 times, and ended each time/);
    else if (due > 0) assert.match(lastWords(told), /> Four\./);
  });
}

for (const [what, change, why] of [
  ["the persona", "wait_ms = 0", /there is no persona "counter" any more/],
  [
    "the model",
    'wait_ms = 0\npersonas = { counter = "You count." }',
    /there is no model "other-model" here any more/,
  ],
] as const) {
  test(`${what} that is gone from the configuration ends it in words`, async () => {
    await using world = await openSubagentWorld();
    const { connection, beside, server } = world;
    const room = what.replaceAll(" ", "-");
    const task = { task: "count the boats", persona: "counter", model: "other-model" };
    scriptBoth(server, () => hangs, agentThat(task));
    {
      const personas = 'personas = { counter = "You count." }\nwait_ms = 0';
      await using first = await startWithSubagents(
        connection,
        server,
        personas,
        'fallbacks = ["other-model"]',
      );
      await first.say("how many boats?", { room });
      await until("answer", async () => (await toldIn(beside, room)).answers.length === 1);
    }
    const fallbacks = what === "the model" ? "" : 'fallbacks = ["other-model"]';
    await using second = await startWithSubagents(connection, server, change, fallbacks);
    await second.platform.until(() => second.platform.texts(room).length === 1);
    assert.match(lastWords(server.requests.at(-1)?.body), why);
    assert.deepEqual(await toldIn(beside, room), { answers: ["answered", "told"], due: 1 });
  });
}

test("an agent that may have none any more is told so, and needs no tool for that", async () => {
  await using world = await openSubagentWorld();
  const { connection, beside, server } = world;
  const room = "off";
  scriptBoth(server, () => hangs, agentThat("count the boats"));
  {
    await using first = await startWithSubagents(connection, server, "wait_ms = 0");
    await first.say("how many boats?", { room });
    await until("answer", async () => (await toldIn(beside, room)).answers.length === 1);
  }
  await using second = await startWeir({
    connection,
    modelUrl: server.url,
    config: '[[agents]]\nid = "main"\nmodel = "test-model"\n',
  });
  await second.platform.until(() => second.platform.texts(room).length === 1);
  assert.match(lastWords(server.requests.at(-1)?.body), /there are no subagents here any more/);
});

test("a compaction covers the call while it is at work, and the prompt goes on naming it", async () => {
  await using world = await openSubagentWorld();
  const { connection, beside, server } = world;
  const room = "attic";
  const gate = Promise.withResolvers<Behaviour>();
  let isBegun = false;
  scriptBoth(
    server,
    () => async (exchange) => (await gate.promise)(exchange),
    (request) => {
      if (lastWords(request).includes("lines of the transcript") || request.tools === undefined)
        return text("They asked for the boats to be counted, and talked of the river for long.");
      if (/is over/.test(lastWords(request))) return text("told");
      if (isBegun) return text("answered");
      isBegun = true;
      return spawn("count the boats");
    },
  );
  await using weir = await startWithSubagents(connection, server, "wait_ms = 0", "context_window = 16384");
  for (let turn = 0; turn < 10; turn++) {
    const told = weir.platform.texts(room).length;
    await weir.say(`go on: ${"the river was high by the bridge in the night. ".repeat(20)}`, { room });
    await weir.platform.until(() => weir.platform.texts(room).length > told);
  }
  await command(weir, room, "compact");
  await until(
    "summary",
    async () =>
      (
        await beside.sql(
          "select from summaries s join channels c on c.id = s.channel_id where c.name = $1 and s.live",
          room,
        )
      ).length > 0,
  );
  const before = weir.platform.texts(room).length;
  await weir.say("well?", { room });
  await weir.platform.until(() => weir.platform.texts(room).length > before);
  const words = lastWords(
    server.requests
      .map(({ body }) => body)
      .findLast((body) => body.tools !== undefined && !isSubagents(body)),
  );
  assert.match(words, /> Subagent 1, at work since [^\n]*: count the boats/);
  assert.ok(!words.includes('{"task":"count the boats"}'));
  gate.resolve(text("Four."));
  await weir.platform.until(() => weir.platform.texts(room).at(-1) === "told");
  assert.equal((await rowsOf(beside, room)).length, 1);
});

test("one that begins while the rows of those at work are read goes on", async () => {
  await using world = await openSubagentWorld();
  const { connection, server } = world;
  const room = "lee";
  const [isRead, isAsked] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  let begun = 0;
  using stack = new DisposableStack();
  stack.defer(
    patched(
      SubagentStore.prototype,
      "begin",
      (begin) =>
        async function slowBegin(this: SubagentStore, ...how) {
          if (begun === 1) await isRead.promise;
          const row = await begin.apply(this, how);
          begun += 1;
          return row;
        },
    ),
  );
  stack.defer(
    patched(
      SubagentStore.prototype,
      "settle",
      (settle) =>
        async function slowSettle(this: SubagentStore, owner) {
          const rows = await settle.call(this, owner);
          if (begun === 1) {
            isRead.resolve();
            await isAsked.promise;
          }
          return rows;
        },
    ),
  );
  scriptBoth(
    server,
    (_, task) => {
      if (!task.includes("crews")) return text("Four.");
      isAsked.resolve();
      return text("Twelve.", { firstDelayMs: 100 });
    },
    agentThat("count the boats", "count the crews"),
  );
  await using weir = await startWithSubagents(connection, server, "wait_ms = 600000");
  await weir.say("how many boats, and crews?", { room });
  await weir.platform.until(() => weir.platform.texts(room).length === 1);
  const told = results(server.requests.map(({ body }) => body).findLast((body) => !isSubagents(body)));
  assert.match(told[0] ?? "", /has reported[^]*\n> Four\.$/);
  assert.match(told[1] ?? "", /has reported[^]*\n> Twelve\.$/);
});
