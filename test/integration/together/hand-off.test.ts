// proves: src/channel/turns/hand-off.ts, src/tools/hand-off.ts
// An agent hands over to another one: once, a few times at most, and whatever dies in between.
import assert from "node:assert/strict";
import { test } from "node:test";
import { text, toolCalls } from "../../support/model-behaviours.ts";
import { openStore } from "../../store/open-store.ts";
import { handsOver, openTogether, shownIn, told } from "../../support/together.ts";

test("an agent hands over and gets back, each answers once, and people see who says what", async () => {
  await using scene = await openTogether();
  await using weir = await scene.start();
  scene.script({
    main: handsOver("researcher", "Ann asks how deep the lake is.", "So it is 40 m."),
    researcher: (request) =>
      shownIn(request).includes("How deep is it, then?")
        ? text("unused")
        : toolCalls([{ name: "hand_off", arguments: { agent: "Weir", message: "It is 40 m deep." } }], {
            text: "I have looked it up.",
          }),
  });
  const texts = await told(weir, "how deep is the lake?", { more: 2 });
  assert.deepEqual(texts, ["**Researcher:** I have looked it up.", "So it is 40 m."]);
  const asked = shownIn(scene.requests("researcher")[0]);
  assert.match(asked, /\[Weir: handed over by Weir to Researcher\] Ann asks how deep the lake is\./);
  const back = shownIn(scene.requests("main").at(-1));
  assert.match(back, /\[Weir: handed over by Researcher to Weir\] It is 40 m deep\./);
  // A hand-off is a line like any other to whoever reads on, and no call without a result.
  assert.doesNotMatch(back, /"hand_off"/);
  await using store = openStore(scene.connection);
  const rows = await store.sql<{ n: number }>(
    "select count(*)::integer as n from entries where message_id like 'handoff/%'",
  );
  assert.equal(rows[0]?.n, 2);
});

test("who hands over to itself, to nobody or to two at once is told so, and answers", async () => {
  await using scene = await openTogether();
  await using weir = await scene.start();
  const results = async (...calls: readonly object[]): Promise<string> => {
    let left = true;
    scene.script({
      main: () => {
        const behaviour = left
          ? toolCalls(calls.map((call) => ({ name: "hand_off", arguments: { message: "m", ...call } })))
          : text("I answer it myself.");
        left = false;
        return behaviour;
      },
    });
    assert.deepEqual(await told(weir, "go"), ["I answer it myself."]);
    return shownIn(scene.requests("main").at(-1));
  };
  assert.match(await results({ agent: "Weir" }), /That is you/);
  assert.match(
    await results({ agent: "nobody" }),
    /There is no such agent here\. There are: researcher, coder\./,
  );
  assert.match(
    await results({ agent: "res" }, { agent: "coder" }),
    /Nothing was handed over: another call has failed[\s\S]*choose one agent/,
  );
  assert.equal(scene.requests("researcher").length, 0);
});

test("a question goes from agent to agent four times, and the last of them ends it in words; a person begins anew", async () => {
  await using scene = await openTogether();
  await using weir = await scene.start();
  const on = (to: string) => (request: Parameters<typeof shownIn>[0]) =>
    /goes no further/.test(shownIn(request))
      ? text("Nobody here knows.")
      : toolCalls([{ name: "hand_off", arguments: { agent: to, message: "You." } }]);
  scene.script({ main: on("researcher"), researcher: on("coder"), coder: on("main") });
  assert.deepEqual(await told(weir, "who knows it?"), ["**Researcher:** Nobody here knows."]);
  const asked = (["main", "researcher", "coder"] as const).map((who) => scene.requests(who).length);
  // main → researcher → coder → main → researcher, who is told once that it goes no further.
  assert.deepEqual(asked, [2, 3, 1]);
  assert.deepEqual(await told(weir, "and now?"), ["**Researcher:** Nobody here knows."]);
});
