// proves: src/cli/compactions.ts, src/store/turns/model-calls.ts, src/channel/model-usage.ts
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import path from "node:path";
import { test } from "node:test";
import { z } from "zod";
import { compactions, fillLog, listen, openScene, quiet, script, SUMMARISER } from "../support/compaction.ts";
import { openHome } from "../support/e2e.ts";
import { text } from "../support/model-behaviours.ts";
import { connectionUrl } from "../support/weir.ts";

const SUMMARY = "Ann measures the river each morning; the readings are in the green book.";
const PRICED = `[models."${SUMMARISER}"]\nprice_in = 10\nprice_out = 100\nprice_cached = 1\n`;

const job = z.looseObject({
  id: z.number(),
  spent: z.array(z.looseObject({ model: z.string(), calls: z.number(), promptTokens: z.number() })),
  cost: z.object({ dollars: z.number().nullable(), unpriced: z.array(z.string()) }),
});

test("weir compactions tells what each cost, and all together", async () => {
  await using scene = await openScene();
  script(scene.server, () => text(SUMMARY, { usage: { prompt: 4000, cached: 1000, completion: 50 } }));
  await fillLog(scene.open, "room", 30);
  {
    await using weir = await scene.start({ compaction: "keep_messages = 6" });
    for (let round = 0; round < 2; round++) {
      await listen(weir, "room", 31 + round * 100, 130 + round * 100);
      await quiet(weir, "room");
    }
    assert.ok(compactions(weir, "room", "committed").length >= 2);
  }
  const rows = await scene.open.sql<{ jobId: number | null }>(
    "select job_id from model_calls where purpose = 'compaction' order by id",
  );
  assert.ok(rows.length >= 2 && rows.every(({ jobId: id }) => id !== null), "each call is for a job");

  await using home = await openHome({
    modelUrl: scene.server.url,
    config: `[database]\nurl = "env:SCENE"\n${PRICED}`,
  });
  await writeFile(path.join(home.folder, ".env"), `SCENE=${connectionUrl(scene.connection)}\n`);
  const list = async (...args: string[]): Promise<string[]> => {
    const { code, out, stderr } = await home.run("compactions", "test:room", ...args);
    assert.equal(code, 0, stderr);
    return out;
  };
  // A long range takes more than one.
  const calls = (shown: string): number =>
    Array.from(shown.matchAll(/^ +(\d+) model calls?, /gm), ([, count]) => Number(count)).reduce(
      (sum, one) => sum + one,
      0,
    );
  const whole = (await list()).join("\n");
  assert.equal(calls(whole), rows.length, whole);
  // 3,000 tokens at $10 and 1,000 at $1 for a million, and 50 at $100.
  assert.match(whole, /1 model call, 4,000 tokens in \(1,000 cached, 25 %\), 50 out; \$0\.036$/m);
  assert.match(whole, /\nall compactions by today's prices: .*; \$\d+\.\d+$/);

  const jobs = (await list("--json")).map((line) => job.parse(JSON.parse(line)));
  const dollars = jobs.map(({ cost }) => cost.dollars ?? 0).reduce((sum, one) => sum + one, 0);
  assert.equal(dollars.toFixed(3), (rows.length * 0.036).toFixed(3));
});
