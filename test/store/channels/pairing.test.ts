// proves: migrations/0053_pairing.sql, src/store/channels/pairing.ts
import assert from "node:assert/strict";
import { test } from "node:test";
import { migrate } from "../../../src/store/database/migrate.ts";
import { createTestDatabase } from "../../support/database.ts";
import { openStore, SILENT } from "../open-store.ts";

const SAM = { platform: "discord", person: "7", name: "Sam" };
const SAID = { channel: "70", id: "m1", at: new Date("2026-11-01T12:00Z") };

test("an upgrade lets in who has written direct messages, and nobody else", async () => {
  await using database = await createTestDatabase();
  await using open = openStore(database.connection);
  await open.db.script("drop schema public cascade; create schema public");
  await migrate(open.db, SILENT, 50);
  const channel = async (
    platform: string,
    name: string,
    kind: string,
    people: readonly string[],
  ): Promise<void> => {
    await open.sql(
      `insert into channels (platform, name, kind, agent) values ($1, $2, $3, 'main')`,
      platform,
      name,
      kind,
    );
    for (const [index, person] of people.entries())
      await open.sql(
        `select append_message(id, $3, $4, 'Name', $5, 'hello', 1, '2026-10-01', false, null) from channels where platform = $1 and name = $2`,
        platform,
        name,
        `m${index}`,
        person,
        person === "bot",
      );
  };
  await channel("discord", "dm", "dm", ["ann", "bot", "ann"]);
  await channel("slack", "dm", "dm", ["ben"]);
  await channel("discord", "general", "channel", ["cyd"]);
  await channel("terminal", "main", "dm", ["dan"]);
  await migrate(open.db, SILENT);
  const people = await open.store.pairing.people();
  assert.deepEqual(
    people.map(({ platform, person, letInBy }) => `${platform}:${person} ${letInBy}`).toSorted(),
    ["discord:ann upgrade", "slack:ben upgrade"],
  );
});

test("of twenty at once three get a code, each asks once, and a code lets one in", async () => {
  await using database = await createTestDatabase();
  await using open = openStore(database.connection);
  const { pairing } = open.store;
  const ask = async (index: number): Promise<string> =>
    pairing.ask({ ...SAM, person: `p${index % 10}` }, SAID, `CODE${index}`);
  const states = await Promise.all(Array.from({ length: 20 }, async (_, index) => ask(index)));
  assert.equal(states.filter((state) => state === "asked").length, 3);
  const requests = await pairing.open("discord");
  assert.equal(requests.length, 3);
  assert.deepEqual(await pairing.open("slack"), []);
  const [first] = requests;
  assert.ok(first !== undefined);
  assert.ok(!(await pairing.letIn({ ...first, code: "OTHER" }, "operator")));
  const before = await pairing.version();
  const letIn = await Promise.all([1, 2, 3].map(async () => pairing.letIn(first, "operator")));
  assert.deepEqual(letIn.filter(Boolean), [true]);
  assert.notEqual(await pairing.version(), before);
  const [one] = await pairing.people();
  assert.deepEqual([one?.person, one?.unreadTo?.getTime()], [first.person, SAID.at.getTime()]);
  const greeted = await Promise.all([1, 2].map(async () => pairing.toGreet(["discord"])));
  assert.deepEqual(greeted.flat(), [{ platform: "discord", channel: SAID.channel }]);
  assert.equal(await pairing.ask({ ...SAM, person: first.person }, SAID, "CODE"), "paired");
});
