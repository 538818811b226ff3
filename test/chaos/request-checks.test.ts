// proves: src/turn/turn-contexts.ts, src/llm/retrying-model.ts
import assert from "node:assert/strict";
import { test } from "node:test";
import { LogChecks } from "./log-checks.ts";
import type { MutantName } from "./mutants.ts";
import { untilRecovered } from "./recovery.ts";
import { RequestChecks } from "./request-checks.ts";
import { openScene } from "./scene.ts";
import { isSmallerTry } from "./smaller-tries.ts";

const CHANNEL = "terminal:one";
const PATIENCE_MS = 120_000;

/**
 * A server that refuses two turns without a reason, and then answers.
 * @returns smaller tries, and what the checks say
 */
async function refusedTurns(mutant: MutantName | null): Promise<{ tries: number; problems: string[] }> {
  await using scene = await openScene(1, mutant);
  const { model, people, sql } = scene;
  const log = new LogChecks(sql, people);
  const checks = new RequestChecks(model, people, log, sql);
  // No summary moves the view.
  model.mood = "stalled";
  // Nothing was answered yet, so that the size may be the reason.
  await people.say(14, "long", { channel: CHANNEL, listen: 1 });
  model.failsTurns = true;
  for (const failsTurns of [true, true, false]) {
    model.failsTurns = failsTurns;
    await people.say(1, "short", { channel: CHANNEL, listen: 0 });
    await untilRecovered(scene, PATIENCE_MS);
  }
  await log.problems();
  const tries = model.turns.filter(isSmallerTry).length;
  const problems = (await checks.problems()).map(({ what }) => what);
  return { tries, problems };
}

test("a smaller request in place of a refused one is no problem", async () => {
  const { tries, problems } = await refusedTurns(null);
  assert.ok(tries >= 2, `${tries} smaller tries`);
  assert.deepEqual(problems, []);
});

test("a daemon whose view stays as small as such a request was is found", async () => {
  const { problems } = await refusedTurns("the view of a smaller try stays");
  assert.match(problems.join("\n"), /a request begins at \d+, the view behind/);
});
