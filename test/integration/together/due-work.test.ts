// proves: src/channel/due-work.ts, src/channel/guests.ts, src/features/subagents/channel-subagents.ts, src/features/questions/question-desk.ts
// What an agent has begun in a channel that is another's comes due for that agent, and for the channel's own where it is gone.
import assert from "node:assert/strict";
import { test } from "node:test";
import { agentId } from "../../../src/core/ids.ts";
import type { Asker } from "../../../src/platforms/platform.ts";
import { openStore } from "../../store/open-store.ts";
import { BEN, command } from "../../support/commands.ts";
import { checkFold, hold } from "../../support/compaction.ts";
import { text, toolCalls } from "../../support/model-behaviours.ts";
import type { Behaviour, ChatRequest } from "../../support/model-server.ts";
import { until } from "../../support/patience.ts";
import { isSubagents, lastWords, results, rowsOf, spawn, taskOf } from "../../support/subagents.ts";
import { openTogether, shownIn, THREE, told } from "../../support/together.ts";

/** All agents, each with these options behind its own. */
function each(options: string): string {
  return THREE.split("[[agents]]")
    .map((part, index) => (index === 0 ? part : `[[agents]]${part}${options}\n`))
    .join("");
}

const SUBAGENTS = each("[agents.subagents]\nenabled = true\nwait_ms = 0");
const SEARCHES = each('[agents.approvals]\ntools = { search_history = "always" }');
const GONE = /\(Researcher does not answer here any more: I have answered instead\.\)/;

/** Begins a subagent for what it was asked; says the report on. */
function delegating(task: string): (request: ChatRequest) => Behaviour {
  return (request) => {
    const report = [...lastWords(request).matchAll(/> (Report of .*)$/gm)].at(-1)?.[1];
    if (report !== undefined) return text(`told: ${report}`);
    const isBegun = results(request).length > 0 || /Subagent \d, at work since/.test(lastWords(request));
    return isBegun ? text("begun") : spawn(task);
  };
}

/** Looks something up once; says what it was told. */
function looking(request: ChatRequest): Behaviour {
  const last = request.messages.at(-1);
  if (last?.role === "tool") return text(`told: ${last.content}`);
  return /look up/.test(lastWords(request)) && !/approval #/.test(lastWords(request))
    ? toolCalls([{ name: "search_history", arguments: { query: "milk" } }])
    : text("fine");
}

test("each agent's subagents work for it side by side, and it alone is told of them, also by the next daemon", async () => {
  await using scene = await openTogether();
  await using beside = openStore(scene.connection);
  const held = hold();
  const agents = { main: delegating("task of main"), researcher: delegating("task of res") };
  const script = (subagent: (request: ChatRequest) => Behaviour): void =>
    scene.script({
      main: (request) => (isSubagents(request) ? subagent(request) : agents.main(request)),
      researcher: (request) => (isSubagents(request) ? subagent(request) : agents.researcher(request)),
    });
  script(() => held.behaviour);
  {
    await using weir = await scene.start({ config: SUBAGENTS });
    // The guest is first: what it begins must not make the channel's subagents its own.
    assert.deepEqual(await told(weir, "@res please"), ["**Researcher:** begun"]);
    assert.deepEqual(await told(weir, "and you, please"), ["begun"]);
    const named = (who: "main" | "researcher"): number[] =>
      [
        ...shownIn(scene.requests(who).findLast((one) => !isSubagents(one))).matchAll(
          /Subagent (\d), at work since/g,
        ),
      ].map(([, number]) => Number(number));
    await told(weir, "@res and?");
    await told(weir, "and you?");
    assert.deepEqual([named("main"), named("researcher")], [[2], [1]]);
    await until("beginning of each subagent", async () =>
      (await rowsOf(beside, "room")).every((row) => row["begun"] === 1),
    );
    assert.deepEqual(
      scene.server.requests.flatMap(({ body }) =>
        isSubagents(body) ? [`${body.model}: ${taskOf(body).split("\n").at(-1)}`] : [],
      ),
      ["researcher-model: task of res", "main-model: task of main"],
    );
  }
  script((request) => text(`Report of the ${taskOf(request).split("\n").at(-1)}`));
  held.release(text("never heard"));
  await using weir = await scene.start({ config: SUBAGENTS });
  await weir.platform.until(() => weir.platform.texts().length === 2);
  assert.deepEqual(weir.platform.texts().toSorted(), [
    "**Researcher:** told: Report of the task of res",
    "told: Report of the task of main",
  ]);
  await checkFold(weir, "room");
});

for (const [when, isDone] of [
  ["while it is at work", false],
  ["before its report is told", true],
] as const) {
  test(`an agent that goes ${when} leaves its subagent to the channel's own, which says so`, async () => {
    await using scene = await openTogether();
    await using beside = openStore(scene.connection);
    const held = hold();
    scene.script({
      main: delegating("unused"),
      researcher: (request) => (isSubagents(request) ? held.behaviour : delegating("task of res")(request)),
    });
    {
      await using weir = await scene.start({ config: SUBAGENTS });
      await told(weir, "@res please");
    }
    held.release(text("never heard"));
    if (isDone)
      await beside.sql(
        "update subagents set state = 'done', result = 'Report of res', ended_at = now(), told = 'later'",
      );
    else
      scene.script({
        main: (request) => text(/The configuration[^\n]*/.exec(lastWords(request))?.[0] ?? "?"),
      });
    await using weir = await scene.start({ config: SUBAGENTS, also: ["coder"] });
    await weir.platform.until(() => weir.platform.texts().length === 1);
    const [answer = ""] = weir.platform.texts();
    assert.match(answer, GONE);
    assert.match(
      answer,
      isDone
        ? /^told: Report of res/
        : /^The configuration has changed: the agent that had begun it, Researcher, does not answer here any more\./,
    );
    await checkFold(weir, "room");
  });
}

test("what a guest asked for runs as the guest's once it is allowed, and the guest is told", async () => {
  await using scene = await openTogether();
  scene.script({ main: looking, researcher: looking });
  await using weir = await scene.start({ config: SEARCHES });
  const asked = await told(weir, "@res look up milk", { more: 2 });
  assert.ok(
    asked.some((one) => one.startsWith("#1: Researcher asks for an approval")),
    asked.join("\n"),
  );
  const before = weir.platform.texts().length;
  assert.equal(
    await command(weir, "room", "approve 1 always", BEN),
    "Allowed: #1, and this tool with exactly these arguments from now on. /approvals lists what is.",
  );
  await weir.platform.until(() => weir.platform.texts().length > before);
  assert.match(weir.platform.texts().at(-1) ?? "", /^\*\*Researcher:\*\* told: (?!This was not run)/);
  assert.equal(scene.requests("main").length, 0);
  await checkFold(weir, "room");
});

for (const [what, typed, answer] of [
  ["allowed", "approve 1", /^told: This was not run: another agent had asked for it/],
  ["denied", "deny 1 no", /^fine/],
] as const) {
  test(`a call that is ${what} when its agent is gone is told of by the channel's own, and does not run`, async () => {
    await using scene = await openTogether();
    scene.script({ main: looking, researcher: looking });
    {
      await using weir = await scene.start({ config: SEARCHES });
      await told(weir, "@res look up milk", { more: 2 });
    }
    await using weir = await scene.start({ config: SEARCHES, also: ["coder"] });
    await command(weir, "room", typed, BEN);
    await weir.platform.until(() => weir.platform.texts().some((one) => GONE.test(one)));
    assert.match(weir.platform.texts().find((one) => GONE.test(one)) ?? "", answer);
    await checkFold(weir, "room");
  });
}

test("a guest that has become the channel's own agent gets its decision, and nobody is said to be gone", async () => {
  await using scene = await openTogether();
  scene.script({ main: looking, researcher: looking });
  {
    await using weir = await scene.start({ config: SEARCHES });
    await told(weir, "@res look up milk", { more: 2 });
    await told(weir, "look up milk", { more: 2 });
  }
  const binding = { agent: agentId("researcher"), also: [agentId("main")] };
  await using weir = await scene.start({ config: SEARCHES, binding });
  // The channel follows its binding with the first message.
  await told(weir, "hello");
  for (const id of [1, 2]) {
    const before = weir.platform.texts().length;
    await command(weir, "room", `approve ${id}`, BEN);
    await weir.platform.until(() =>
      weir.platform
        .texts()
        .slice(before)
        .some((one) => one.includes("told: ")),
    );
  }
  const answers = weir.platform.texts().filter((one) => one.includes("told: "));
  assert.equal(answers.length, 2);
  assert.match(answers[0] ?? "", /^told: (?!This was not run)/);
  assert.match(answers[1] ?? "", /^\*\*Weir:\*\* told: (?!This was not run)/);
  assert.ok(!answers.some((one) => one.includes("does not answer here")), answers.join("\n"));
});

test("a guest's calls are for its own approvers", async () => {
  await using scene = await openTogether();
  scene.script({ main: looking, researcher: looking });
  const approvers = (who: string): string => `approvers = ["discord:${who}"]`;
  const config = SEARCHES.split("[agents.approvals]\n")
    .map((part, index) =>
      index === 0 ? part : `${approvers(["1001", "1002", "1003"][index - 1] ?? "")}\n${part}`,
    )
    .join("[agents.approvals]\n");
  await using weir = await scene.start({ config });
  const channel = { platform: "discord", name: "room" };
  await weir.say("@res look up milk", { channel });
  await weir.platform.until(() => weir.platform.texts().some((one) => one.startsWith("#1:")));
  const as = (id: string): Asker => ({ id, name: "Ben", roles: [] });
  const typed = async (line: string, id: string): Promise<string> =>
    command(weir, "room", line, as(id), "discord");
  assert.match(await typed("approve 1", "1001"), /^That is for approvers only\./);
  assert.match(await typed("approvals 1", "1001"), /^That is for approvers only\./);
  assert.match(await typed("approve 1", "1004"), /^That is for approvers only\./);
  assert.match(await typed("approve 9", "1001"), /^This channel has no approval #9/);
  assert.equal(await typed("approve 1", "1002"), "Allowed: #1.");
});
