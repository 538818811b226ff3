// proves: src/channel/retention.ts, migrations/baseline/18_retention.sql, src/daemon/reload.ts, src/admin/requests/ask-daemon.ts
// A daemon that is killed while it deletes old texts, or while it takes up a configuration: nothing is half done, and the next one ends it.
import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { after, test } from "node:test";
import { envOf, openMainHome } from "../support/e2e-main.ts";
import { openLoopbackWorld } from "../support/e2e-loopback.ts";
import { compactions, listen, openScene, quiet, script } from "../support/compaction.ts";
import { text } from "../support/model-behaviours.ts";
import { until } from "../support/patience.ts";
import { gateRows } from "../support/row-gate.ts";

const scene = await openScene();
after(async () => scene[Symbol.asyncDispose]());
const world = await openLoopbackWorld();
after(async () => world[Symbol.asyncDispose]());
const { open, server } = scene;

/** A channel with two summaries, all of a month ago. @returns the ranges of the summaries */
async function plantOldTexts(): Promise<(readonly [from: number, to: number])[]> {
  {
    await using weir = await scene.start({
      window: 32_000,
      compaction: "max_raw_messages = 10\nkeep_messages = 3",
    });
    script(server, () => text("The river rose at the mill."));
    for (let number = 1; compactions(weir, "old", "committed").length < 2; number++) {
      await listen(weir, "old", number, number);
      const row = await weir.daemon.store.channels.find({ platform: "test", name: "old" });
      assert.ok(row !== undefined);
      await weir.daemon.registry.get(row.id);
      await quiet(weir, "old");
    }
  }
  // The log is append-only: only a clock can make it older.
  await open.sql("alter table entries disable trigger user");
  await open.sql(
    "update entries set at = at - interval '40 days', appended_at = appended_at - interval '40 days'",
  );
  await open.sql("alter table entries enable trigger user");
  const rows = await open.sql<{ fromSeq: number; toSeq: number }>(
    "select from_seq, to_seq from summaries where level = 1 order by from_seq",
  );
  return rows.map(({ fromSeq, toSeq }) => [fromSeq, toSeq] as const);
}

/** Seqs whose text is gone, and those with a fingerprint. */
async function expired(): Promise<{
  readonly texts: number[];
  readonly prints: number[];
  readonly found: number[];
}> {
  const seqs = async (sql: string): Promise<number[]> =>
    (await open.sql<{ seq: number }>(sql)).map(({ seq }) => seq);
  return {
    texts: await seqs("select seq from entries where expired_at is not null order by seq"),
    prints: await seqs("select seq from entry_prints order by seq"),
    found: await seqs(
      "select e.seq from entries e where e.expired_at is not null and e.text <> '' order by seq",
    ),
  };
}

const range = (from: number, to: number): number[] =>
  Array.from({ length: to - from + 1 }, (_, index) => from + index);

const BASE = `${world.config}[retention]\ntext_days = 30\n`;
const home = await openMainHome(BASE, envOf(scene.connection, server.url));
after(async () => home[Symbol.asyncDispose]());

test("killed while old texts are deleted, whole summaries' texts are gone or there, and the next start deletes the rest", async () => {
  const [first, second] = await plantOldTexts();
  assert.ok(first !== undefined && second !== undefined);
  server.respond(() => text("noted"));
  const middle = Math.floor((second[0] + second[1]) / 2);
  for (const seq of [middle, second[1]]) {
    await using gate = await gateRows(
      open,
      "update on entries",
      `new.expired_at is not null and new.seq = ${seq}`,
    );
    const daemon = home.run("start");
    await gate.reached();
    await world.say("room", `at-${seq}`, "are you there?");
    await daemon.kill();
    await gate.cut();
    const kept = range(first[0], first[1]);
    assert.deepEqual(await expired(), { texts: kept, prints: kept, found: [] });
  }
  const daemon = await home.start();
  await daemon.errorLine("texts_no_longer_kept");
  const all = range(first[0], second[1]);
  assert.deepEqual(await expired(), { texts: all, prints: all, found: [] });
  await world.untilAnswered();
  daemon.signal("SIGTERM");
  assert.equal((await daemon.ended).code, 0);
  await world.assertAnsweredOnce();
});

test("killed while a reload takes a configuration up, whoever asked for it is told, and the next start has all of it", async () => {
  server.respond(({ messages }) =>
    text(String(messages[0]?.content).includes("Speak of boats.") ? "boats" : "mills"),
  );
  const file = path.join(home.folder, "config.toml");
  const before = await readFile(file, "utf8");
  const daemon = await home.start();
  await world.say("room", "before", "what do you speak of?");
  await world.untilAnswered();
  await using gate = await gateRows(open, "insert on shared_memories", "true");
  await writeFile(
    file,
    `${before}instructions = "Speak of boats."\nshared_memory = ["other"]\n[[agents]]\nid = "other"\nmodel = "test-model"\n`,
  );
  const asked = home.run("reload", "--force");
  await gate.reached();
  await until(
    "the request is taken",
    async () =>
      (await open.sql("select from requests where kind = 'reload' and taken_at is not null")).length > 0,
  );
  await world.say("room", "meanwhile", "and now?");
  await daemon.kill();
  await gate.cut();
  const { code } = await asked.finish();
  assert.equal(code, 1);
  assert.match(asked.stderr, /The daemon that took this has ended, and nobody answers\. Run this again\./);
  assert.doesNotMatch(asked.stderr, /^ +at /m);

  const next = await home.start();
  await world.untilAnswered();
  await world.say("room", "after", "and now?");
  await world.untilAnswered();
  const answers = (await world.bot("room")).map((message) => message.text);
  assert.equal(answers.at(-1), "boats");
  assert.deepEqual(await open.sql("select agent, other from shared_memories"), [
    { agent: "main", other: "other" },
  ]);
  const again = await home.look("reload");
  assert.equal(again.code, 0, again.stderr);
  assert.match(again.out.join("\n"), /^Nothing has changed/);
  next.signal("SIGTERM");
  assert.equal((await next.ended).code, 0);
  await world.assertAnsweredOnce();
});
