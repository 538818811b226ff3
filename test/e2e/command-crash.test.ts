// proves: src/cli/backup.ts, src/files/write-file.ts, src/cli/memory-transfer.ts, src/cli/replay.ts, src/cli/audit/look-at-files.ts
// Commands that are killed while they write: nothing half done is taken for whole, and the same command after it ends well.
import assert from "node:assert/strict";
import { readdir, stat, writeFile } from "node:fs/promises";
import path from "node:path";
import { test } from "node:test";
import { assertWhole, type Home, openHome, parseLog } from "../support/e2e.ts";
import { createTestDatabase } from "../support/database.ts";
import { echo } from "../support/e2e-model.ts";
import { openHomeWithStore } from "../support/home-with-store.ts";
import { startModelServer } from "../support/model-server.ts";
import { until } from "../support/patience.ts";
import { gateRows } from "../support/row-gate.ts";
import { connectionUrl } from "../support/weir.ts";
import { type OpenStore, openStore } from "../store/open-store.ts";
import { rememberIn } from "../store/remember.ts";

const SAID = ["the river is high", "the boat is in", "the wheel turns"] as const;

const from = await openHomeWithStore({ applicationName: "weir-test" });
const { id: mill } = await from.open.channel("mill");
for (const [index, text] of SAID.entries()) {
  const seq = await from.open.say(mill, text, { id: `m${index}` });
  await rememberIn(from.open, mill, { statement: `Ann says that ${text}.`, sources: [{ seq, quote: text }] });
}

async function filesOf({ folder }: Home, word: string): Promise<string[]> {
  return (await readdir(folder)).filter((name) => name.includes(word));
}

/** Resolves once a statement waits for a lock. */
async function waits(open: OpenStore, like: string): Promise<void> {
  const text =
    "select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock' and query ilike $1";
  await until(`a statement like ${like} that waits`, async () => (await open.sql(text, like)).length > 0);
}

for (const command of [["backup"], ["memories", "export"]])
  test(`\`weir ${command.join(" ")}\` that is killed leaves no file that looks whole, and the next one is`, async () => {
    const { home, open } = from;
    const name = `${command[0]}.file`;
    const isBackup = command[0] === "backup";
    const end = Promise.withResolvers<void>();
    const holding = open.db.transaction(async (client) => {
      await client.query(
        "",
        `lock table ${isBackup ? "entries" : "memory_sources"} in access exclusive mode`,
      );
      await end.promise;
    });
    const killed = home.start(...command, name);
    await waits(open, isBackup ? "copy%entries%" : "%memory_sources%");
    await killed.kill();
    end.resolve();
    await holding;
    const [left = "", ...others] = await filesOf(home, name);
    assert.deepEqual([left.endsWith(".unfinished"), others], [true, []]);
    assert.equal((await stat(path.join(home.folder, left))).mode & 0o777, 0o600);

    const audited = (await home.run("audit")).out.join("\n");
    assert.match(
      audited,
      new RegExp(`! unfinished: ${left}: it has people's words.*\\n +→ if none runs: rm `),
    );
    if (isBackup) {
      assert.match(audited, /! backup: there is none in this folder/);
      const verified = await home.run("restore", left, "--verify");
      assert.equal(verified.code, 1);
      assert.match(verified.stderr, /it ends there|does not begin as what gzip writes/);
    }

    const again = await home.run(...command, name);
    assert.equal(again.code, 0, again.stderr);
    if (!isBackup) return;
    const whole = await home.run("restore", name, "--verify");
    assert.match(whole.out.join("\n"), /is whole: 1 channel, 3 entries, .* 3 memories/);
  });

test("an import that is killed leaves whole memories, and the same import adds the rest, each once", async () => {
  const to = await openHomeWithStore({ applicationName: "weir-test" });
  const { id } = await to.open.channel("mill");
  for (const [index, text] of SAID.entries()) await to.open.say(id, text, { id: `m${index}` });
  const file = path.join(from.home.folder, "memories.jsonl");
  const exported = await from.home.run("memories", "export", file);
  assert.equal(exported.code, 0, exported.stderr);

  const known = async () =>
    to.open.sql<{ statement: string; sources: number }>(
      `select statement, (select count(*)::int from memory_sources s where s.memory_id = m.id) as sources
         from memories m order by id`,
    );
  // Within a memory's row, and within its sources: the server notices the end before, and after.
  for (const [table, column, when] of [
    ["memories", "statement", SAID[1]],
    ["memory_sources", "quote", SAID[2]],
  ] as const) {
    await using gate = await gateRows(to.open, `insert on ${table}`, `new.${column} like '%${when}%'`);
    const killed = to.home.start("memories", "import", file);
    await gate.reached();
    await killed.kill();
    await (table === "memories" ? gate.cut() : gate.open());
    await until("the end of its statement", async () => {
      const running = await to.open.sql(
        "select from pg_stat_activity where datname = current_database() and application_name = 'weir-asker'",
      );
      return running.length === 0;
    });
    assert.ok((await known()).every(({ sources }) => sources === 1));
  }
  const before = (await known()).length;
  const again = await to.home.run("memories", "import", file);
  assert.equal(again.code, 0, again.stderr);
  assert.match(
    again.out.join("\n"),
    new RegExp(`^${3 - before} memor(?:y|ies) added\\. ${before} known already\\.$`),
  );
  assert.deepEqual(
    await known(),
    SAID.map((text) => ({ statement: `Ann says that ${text}.`, sources: 1 })),
  );
});

test("a replay that is killed again and again ends with each message once, and each answered once", async () => {
  await using model = await startModelServer();
  model.respond(echo);
  await using database = await createTestDatabase();
  await using open = openStore(database.connection, { applicationName: "weir-test" });
  await using home = await openHome({
    modelUrl: model.url,
    config: '[database]\nurl = "env:MEMORIES_URL"\n[[agents]]\nid = "main"\n',
  });
  await writeFile(path.join(home.folder, ".env"), `MEMORIES_URL=${connectionUrl(database.connection)}\n`);
  const lines = Array.from({ length: 12 }, (_, index) =>
    JSON.stringify({
      conversation_id: "irc",
      seq: index + 1,
      author: "ann",
      ts: new Date(Date.UTC(2026, 10, 21, 14, index)).toISOString(),
      text: `reading ${index + 1}`,
    }),
  );
  await writeFile(path.join(home.folder, "talk.jsonl"), lines.join("\n"));
  const command = ["replay", "talk.jsonl", "--reply-every", "3"];
  for (const [on, when] of [
    ["insert on entries", "new.text = 'reading 5'"],
    ["update on turns", "new.state <> old.state and new.to_seq > 8"],
  ] as const) {
    await using gate = await gateRows(open, on, when);
    const killed = home.start(...command);
    await gate.reached();
    await killed.kill();
    await gate.cut();
  }
  const last = await home.runAlone(...command);
  assert.equal(last.code, 0, last.stderr);
  const { out } = await home.run("log", "terminal:irc", "--json");
  assertWhole(
    parseLog(out),
    Array.from({ length: 12 }, (_, index) => `irc/${index + 1}`),
  );
});
