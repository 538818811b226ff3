// proves: migrations/baseline/02_turns.sql, src/store/turns/turns.ts
// Connections that are cut, and daemons that die, between a hand-off and its answer: it is there once, and answered once.
import assert from "node:assert/strict";
import { test } from "node:test";
import { agentId } from "../../../src/core/ids.ts";
import { openStore } from "../../store/open-store.ts";
import { checkFold, hold } from "../../support/compaction.ts";
import { cutStatements } from "../../support/cut-statements.ts";
import { text } from "../../support/model-behaviours.ts";
import { handsOver, openTogether, shownIn, THREE } from "../../support/together.ts";

const COUNTS = `select (select count(*) from entries where data ? 'chain')::integer as handed,
  (select count(*) from entries where kind = 'assistant')::integer as answers,
  (select count(*) from turns where state <> 'running')::integer as turns`;

for (const [statement, table] of [
  ["settle_handing_over", "channels"],
  ["settle_turn", "turns"],
] as const) {
  test(`a connection that is cut at ${statement}: one hand-off, one answer`, async () => {
    await using scene = await openTogether();
    await using store = openStore(scene.connection);
    await using weir = await scene.start();
    const held = hold();
    const isFirst = statement === "settle_handing_over";
    const own = handsOver("res", "About the lake.");
    const second = statement === "settle_turn";
    scene.script({
      main: (request) => (second ? own(request) : held.behaviour),
      researcher: () => (second ? held.behaviour : text("I am researcher.")),
    });
    await weir.say("about the lake?");
    await scene.server.received(second ? 2 : 1);
    const cut = await cutStatements(store, statement, 1, table);
    const [model] = scene.server.requests;
    assert.ok(model !== undefined);
    held.release(second ? text("I am researcher.") : own(model.body));
    await cut.done;
    await weir.platform.until(() => weir.platform.texts().length === 1);
    await checkFold(weir, "room");
    assert.deepEqual(weir.platform.texts(), ["**Researcher:** I am researcher."]);
    assert.deepEqual(await store.sql(COUNTS), [{ handed: 1, answers: 1, turns: 2 }]);
    assert.ok(isFirst || scene.requests("main").length === 1);
  });
}

test("a commit whose answer never came: the hand-off is there, and is not made again", async () => {
  await using scene = await openTogether();
  await using store = openStore(scene.connection);
  scene.script({ main: handsOver("res", "About the lake.", "I was asked again.") });
  await using weir = await scene.start();
  const settle = weir.daemon.store.turns.settle.bind(weir.daemon.store.turns);
  let cuts = 0;
  weir.daemon.store.turns.settle = async (...args) => {
    const settled = await settle(...args);
    if (cuts++ === 0) throw new Error("the connection was cut behind the commit");
    return settled;
  };
  await weir.say("about the lake?");
  await weir.platform.until(() => weir.platform.texts().length === 1);
  await checkFold(weir, "room");
  assert.deepEqual(weir.platform.texts(), ["**Researcher:** I am researcher."]);
  assert.deepEqual(await store.sql(COUNTS), [{ handed: 1, answers: 1, turns: 2 }]);
  assert.equal(scene.requests("main").length, 1);
});

test("two daemons one after the other: the second takes up what was handed over and not begun", async () => {
  await using scene = await openTogether();
  await using store = openStore(scene.connection);
  const held = hold();
  scene.script({ main: handsOver("res", "About the lake."), researcher: () => held.behaviour });
  await using first = await scene.start();
  await first.say("about the lake?");
  await scene.server.received(2);
  scene.script({});
  await using second = await scene.start();
  await second.platform.until(() => second.platform.texts().length === 1);
  held.release(text("too late"));
  await second.say("and now?");
  await second.platform.until(() => second.platform.texts().length === 2);
  assert.deepEqual(first.platform.texts(), []);
  assert.deepEqual(second.platform.texts(), ["**Researcher:** I am researcher.", "I am main."]);
  assert.deepEqual(await store.sql(COUNTS), [{ handed: 1, answers: 2, turns: 3 }]);
  assert.match(shownIn(scene.requests("main").at(-1)), /Researcher: I am researcher\./);
});

/** The three with one of them under another id, and another one first. */
function renamed(id: string, to: string): string {
  const [, main = "", researcher = "", coder = ""] = THREE.replace(`id = "${id}"`, `id = "${to}"`).split(
    "[[agents]]",
  );
  return [researcher, main, coder].map((one) => `[[agents]]${one}`).join("");
}

for (const [who, id, also, expected] of [
  [
    "the one it was handed to",
    "researcher",
    ["scholar", "coder"],
    "I am main.\n\n(researcher does not answer here any more: I have answered instead.)",
  ],
  ["the one that has handed over", "main", ["researcher", "coder"], "**Researcher:** I am researcher."],
] as const) {
  test(`${who} has another id by the time the hand-off is taken up: it is answered once, in a plain way`, async () => {
    await using scene = await openTogether();
    await using store = openStore(scene.connection);
    const held = hold();
    scene.script({ main: handsOver("res", "About the lake."), researcher: () => held.behaviour });
    {
      await using first = await scene.start();
      await first.say("about the lake?");
      await scene.server.received(2);
    }
    held.release(text("too late"));
    scene.script({});
    const now = id === "main" ? "boss" : "scholar";
    const binding = { agent: agentId(id === "main" ? now : "main"), also: also.map(agentId) };
    await using second = await scene.start({ config: renamed(id, now), binding });
    await second.platform.until(() => second.platform.texts().length === 1);
    await checkFold(second, "room");
    assert.deepEqual(second.platform.texts(), [expected]);
    assert.deepEqual(await store.sql(COUNTS), [{ handed: 1, answers: 1, turns: 2 }]);
    // The channel goes on with its own agent.
    await second.say("and now?");
    await second.platform.until(() => second.platform.texts().length === 2);
    assert.equal(second.platform.texts().at(-1), "I am main.");
  });
}
