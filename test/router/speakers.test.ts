import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { agentId, type ChannelId } from "../../src/core/ids.ts";
import { displayName } from "../../src/text/text.ts";
import { Speakers, unreserved } from "../../src/router/speakers.ts";
import { createStore } from "../../src/store/store.ts";
import { openTestStore } from "../store/open-store.ts";
import { FEATURE_ROWS } from "../../src/features/stored.ts";

const open = await openTestStore();
const store = createStore(open.db, FEATURE_ROWS);
const AGENT = ["weir", "Heron"];

async function channel(name: string): Promise<ChannelId> {
  const address = { platform: "test", name };
  return store.channels.open({ address, kind: "channel", workspace: "", agent: agentId("main") });
}

async function called(
  id: ChannelId,
  people: readonly (readonly [id: string, name: string])[],
): Promise<string[]> {
  const names: string[] = [];
  // A new one each time: after a restart it is the same.
  for (const [author, name] of people)
    names.push(await new Speakers(store.speakers).nameIn(id, { id: author, name, isBot: false }, AGENT));
  return names;
}

describe("namesakes", () => {
  test("are told apart in the order in which they spoke, and stay what they are", async () => {
    const id = await channel("apart");
    assert.deepEqual(
      await called(id, [
        ["1", "Ann"],
        ["2", "Ann"],
        ["3", "ANN"],
        ["1", "Ann"],
        ["2", "Ann"],
        ["4", "Ben"],
      ]),
      ["Ann", "Ann (2)", "ANN (3)", "Ann", "Ann (2)", "Ben"],
    );
    assert.deepEqual(await called(await channel("elsewhere"), [["2", "Ann"]]), ["Ann"]);
  });

  test("nobody takes a name by width, unseen characters or a mark of ours", async () => {
    const id = await channel("taken");
    const people = [
      ["1", "Ann"],
      ["2", "A\u200bnn"],
      ["3", "Ａnn"],
      ["4", "Ann (2)"],
      ["5", "Ann (a person)"],
    ] as const;
    const names = await called(id, people);
    assert.equal(
      new Set(names.map((name) => name.normalize("NFKC").toLowerCase())).size,
      people.length,
      String(names),
    );
    assert.equal(names[3], "Ann 2");
  });

  test("who takes somebody's old name is not that one", async () => {
    const id = await channel("renamed");
    const people = [
      ["1", "Ann"],
      ["1", "Anna"],
      ["2", "Ann"],
      ["1", "Ann"],
    ] as const;
    assert.deepEqual(await called(id, people), ["Ann", "Anna", "Ann (2)", "Ann"]);
  });

  test("ten who speak at once under one name have ten names", async () => {
    const id = await channel("at once");
    const speakers = new Speakers(store.speakers);
    const names = await Promise.all(
      Array.from({ length: 10 }, async (_, index) =>
        speakers.nameIn(id, { id: String(index), name: "Ann", isBot: false }, AGENT),
      ),
    );
    assert.equal(new Set(names).size, 10);
  });

  test("those of a log from before are in the order of the log", async () => {
    const id = await channel("before");
    const rows = "insert into speakers select $1, 'ann', 'old', 1";
    await open.db.query("test_speaker", rows, [id]);
    assert.deepEqual(
      await called(id, [
        ["new", "Ann"],
        ["old", "Ann"],
      ]),
      ["Ann (2)", "Ann"],
    );
  });
});

describe("the agent's name", () => {
  const cases: readonly (readonly [name: string, isBot: boolean, shown: string])[] = [
    ["Heron", false, "Heron (a person)"],
    ["HERON", true, "HERON (a bot)"],
    ["Weir", false, "Weir (a person)"],
    ["you", false, "you (a person)"],
    ["System", false, "System (a person)"],
    ["He\u2060ron", false, "He ron"],
    ["Heron [agent]", false, "Heron agent"],
    ["search_history returned", false, "search_history returned (a person)"],
    ["Heron called skip({})", false, "Heron called skip {})"],
    ["Heronimus", false, "Heronimus"],
    ["\u3164", false, "someone"],
  ];
  for (const [name, isBot, shown] of cases)
    test(`${JSON.stringify(name)} is shown as ${shown}`, () => {
      assert.equal(unreserved(name, isBot, AGENT), shown);
      assert.equal(displayName(shown), shown, "and is rendered so");
    });

  test("what tells names apart is never cut off", async () => {
    const id = await channel("long");
    const long = "x".repeat(200);
    const names = await called(id, [
      ["1", long],
      ["2", long],
    ]);
    assert.deepEqual(names.map(displayName), names);
    assert.notEqual(names[0], names[1]);
  });
});
