import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { agentId } from "../../src/core/ids.ts";
import { asksOfSelf } from "../../src/memory/own-words.ts";
import { rankLines } from "../../src/memory/rank-lines.ts";
import { Recall } from "../../src/memory/recall.ts";
import { RecallMemories } from "../../src/memory/recall-memories.ts";
import { openTestStore } from "../store/open-store.ts";
import { rememberIn } from "../store/remember.ts";
import { columnsOf } from "../support/found-lines.ts";

const open = await openTestStore();
const { search, memories: remembered } = open.store;
const memories = new RecallMemories({ memories: remembered, search, now: () => new Date() });
const recall = new Recall({ search, now: () => Date.now() });

describe("who asks of themselves", () => {
  test("says so", () => {
    for (const text of [
      "What did I say about the gate?",
      "where is my key",
      "what do you know about me?",
      "When I’ve said that, who answered?",
      "Wo ist mein Schlüssel?",
      "Was habe ich gesagt?",
      "où est mon vélo ?",
      "¿qué dije de la puerta?",
      "¿dónde están mis llaves?",
      "私の鍵はどこ？",
      "我的钥匙在哪里？",
    ])
      assert.equal(asksOfSelf(text, ["Ann"]), "Ann", text);
  });

  test("is nobody who wants to be told, or says nothing of themselves, and none of several", () => {
    for (const text of [
      "Tell me when the deploy is.",
      "Can I see the list?",
      "show me Ben's key",
      "What did Ben say?",
      "the mystery of the army",
      "",
    ])
      assert.equal(asksOfSelf(text, ["Ann"]), null, text);
    assert.equal(asksOfSelf("where is my key", ["Ann", "Ben"]), null);
    assert.equal(asksOfSelf("where is my key", []), null);
  });
});

test("lines of whoever asks of themselves rank higher, unless the question names somebody else", () => {
  const line = { at: 0, asks: false, words: " gate ", length: 5 };
  const lines = [
    { ...line, seq: 1, author: "Ann" },
    { ...line, seq: 11, author: "Ben" },
  ];
  const first = (question: string, self: string | null): number | undefined =>
    rankLines(
      { question, self, terms: [{ lexeme: "gate", expected: 2, isCounted: true }], size: 20, now: 0 },
      columnsOf(lines),
    ).seqs[0];
  assert.equal(first("what did I say of the gate?", "Ann"), 1);
  assert.equal(first("what did I say of the gate?", null), 11, "of equals the later one");
  assert.equal(first("what did Ben say of my gate?", "Ann"), 11);
});

test("what is remembered of whoever asks of themselves is found by their name", async () => {
  const { id: channel } = await open.channel("self");
  for (const [name, statement] of [
    ["Ann", "Ann prefers Earl Grey."],
    ["Ben", "Ben prefers Darjeeling."],
  ] as const) {
    const seq = await open.say(channel, statement, { author: { id: `u-${name}`, name, isBot: false } });
    await rememberIn(open, channel, {
      subject: name,
      assertedBy: name,
      statement,
      sources: [{ seq, quote: statement }],
    });
  }
  const asked = {
    agent: agentId("main"),
    channel,
    workspace: "",
    kind: "channel" as const,
    askers: ["u-Ann"],
    limit: 5,
  };
  const text = "what is my usual drink?";
  assert.deepEqual(await memories.find({ ...asked, text }), []);
  const found = await memories.find({ ...asked, text, self: "Ann" });
  assert.deepEqual(
    found.map(({ statement }) => statement),
    ["Ann prefers Earl Grey."],
  );
});

test("what a message replies to is looked for as well, behind what the message itself says", async () => {
  const { id: channel } = await open.channel("replies");
  for (const said of [
    "the price list hangs by the door",
    "nothing much happens today",
    "nobody came, and it rained",
    "still nothing to do here",
    "the Falkenstein machines are rented by the month",
    "nothing else was said then",
  ])
    await open.say(channel, said);
  await search.indexAll([channel], 100);
  const asked = {
    agent: agentId("main"),
    channel,
    workspace: "",
    kind: "channel" as const,
    askers: [],
    limit: 5,
  };
  const heads = async (repliesTo?: string): Promise<string[]> => {
    const query = { text: "and what is the price?", to: 6, limit: 5 };
    const beside = repliesTo === undefined ? {} : { repliesTo: Promise.resolve(repliesTo) };
    const { entries } = await recall.findWithMemories({ ...query, ...beside }, memories, {
      ...asked,
      text: query.text,
    });
    return entries.map(({ text }) => (text ?? "").split(" ").slice(0, 3).join(" "));
  };
  assert.ok(!(await heads()).includes("the Falkenstein machines"));
  const both = await heads("We should talk of the machines in Falkenstein.");
  assert.equal(both[0], "the price list");
  assert.ok(both.includes("the Falkenstein machines"), both.join("; "));
});
