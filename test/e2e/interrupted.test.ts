// proves: src/main.ts, src/cli/shared/io.ts, src/files/write-file.ts, src/cli/memory-transfer.ts, src/cli/log.ts
// What ends before its end says so, ends with 1, and leaves no half of a file.
import assert from "node:assert/strict";
import { readdir, readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { test } from "node:test";
import { environment } from "../support/e2e.ts";
import { openHomeWithStore } from "../support/home-with-store.ts";
import { until } from "../support/patience.ts";
import { TestProcess } from "../support/process.ts";
import { gateRows } from "../support/row-gate.ts";

/** More than one page. */
const MEMORIES = 600;
/** Memories of an import that is interrupted after the first ones. */
const SOME = 100;
const MAIN = path.join(import.meta.dirname, "..", "..", "src", "main.ts");

const { home, open } = await openHomeWithStore();
const { id } = await open.channel("mill");
await open.say(id, "the river is high and the boat is in", { addressed: false });
await open.sql(
  `select count(add_memory($1, null, jsonb_build_object('type', 'fact', 'subject', 'Ann', 'assertedBy', 'Ann', 'importance', 0.5,
     'statement', 'The boat number ' || n || ' is in.', 'at', '2026-11-21T09:00:00Z',
     'sources', '[{"seq": 1, "quote": "the boat is in"}]'::jsonb)))
     from generate_series(1, ${MEMORIES}) as n`,
  id,
);

/** Starts it while nobody can read a table. @returns it, once it waits there, and what lets it go on */
async function held(
  table: string,
  ...args: readonly string[]
): Promise<{ readonly started: TestProcess; readonly release: () => Promise<void> }> {
  const end = Promise.withResolvers<void>();
  const locked = Promise.withResolvers<void>();
  const holding = open.db.transaction(async (client) => {
    await client.query("", `lock table ${table} in access exclusive mode`);
    locked.resolve();
    await end.promise;
  });
  await Promise.race([locked.promise, holding]);
  const started = home.start(...args);
  const waiting = `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
  await until("a statement that waits", async () => (await open.sql(waiting)).length > 0);
  return {
    started,
    release: async () => {
      end.resolve();
      await holding;
    },
  };
}

/** Runs it by a shell, in front of which something else stands. */
async function inShell(line: string, ...args: readonly string[]): Promise<TestProcess> {
  const env = environment({ OPENAI_BASE_URL: "http://127.0.0.1:9/v1" });
  const run = ["-c", line, "sh", process.execPath, MAIN, ...args];
  const started = new TestProcess("sh", run, { cwd: home.folder, env });
  await started.finish();
  return started;
}

async function leftOver(): Promise<string[]> {
  return (await readdir(home.folder)).filter((name) => name.includes("out.jsonl"));
}

function assertPlain({ stderr }: TestProcess, words: RegExp): void {
  assert.match(stderr, words);
  assert.doesNotMatch(stderr, /^ +at |Error:/m);
}

for (const signal of ["SIGINT", "SIGTERM"] as const)
  test(`an export that ${signal} ends leaves no file, and ends with 1`, async () => {
    const { started, release } = await held("memories", "memories", "export", "out.jsonl");
    started.signal(signal);
    await release();
    assert.equal((await started.finish()).code, 1);
    assertPlain(started, /^Interrupted: the export is not complete\.$/m);
    assert.deepEqual([started.out, await leftOver()], [[], []]);
  });

test("an export whose database is lost, or whose disk is full, leaves no file, and ends with 1", async () => {
  const { started, release } = await held("memories", "memories", "export", "out.jsonl");
  await open.sql(
    "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and application_name = 'weir-reader'",
  );
  await release();
  assert.equal((await started.finish()).code, 1);
  assertPlain(started, /^The database is not available/m);
  assert.deepEqual([started.out, await leftOver()], [[], []]);
  const full = await inShell(`trap '' XFSZ; ulimit -f 8; exec "$@"`, "memories", "export", "out.jsonl");
  assert.equal((await full.ended).code, 1);
  assertPlain(full, /^out\.jsonl cannot be written: EFBIG/m);
  assert.deepEqual([full.out, await leftOver()], [[], []]);
});

test("an export of which nobody reads the rest ends with 1; a log of which somebody has seen enough with 0", async () => {
  const cut = await held("memories", "memories", "export", "-");
  cut.started.closeOutput();
  await cut.release();
  assert.equal((await cut.started.finish()).code, 1);
  assertPlain(cut.started, /^The output is not complete: write EPIPE\.$/m);
  const seen = await held("entries", "log", "test:mill");
  seen.started.closeOutput();
  await seen.release();
  assert.deepEqual([(await seen.started.finish()).code, seen.started.stderr], [0, ""]);
});

test("a log that a signal ends in the middle ends with 1", async () => {
  const { started, release } = await held("entries", "log", "test:mill");
  started.signal("SIGTERM");
  // What it reads next must not reach it together with the signal.
  await started.untilIdle();
  await release();
  assert.equal((await started.finish()).code, 1);
  assertPlain(started, /^Interrupted: the output is not complete\.$/m);
});

test("a replay that a signal ends, ends with 1, and the same command does the rest", async () => {
  const ts = "2026-05-01T12:00:00Z";
  const said = [1, 2, 3].map((n) =>
    JSON.stringify({ conversation_id: "c", author: "Ann", ts, text: `no. ${n}` }),
  );
  await writeFile(path.join(home.folder, "talk.jsonl"), said.join("\n"));
  const replay = ["replay", "talk.jsonl", "--channel", "room"];
  await using gate = await gateRows(open, "insert on entries", "new.text = 'no. 2'");
  const started = home.start(...replay);
  await gate.reached();
  started.signal("SIGTERM");
  // As above.
  await started.untilIdle();
  await gate.open();
  assert.equal((await started.finish()).code, 1);
  assertPlain(started, /^Interrupted: run this again, and it goes on from here\.$/m);
  const again = await home.run(...replay);
  assert.equal(again.code, 0, again.stderr);
  assert.match(again.out.join("\n"), /^messages +1 appended, 2 known from an earlier run$/m);
});

test("an output that cannot be written is no success", { skip: process.platform !== "linux" }, async () => {
  for (const args of [
    ["memories", "export", "-"],
    ["log", "test:mill"],
    ["memories", "--json"],
    ["channels"],
  ]) {
    const full = await inShell('exec "$@" > /dev/full', ...args);
    assert.equal((await full.ended).code, 1, args.join(" "));
    assertPlain(full, /^The output cannot be written: ENOSPC/m);
  }
});

test("an import that is interrupted says how far it came, and run again adds the rest and nothing twice", async () => {
  const whole = await home.run("memories", "export", "out.jsonl");
  assert.deepEqual(whole.out, [`${MEMORIES} memories written to out.jsonl. No deletion reaches this file.`]);
  const lines = (await readFile(path.join(home.folder, "out.jsonl"), "utf8")).trim().split("\n");
  assert.equal(lines.length, MEMORIES);
  await writeFile(path.join(home.folder, "some.jsonl"), `${lines.slice(0, SOME).join("\n")}\n`);
  await open.db.script("delete from memory_sources; delete from memories");
  const importUntil = async (stop: "a signal" | "the end of the database"): Promise<TestProcess> => {
    await using gate = await gateRows(open, "insert on memories", "true");
    const started = home.start("memories", "import", "some.jsonl");
    await gate.reached();
    if (stop === "a signal") {
      started.signal("SIGINT");
      await gate.open();
    } else await gate.cut();
    assert.equal((await started.finish()).code, 1);
    return started;
  };
  const interrupted = await importUntil("a signal");
  const said = /^Interrupted.*: the lines before (\d+) are done, (\d+) memor(?:y|ies) added\. Run this again/;
  assertPlain(interrupted, said);
  // The first of them was added before the signal was heeded.
  const [, before, added] = said.exec(interrupted.err.join("\n")) ?? [];
  const known = Number(added);
  assert.ok(known >= 1 && known < SOME && Number(before) === known + 1, `${before}, ${added}`);
  assertPlain(
    await importUntil("the end of the database"),
    new RegExp(
      `^The database is not available.*: the lines before ${known + 1} are done, 0 memories added\\. Run this again`,
    ),
  );
  const again = await home.run("memories", "import", "some.jsonl");
  assert.deepEqual([again.code, again.out], [0, [`${SOME - known} memories added. ${known} known already.`]]);
});
