// proves: src/channel/call-bounds.ts, src/budget/call-counts.ts, src/turn/outcome.ts
// One message leads to so many model calls and no more, whoever makes them.
import assert from "node:assert/strict";
import { test } from "node:test";
import { resetMidStream, stalledStream, status, text, toolCalls } from "../../support/model-behaviours.ts";
import { openStore } from "../../store/open-store.ts";
import { until } from "../../support/patience.ts";
import { isSubagents, openSubagentWorld, spawn, startWithSubagents } from "../../support/subagents.ts";
import { TestPlatform } from "../../support/test-platform.ts";
import { openTogether, THREE } from "../../support/together.ts";
import { startWeir } from "../../support/weir.ts";

const SEARCH = toolCalls([{ name: "search_history", arguments: { query: "mill" } }], {
  text: "I look it up.",
});
const MOST = 5;

/** The sentence that ends an answer at its bound. */
function stoppedAfter(calls: number): RegExp {
  return new RegExp(
    `I stopped here: this answer had taken ${calls} calls of the model, the most that are allowed\\. Please ask again, in smaller steps\\.$`,
  );
}

test("a model that calls a tool for ever ends after so many calls, and the next message has its own", async () => {
  await using scene = await openTogether();
  scene.server.respond(() => SEARCH);
  await using weir = await startWeir({
    connection: scene.connection,
    modelUrl: scene.server.url,
    config: `[defaults]\nmax_calls_per_turn = 3\n[[agents]]\nid = "main"\nmodel = "main-model"\nmax_tool_iterations = 100\nmax_calls_per_turn = ${MOST}`,
    platform: new TestPlatform({ streaming: { intervalMs: 0 } }),
  });
  for (const round of [1, 2]) {
    await weir.say("look it up", { room: "room" });
    await weir.platform.until(() => weir.platform.texts("room").length === round);
    assert.equal(scene.server.requests.length, round * MOST);
    const said = weir.platform.texts("room").at(-1) ?? "";
    assert.match(said, stoppedAfter(MOST));
    assert.match(said, /^I look it up\./, "what was shown stays");
  }
  await using store = openStore(scene.connection);
  const [open] = await store.sql<{ calls: number; results: number }>(
    `select count(*) filter (where kind = 'tool_call')::integer as calls,
            count(*) filter (where kind = 'tool_result')::integer as results from entries`,
  );
  assert.deepEqual(open, { calls: 2 * MOST, results: 2 * MOST });
  const [turn] = await store.sql("select state, reason from turns limit 1");
  assert.deepEqual(turn, { state: "stopped", reason: `max_calls_per_turn: ${MOST} calls were made` });
});

test("attempts that fail count, those of fallbacks and of corrections too, and no further one is made", async () => {
  await using scene = await openTogether();
  const refusal = { error: { message: "Unsupported parameter: 'stream_options'", param: "stream_options" } };
  const config = (lines: string): string =>
    `[llm]\nmax_retries = 9\n[[agents]]\nid = "main"\nmodel = "main-model"\nfallbacks = ["a", "b"]\n${lines}`;
  await using weir = await startWeir({
    connection: scene.connection,
    modelUrl: scene.server.url,
    config: config("max_calls_per_turn = 3"),
    platform: new TestPlatform(),
  });
  let behaviours = [status(400, refusal), resetMidStream("half an answer"), resetMidStream("half an answer")];
  scene.server.respond(() => behaviours.shift() ?? resetMidStream("too much"));
  await weir.say("what is it?", { room: "half" });
  await weir.platform.until(() => weir.platform.texts("half").length === 1);
  assert.equal(scene.server.requests.length, 3);
  assert.match(weir.platform.texts("half")[0] ?? "", /^half an answer\n\nI stopped here: .* 3 calls /);
  behaviours = [status(401), status(401), status(401)];
  await weir.say("what is it?", { room: "refused" });
  await weir.platform.until(() => weir.platform.texts("refused").length === 1);
  assert.equal(scene.server.requests.length, 6);
  assert.match(weir.platform.texts("refused")[0] ?? "", /not set up correctly/);
});

test("subagents take from what their message has, and the answers to their reports do", async () => {
  await using world = await openSubagentWorld();
  const { connection, server, beside } = world;
  await using weir = await startWithSubagents(
    connection,
    server,
    "max_parallel = 8\nwait_ms = 1",
    "max_calls_per_turn = 20\nmax_tool_iterations = 50",
  );
  let tasks = 0;
  // The agent begins three more with each answer and each report, and each of them looks for ever.
  server.respond((request) => {
    if (isSubagents(request)) return SEARCH;
    const isTool = request.messages.at(-1)?.role === "tool";
    return isTool ? text("they are at work") : spawn(`task ${tasks++}`, `task ${tasks++}`, `task ${tasks++}`);
  });
  await weir.say("look at all of it", { room: "room" });
  await until("the end of all", async () => {
    const [left] = await beside.sql<{ open: number; running: number; due: number }>(
      `select (select count(*)::integer from subagents where closed_at is null) as open,
              (select count(*)::integer from turns where state = 'running') as running,
              (select count(*)::integer from entries e join channels c on c.id = e.channel_id where e.addressed and e.seq > c.settled_to) as due`,
    );
    // A report is no entry yet while its subagent is closed already.
    const isSaid = stoppedAfter(20).test(weir.platform.texts("room").at(-1) ?? "");
    return left !== undefined && left.open + left.running + left.due === 0 && isSaid;
  });
  assert.equal(server.requests.length, 20);
  const questions = await beside.sql<{ question: number | null }>(
    "select distinct question from turns where question is not null",
  );
  assert.equal(questions.length, 1, "all of them are of the first turn");
  server.respond(() => text("fine"));
  await weir.say("and now?", { room: "room" });
  await until("an answer", () => weir.platform.texts("room").at(-1) === "fine");
});

test("agents that hand over to each other share the calls of a message, also after a restart", async () => {
  await using scene = await openTogether();
  const config = THREE.replaceAll(
    "context_window",
    "max_calls_per_turn = 4\nmax_tool_iterations = 50\ncontext_window",
  );
  // Each looks once, and hands over.
  const handing = (to: string) => (request: { messages: readonly { role: string }[] }) =>
    request.messages.at(-1)?.role === "tool"
      ? toolCalls([{ name: "hand_off", arguments: { agent: to, message: "You." } }])
      : SEARCH;
  let restart: () => void = () => undefined;
  // Nothing comes of its first call: the daemon ends meanwhile.
  let researcherAnswers = stalledStream();
  scene.script({
    main: handing("researcher"),
    researcher: (request) => {
      if (request.messages.at(-1)?.role === "tool") return handing("coder")(request);
      restart();
      return researcherAnswers;
    },
    coder: handing("main"),
  });
  {
    await using weir = await scene.start({ config });
    const isAsked = new Promise<void>((resolve) => {
      restart = resolve;
    });
    await weir.say("who knows it?", { room: "room" });
    await isAsked;
  }
  restart = () => undefined;
  researcherAnswers = SEARCH;
  const before = scene.server.requests.length;
  await using weir = await scene.start({ config });
  await weir.platform.until(() =>
    weir.platform.texts("room").some((said) => said.includes("I stopped here")),
  );
  // What was in flight when the daemon ended is not known to the next one.
  assert.ok(before >= 3 && scene.server.requests.length <= 4 + 1, `${scene.server.requests.length} calls`);
  assert.match(weir.platform.texts("room").at(-1) ?? "", stoppedAfter(4));
});
