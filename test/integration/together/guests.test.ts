// proves: src/channel/turns/guest-view.ts, migrations/baseline/02_turns.sql
// What an agent is shown of a channel that is another's, what it leaves there, and what becomes of it when a process ends.
import assert from "node:assert/strict";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { test } from "node:test";
import { openStore } from "../../store/open-store.ts";
import { rememberIn } from "../../store/remember.ts";
import { command } from "../../support/commands.ts";
import { indexAll } from "../../support/covered.ts";
import { checkFold, hold } from "../../support/compaction.ts";
import { text, toolCalls } from "../../support/model-behaviours.ts";
import { handsOver, openTogether, shownIn, THREE, told } from "../../support/together.ts";
import { TestPlatform } from "../../support/test-platform.ts";
import { piecesIn } from "../../support/request-pieces.ts";

const MANY = 120;

/** A long talk that nobody answers; one line of it says how deep the lake is. */
async function talk(weir: Parameters<typeof told>[0], count = MANY): Promise<void> {
  for (let number = 0; number < count; number++) {
    const words =
      number === 20
        ? "By the way, the old lake is 41 fathoms deep at its northern end."
        : `Reading ${number}: the weir stood at ${1000 + number} mm, and the gate was moved a little by the crew of that day.`;
    await weir.say(words, { addressed: false });
  }
}

test("a guest reads a brief with its question in view, then the newest messages; its next request begins as this one did", async () => {
  await using scene = await openTogether();
  await using weir = await scene.start();
  await talk(weir);
  await told(weir, "@res how deep is the old lake at its northern end?");
  const first = scene.requests("researcher")[0];
  const shown = shownIn(first);
  assert.match(shown, /user: \[Compaction Summary\]: \([^)]*, 11\d messages from #1\)/);
  assert.match(shown, /41 fathoms/);
  assert.match(shown, /Reading 119:/);
  assert.doesNotMatch(
    shown,
    /Reading 60: the weir stood at 1060 mm, and the gate was moved a little by the crew of that day\.\n.*Reading 61/,
  );
  await told(weir, "@res and at its southern end?");
  const [before, after] = scene.requests("researcher").map(piecesIn);
  assert.ok(before !== undefined && after !== undefined);
  // All but the part that is made anew for each turn, which is last.
  assert.deepEqual(after.slice(0, before.length - 1), before.slice(0, -1));
  // The channel's own agent sees all of it as it was said.
  await told(weir, "and you?");
  assert.match(shownIn(scene.requests("main").at(-1)), /Reading 60:[\s\S]*Reading 61:/);
  await checkFold(weir, "room");
});

test("a guest reads what its brief stands for, part by part, and finds what it is not shown", async () => {
  await using scene = await openTogether();
  const call = toolCalls([
    { name: "read_messages", arguments: { from: 1 } },
    { name: "search_history", arguments: { query: "Reading 60" } },
    { name: "search_history", arguments: { query: "Reading 119" } },
  ]);
  let asked = 0;
  scene.script({ researcher: () => (asked++ === 0 ? call : text("41 fathoms")) });
  await using weir = await scene.start();
  await talk(weir);
  await indexAll(weir.daemon.store.search);
  await told(weir, "@res how deep is the old lake at its northern end?");
  const tools = piecesIn(scene.requests("researcher").at(-1)).filter(({ role }) => role === "tool");
  const [read = "", found = "", unseen = ""] = tools.map(({ content }) => content ?? "");
  assert.match(read, /^Go on with from=\d+\.\n1\. \[[^\]]+\] Ann: Reading 0: /);
  assert.match(read, /\n21\. \[[^\]]+\] Ann: By the way, the old lake is 41 fathoms deep/);
  assert.match(found, /Reading 60: /);
  assert.doesNotMatch(unseen, /Reading 119: /, "it is shown that one");
});

test("a summary that is written ahead between two turns of a guest leaves its brief as it was", async () => {
  await using scene = await openTogether();
  const summary = hold();
  // Nobody asks the channel's own agent: its model is asked for a summary alone.
  scene.script({ main: () => summary.behaviour });
  await using weir = await scene.start();
  await talk(weir);
  await weir.event("compaction", ({ phase }) => phase === "started");
  await told(weir, "@res how deep is the old lake at its northern end?");
  summary.release(text("They read the gauge of the weir, and spoke of the depth of the lake."));
  await weir.event("compaction", ({ phase }) => phase === "written");
  await told(weir, "@res and at its southern end?");
  const [before, after] = scene.requests("researcher").map(piecesIn);
  assert.ok(before !== undefined && after !== undefined);
  assert.deepEqual(after.slice(0, before.length - 1), before.slice(0, -1));
  await checkFold(weir, "room");
});

test("a guest's request fits its window, however small beside the channel's own, and is nobody's anchor", async () => {
  await using scene = await openTogether();
  const small = THREE.replace(
    'model = "researcher-model"\ncontext_window = 16384',
    'model = "researcher-model"\ncontext_window = 4096\nmax_output_tokens = 256\ngeneration_reserve = 256',
  ).replace("context_window = 16384", "context_window = 131072");
  await using weir = await scene.start({ config: small });
  await talk(weir, 200);
  scene.script({ researcher: () => text("deep", { usage: { prompt: 3000, completion: 1 } }) });
  const [answer] = await told(weir, `@res what of this: ${"a long question about the lake. ".repeat(300)}`);
  assert.equal(answer, "**Researcher:** deep");
  const request = scene.requests("researcher")[0];
  assert.ok(JSON.stringify(request).length / 4 < 4096, "it fits");
  const row = await weir.daemon.store.channels.find({ platform: "test", name: "room" });
  assert.ok(row !== undefined);
  const { lastUsage, history } = await weir.daemon.store.load(row.id);
  assert.equal(lastUsage, null);
  assert.equal(history.omittedTo, 0);
  assert.ok(!weir.events.some(({ type }) => type === "emergency"));
  await using store = openStore(scene.connection);
  const billed = await store.sql<{ model: string }>("select model from model_calls where purpose = 'turn'");
  assert.deepEqual(billed, [{ model: "researcher-model" }]);
});

test("each agent's memories, notes and skills stay its own, in a channel that both answer", async () => {
  const place = await mkdtemp(path.join(tmpdir(), "weir-together-"));
  try {
    for (const who of ["main", "researcher"]) {
      const folder = path.join(place, who, "skills", "sails");
      await mkdir(folder, { recursive: true });
      await writeFile(
        path.join(folder, "SKILL.md"),
        `---\nname: sails\ndescription: mends sails\n---\nThe skill of ${who}.`,
      );
    }
    await using scene = await openTogether();
    await using weir = await scene.start({ agentsDir: place });
    await told(weir, "hello");
    await using store = openStore(scene.connection);
    const row = await weir.daemon.store.channels.find({ platform: "test", name: "room" });
    assert.ok(row !== undefined);
    // The message itself is the channel's, and recalled for both once it is indexed.
    const quote = "The code of the safe is in the green book.";
    const statement = "The code of the safe is zxqmain.";
    const said = await weir.say(quote, { addressed: false });
    const seq = "seq" in said ? said.seq : 0;
    await rememberIn(store, row.id, { statement, sources: [{ seq, quote }] });
    await command(weir, "room", "reset");
    let calls = 0;
    scene.script({
      researcher: () =>
        calls++ === 0
          ? toolCalls([
              { name: "memory_recall", arguments: { query: "the code of the safe" } },
              { name: "note", arguments: { text: "zxqnote of the researcher" } },
              { name: "activate_skill", arguments: { name: "sails" } },
            ])
          : text("noted"),
    });
    await told(weir, "@res what is the code of the safe?");
    const theirs = shownIn(scene.requests("researcher").at(-1));
    assert.match(theirs, /The skill of researcher\./);
    assert.doesNotMatch(theirs, /zxqmain/);
    await told(weir, "what is the code of the safe?");
    const own = shownIn(scene.requests("main").at(-1));
    assert.match(own, /zxqmain/);
    assert.doesNotMatch(own, /zxqnote|The skill of/);
    await told(weir, "@res again");
    assert.match(shownIn(scene.requests("researcher").at(-1)), /zxqnote/);
    await checkFold(weir, "room");
  } finally {
    await rm(place, { recursive: true, force: true });
  }
});

test("a turn that a process leaves behind is taken up by the same agent, and a hand-off is there once whatever was cut", async () => {
  await using scene = await openTogether();
  const held = hold();
  scene.script({ main: handsOver("res", "It is about the lake."), researcher: () => held.behaviour });
  {
    await using weir = await scene.start();
    await weir.say("about the lake?");
    await scene.server.received(2);
    const row = await weir.daemon.store.channels.find({ platform: "test", name: "room" });
    assert.ok(row !== undefined);
    // Its owner goes in the middle of the second agent's turn.
    (await weir.daemon.registry.get(row.id)).close().catch(() => undefined);
  }
  held.release(text("never heard"));
  scene.script({});
  await using weir = await scene.start();
  await weir.platform.until(() => weir.platform.texts().length === 1);
  assert.deepEqual(weir.platform.texts(), ["**Researcher:** I am researcher."]);
  await using store = openStore(scene.connection);
  const [count] = await store.sql<{ n: number; turns: number }>(
    "select (select count(*) from entries where data ? 'chain')::integer as n, (select count(*) from turns)::integer as turns",
  );
  assert.deepEqual(count, { n: 1, turns: 2 });
  await checkFold(weir, "room");
});

test("what is meant for an agent that answers here no more is answered, with a word of that, also by a turn left behind", async () => {
  await using scene = await openTogether();
  const held = hold();
  scene.script({ researcher: () => held.behaviour });
  {
    await using weir = await scene.start();
    await weir.say("@res about the lake?");
    await scene.server.received(1);
    await weir.say("@coder and the sea?");
  }
  held.release(text("never heard"));
  scene.script({});
  await using weir = await scene.start({ also: [] });
  await weir.platform.until(() => weir.platform.texts().length === 2);
  const instead = (name: string): string =>
    `I am main.\n\n(${name} does not answer here any more: I have answered instead.)`;
  assert.deepEqual(weir.platform.texts(), [instead("Researcher"), instead("Coder")]);
  await checkFold(weir, "room");
});

test("an answer that a crash cut off in the middle comes under its name, in as many parts as it takes", async () => {
  await using scene = await openTogether();
  const capabilities = { serves: () => true, maxTextLength: 100 };
  const long = `${"One. ".repeat(19)}${"Two. ".repeat(19)}`.trim();
  scene.script({ researcher: () => text(long) });
  const first = new TestPlatform(capabilities);
  first.fail = () => {
    throw new Error("not now");
  };
  {
    await using weir = await scene.start({ platform: first });
    await weir.say("@res a long one");
    await weir.event("delivery_failed");
  }
  await using weir = await scene.start({ platform: new TestPlatform(capabilities) });
  await weir.platform.until(() => weir.platform.texts().length === 3);
  const texts = weir.platform.texts();
  assert.ok(texts[0]?.startsWith("**Researcher:** One. "));
  assert.ok(texts.every((part) => part.length <= 100));
  assert.equal(texts.join(" ").replace("**Researcher:** ", "").replaceAll(/\s+/g, " ").trim(), long);
});

test("a person who is called as an agent is told apart from it", async () => {
  await using scene = await openTogether();
  await using weir = await scene.start();
  const author = { id: "u-x", name: "Researcher", isBot: false };
  await told(weir, "I am a person", { author });
  assert.match(shownIn(scene.requests("main").at(-1)), /Researcher \(a person\): I am a person/);
  assert.deepEqual(await told(weir, "@Researcher are you there?", { mentions: ["Researcher"] }), [
    "I am main.",
  ]);
});
