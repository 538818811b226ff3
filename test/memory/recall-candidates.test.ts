// proves: src/memory/recall.ts, migrations/0092_lines_for_each_wanted.sql
import assert from "node:assert/strict";
import { before, test } from "node:test";
import { agentId, type ChannelId } from "../../src/core/ids.ts";
import { Recall } from "../../src/memory/recall.ts";
import { openTestStore } from "../store/open-store.ts";

const { store, db } = await openTestStore();
const recall = new Recall({ search: store.search, now: () => Date.UTC(2026, 10, 1) });

const ROUNDS = 120;
const SIZE = 4 * ROUNDS;
const BOTH = "the kettle hangs at our ladder";
let channel: ChannelId;
let paired: ChannelId;

before(async () => {
  const round = (number: number) => [
    "the kettle sings",
    `a pause ${number}`,
    "our ladder stands",
    `a break ${number}`,
  ];
  const rounds = Array.from({ length: ROUNDS }, (_, number) => round(number)).flat();
  channel = await saidIn("candidates", rounds);
  paired = await saidIn("pairs", [BOTH, "a gap", ...rounds, BOTH, "a gap"]);
  await store.search.indexAll([channel, paired], 20_000);
  await db.script("analyze entry_search");
});

async function saidIn(name: string, texts: readonly string[]): Promise<ChannelId> {
  const address = { platform: "local", name };
  const opened = await store.channels.open({
    address,
    kind: "channel",
    workspace: "",
    agent: agentId("main"),
  });
  for (const [index, text] of texts.entries())
    await store.log.appendMessage(opened, {
      addressed: false,
      id: `${name} ${index}`,
      author: { id: "ann", name: "Ann", isBot: false },
      text,
      at: new Date(Date.UTC(2026, 4, 7, 12, index)),
    });
  return opened;
}

/** Lines that have a word, among those that a search for this many ranks. */
async function holding(word: RegExp, limit: number): Promise<number> {
  const query = { channel, text: "Where are the kettle and the ladder?", to: SIZE, limit, depth: SIZE };
  return (await recall.find(query)).filter(({ text }) => word.test(text ?? "")).length;
}

test("a search for many lines looks for more words of a question than one for few", async () => {
  // Either word is in as many lines: the longer one picks first.
  assert.equal(await holding(/ladder/, 20), ROUNDS);
  assert.ok((await holding(/kettle/, 20)) < ROUNDS, "beside a line with the other word alone");
  assert.equal(await holding(/kettle/, 120), ROUNDS);
});

test("lines with two of a question's common words are found beside a rare word that nobody said", async () => {
  const text = "Was the zeppelin's kettle at the ladder?";
  const found = await recall.find({ channel: paired, text, to: SIZE + 4, limit: 40 });
  assert.equal(found.filter((line) => line.text === BOTH).length, 2);
  const told = await recall.find({ channel: paired, text, to: SIZE + 4, limit: 40, leastCoverage: 0.251 });
  assert.deepEqual(told, [], "not for a text that asks little");
  const alone = await recall.find({
    channel: paired,
    text: "Was the zeppelin's kettle?",
    to: SIZE + 4,
    limit: 40,
  });
  assert.deepEqual(alone, [], "each of them alone would bring too many lines");
});
