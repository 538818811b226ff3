// proves: migrations/baseline/20_pairing.sql, src/features/pairing/pairing-store.ts
import assert from "node:assert/strict";
import { test } from "node:test";
import { MOST_CODES, PairingStore } from "../../../src/features/pairing/pairing-store.ts";
import { createTestDatabase } from "../../support/database.ts";
import { openStore } from "../../store/open-store.ts";

const SAM = { platform: "discord", person: "7", name: "Sam" };
const SAID = { channel: "70", id: "m1", at: new Date("2026-11-01T12:00Z") };

test("fifty wait on a platform, the oldest yields to a new one; each asks once, and a code lets one in", async () => {
  await using database = await createTestDatabase();
  await using open = openStore(database.connection);
  const pairing = new PairingStore(open.db);
  const ask = async (index: number, code: string): Promise<string> =>
    pairing.ask({ ...SAM, person: `p${index}` }, SAID, code);
  const states = await Promise.all(
    Array.from({ length: 20 }, async (_, index) => ask(index % 10, `CODE${index}`)),
  );
  assert.equal(states.filter((state) => state === "asked").length, 10, "each asks once");
  assert.equal(await pairing.ask({ ...SAM, platform: "slack" }, SAID, "SLACK"), "asked");
  for (let index = 10; index < MOST_CODES; index++) assert.equal(await ask(index, `CODE${index}`), "asked");
  const full = await pairing.open("discord");
  assert.equal(full.length, MOST_CODES);
  const [first, second] = full;
  assert.ok(first !== undefined && second !== undefined);
  assert.equal(await pairing.ask({ ...first, name: "Sam" }, SAID, "AGAIN"), "waiting", "the same code");
  assert.deepEqual(await pairing.open("discord"), full, "and the same place");
  assert.equal(await ask(1000, "NEW"), "asked");
  const now = await pairing.open("discord");
  assert.deepEqual(
    now.map(({ code }) => code),
    [...full.slice(1).map(({ code }) => code), "NEW"],
  );
  assert.equal((await pairing.open("slack")).length, 1, "another platform has a place of its own");
  assert.ok(!(await pairing.letIn(first, "operator")), "the code of who has yielded is void");
  assert.ok(!(await pairing.letIn({ ...second, code: "OTHER" }, "operator")));
  const before = await pairing.version();
  const letIn = await Promise.all([1, 2, 3].map(async () => pairing.letIn(second, "operator")));
  assert.deepEqual(letIn.filter(Boolean), [true]);
  assert.notEqual(await pairing.version(), before);
  const [one] = await pairing.people();
  assert.deepEqual([one?.person, one?.unreadTo?.getTime()], [second.person, SAID.at.getTime()]);
  const greeted = await Promise.all([1, 2].map(async () => pairing.toGreet(["discord"])));
  assert.deepEqual(greeted.flat(), [{ platform: "discord", channel: SAID.channel }]);
  assert.equal(await pairing.ask({ ...SAM, person: second.person }, SAID, "CODE"), "paired");
});

test("somebody is let in by their id, whether they have asked or not, once", async () => {
  await using database = await createTestDatabase();
  await using open = openStore(database.connection);
  const pairing = new PairingStore(open.db);
  await pairing.ask(SAM, SAID, "CODE");
  const [sam, tom] = [SAM, { platform: "slack", person: "U0000TOM1" }];
  const done = await Promise.all([sam, sam, tom].map(async (one) => pairing.letInById(one, "operator")));
  assert.equal(done.filter(Boolean).length, 2);
  assert.deepEqual(await pairing.open(null), []);
  const people = await pairing.people();
  assert.deepEqual(
    new Map(people.map(({ person, unreadTo, unreadIds }) => [person, [unreadTo?.getTime(), unreadIds]])),
    new Map([
      [sam.person, [SAID.at.getTime(), [SAID.id]]],
      [tom.person, [undefined, []]],
    ]),
  );
  assert.deepEqual(
    (await pairing.toGreet(["discord", "slack"])).map(({ platform }) => platform),
    ["discord"],
  );
});

test("owners are told of what is new once a minute together, and again where nobody was told", async () => {
  await using database = await createTestDatabase();
  await using open = openStore(database.connection);
  const pairing = new PairingStore(open.db);
  const ask = async (person: string): Promise<string> => pairing.ask({ ...SAM, person }, SAID, `C-${person}`);
  const news = async (): Promise<string[]> => {
    const { requests } = await pairing.takeNews("discord");
    return requests.map(({ person }) => person);
  };
  const aMinuteLater = async (): Promise<unknown> =>
    open.sql("update pairing_news set told_at = told_at - interval '1 minute'");
  assert.deepEqual(await pairing.takeNews("discord"), { waitMs: 0, requests: [] });
  await ask("ann");
  const taken = await Promise.all([1, 2, 3].map(async () => news()));
  assert.deepEqual(taken.flat(), ["ann"], "one of several daemons tells of it");
  await ask("ben");
  const { waitMs, requests } = await pairing.takeNews("discord");
  assert.deepEqual(requests, []);
  assert.ok(waitMs > 0 && waitMs <= 60_000);
  await aMinuteLater();
  assert.deepEqual(await news(), ["ann", "ben"], "nobody has said that the owners know of the first");
  await pairing.ownersKnow("discord", await pairing.open("discord"));
  await ask("cyd");
  await aMinuteLater();
  assert.deepEqual(await news(), ["cyd"]);
});
