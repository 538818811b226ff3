import assert from "node:assert/strict";
import { after, test } from "node:test";
import { createTestDatabase } from "../../support/database.ts";
import { openStore } from "../open-store.ts";

const database = await createTestDatabase();
after(async () => database[Symbol.asyncDispose]());
const weir = openStore(database.connection);
after(async () => weir[Symbol.asyncDispose]());
const { store } = weir;

const COUNT = 250;

test("messages handed in together keep their order, and each is durable when its append resolves", async () => {
  const { id } = await weir.channel("burst");
  const seqs = await Promise.all(
    Array.from({ length: COUNT }, async (_, index) => {
      const seq = await weir.say(id, `text ${index}`, { id: `b-${index}`, addressed: index % 2 === 0 });
      const [entry] = await store.log.read(id, seq, seq);
      assert.equal(entry?.text, `text ${index}`);
      return seq;
    }),
  );
  assert.deepEqual(
    seqs,
    seqs.map((_, index) => index + 1),
  );
  const { history } = await store.load(id);
  assert.deepEqual(
    history.entries.map((entry) => entry.kind === "user" && entry.addressed),
    seqs.map((_, index) => index % 2 === 0),
  );
});

test("a redelivery inside of a burst finds the first, which is there once", async () => {
  const { id } = await weir.channel("again");
  const append = async (messageId: string) =>
    store.log.appendMessage(id, {
      id: messageId,
      author: { id: "u", name: "Ann", isBot: false },
      text: messageId,
      at: new Date(),
      addressed: true,
    });
  await append("a");
  const appended = await Promise.all(["b", "a", "c", "b", "c"].map(append));
  assert.deepEqual(
    appended.map(({ seq, duplicate }) => [seq, duplicate]),
    [
      [2, false],
      [1, true],
      [3, false],
      [2, true],
      [3, true],
    ],
  );
});

test("a message that cannot be stored takes none of its burst with it", async () => {
  const { id } = await weir.channel("one-bad");
  const said = ["one", "two", "three"].map(async (text, index) =>
    weir.say(id, text, { id: `o-${index}`, at: index === 1 ? new Date(Number.NaN) : new Date() }),
  );
  const outcomes = await Promise.allSettled(said);
  assert.deepEqual(
    outcomes.map(({ status }) => status),
    ["fulfilled", "rejected", "fulfilled"],
  );
  assert.equal((await store.load(id)).history.lastSeq, 2);
});
