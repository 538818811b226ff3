// proves: src/store/search/vectors.ts, migrations/baseline/10_meaning.sql
import assert from "node:assert/strict";
import { test } from "node:test";
import { agentId } from "../../../src/core/ids.ts";
import { openTestStore } from "../open-store.ts";
import { TEST_DIGESTER } from "../../support/digester.ts";

const open = await openTestStore();
const MODEL = "words";
const LIMIT = 4;

test("an edit of an old message has what came after it read again at once, however much that is", async () => {
  const { vectors, log } = open.store;
  const { agent, kind } = { agent: agentId("main"), kind: "channel" as const };
  const channel = await open.store.channels.open({
    address: { platform: "test", name: "status" },
    workspace: "w",
    agent,
    kind,
  });
  for (let index = 1; index <= 5 * LIMIT; index++)
    await open.say(channel, index % 3 === 0 ? "ok" : `the players online are ${index}`, {
      id: `status-${index}`,
    });
  const fill = async (): Promise<(readonly [read: number, to: number])[]> => {
    const rounds: (readonly [number, number])[] = [];
    for (;;) {
      const batch = await vectors.next(channel, MODEL, LIMIT);
      if (batch.texts.length === 0 && batch.to.entriesTo === batch.from.entriesTo) return rounds;
      rounds.push([batch.texts.length, batch.to.entriesTo]);
      await vectors.keep(
        channel,
        MODEL,
        batch,
        batch.texts.map(({ of }) => ({ of, bits: "1010" })),
      );
    }
  };
  const first = await fill();
  assert.equal(
    first.reduce((sum, [read]) => sum + read, 0),
    14,
    "each that is long enough, once",
  );
  assert.equal(first.at(-1)?.[1], 5 * LIMIT);
  await log.edit(channel, "status-1", "the players online are none", new Date(), TEST_DIGESTER);
  assert.deepEqual(await fill(), [[1, 5 * LIMIT]]);
  await open.say(channel, "a message behind all others", { id: "status-last" });
  assert.deepEqual(await fill(), [[1, 5 * LIMIT + 1]]);
});
