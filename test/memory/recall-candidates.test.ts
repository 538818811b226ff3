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
let channel: ChannelId;

before(async () => {
  const address = { platform: "local", name: "candidates" };
  channel = await store.channels.open({ address, kind: "channel", workspace: "", agent: agentId("main") });
  for (let round = 0; round < ROUNDS; round++) {
    for (const text of ["the kettle sings", `a pause ${round}`, "our ladder stands", `a break ${round}`])
      await store.log.appendMessage(channel, {
        addressed: false,
        id: `${text} ${round}`,
        author: { id: "ann", name: "Ann", isBot: false },
        text,
        at: new Date(Date.UTC(2026, 4, 7, 12, round)),
      });
  }
  await store.search.indexAll([channel], 20_000);
  await db.script("analyze entry_search");
});

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
