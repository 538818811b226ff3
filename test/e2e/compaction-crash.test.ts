import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import path from "node:path";
import { after, test } from "node:test";
import { z } from "zod";
import { assertWhole, type Home, openHome, openSeed } from "../support/e2e.ts";
import { text } from "../support/model-behaviours.ts";
import { type ModelServer, startModelServer } from "../support/model-server.ts";

const seed = await openSeed();
after(async () => seed[Symbol.asyncDispose]());

const KILLS = 3;
const MESSAGES = 400;
const CONFIG = `
[defaults]
model = "talker"
compactor_model = "summariser"
context_window = 16000
`;

const coverage = z.object({
  log: z.object({ entries: z.number(), coveredTo: z.number() }),
  omission: z.unknown(),
});
const compaction = z.looseObject({
  kind: z.string(),
  tier: z.string(),
  state: z.string(),
  attempt: z.number(),
  fromSeq: z.number(),
  toSeq: z.number(),
});

/** A summariser that takes a moment, so that kills find it at work. */
async function startModel(): Promise<ModelServer> {
  const server = await startModelServer();
  server.respond((request) =>
    request.model === "summariser"
      ? text(`Summary of what was said before, by the summariser.`, { firstDelayMs: 40 })
      : text("Boats and weirs, then."),
  );
  return server;
}

/** Nothing in it is a fact that a summary must repeat: one without such a fact is asked for twice in its attempt. */
async function writeRecording(home: Home): Promise<string> {
  const file = path.join(home.folder, "talk.jsonl");
  const lines = Array.from({ length: MESSAGES }, (_, index) =>
    JSON.stringify({
      conversation_id: "talk",
      author: `person ${index % 7}`,
      ts: new Date(Date.UTC(2026, 0, 1) + index * 60_000).toISOString(),
      // One message alone is enough for a summary: whatever is left at the end, `compact` can cover it.
      text: `This long conversation is about boats, weirs and the level of the river. `.repeat(5),
    }),
  );
  await writeFile(file, `${lines.join("\n")}\n`);
  return file;
}

const REPLAY = ["--channel", "room", "--reply-every", "20"];

/** What the finished channel covers, after everything that may be summarised is. */
async function coverageOf(home: Home): Promise<z.infer<typeof coverage>> {
  const compacted = await home.run("compact", "room");
  // It says so, and ends with 1, where the replay has summarised all of it already.
  if (!compacted.stderr.includes("there is nothing before the newest messages"))
    assert.equal(compacted.code, 0, compacted.stderr);
  const { code, out, stderr } = await home.run("context", "room", "--json");
  assert.equal(code, 0, stderr);
  return coverage.parse(JSON.parse(out.join("\n")));
}

test("a replay that is killed again and again ends with the same log and coverage, and pays for no summary twice", async (t) => {
  await using model = await startModel();
  await using home = await openHome({ modelUrl: model.url, seed, config: CONFIG });
  const file = await writeRecording(home);
  for (let kill = 1; kill <= KILLS; kill++) {
    const killed = home.start("replay", file, ...REPLAY);
    const isPast = `${kill * 20} %`;
    await killed.errorLine(isPast);
    // Some with a summary under way, some in the middle of its commit, some between two.
    const heard = model.requests.filter(({ body }) => body.model === "summariser").length;
    if (kill % 2 === 0) await model.received(model.requests.length + 1);
    await killed.kill();
    t.diagnostic(`kill ${kill} past ${isPast}, ${heard} requests to the summariser so far`);
  }
  const { code, out, stderr } = await home.run("replay", file, ...REPLAY);
  assert.equal(code, 0, stderr);
  assert.match(out.join("\n"), /^messages +[\d,]+ appended, [\d,]+ known/m);

  const ids = Array.from({ length: MESSAGES }, (_, index) => `talk/${index}`);
  assertWhole(await home.log("room"), ids);

  // A kill while the summariser answers loses that answer; one that was heard whole is never asked for again.
  const asked = new Map<string, number>();
  for (const { body, outcome } of model.requests) {
    if (body.model !== "summariser" || outcome !== "answered") continue;
    const key = JSON.stringify(body.messages);
    asked.set(key, (asked.get(key) ?? 0) + 1);
  }
  const twice = [...asked.values()].filter((times) => times > 1).length;
  assert.ok(twice <= KILLS, `${twice} summaries were paid for twice`);

  const listed = await home.run("compactions", "room", "--json", "--limit", "1000");
  assert.equal(listed.code, 0, listed.stderr);
  const jobs = listed.out.map((line) => compaction.parse(JSON.parse(line)));
  const leaves = jobs.filter(({ kind, state }) => kind === "leaf" && state === "committed");
  assert.ok(leaves.length >= 5, `${leaves.length} leaves`);
  assert.ok(jobs.some(({ kind, state }) => kind === "merge" && state === "committed"));
  let covered = 0;
  for (const { fromSeq, toSeq } of leaves) {
    assert.equal(fromSeq, covered + 1, "each leaf begins where the last one ended");
    covered = toSeq;
  }
  assert.ok(jobs.every(({ state }) => state !== "running" && state !== "staged"));

  await using calm = await openHome({ modelUrl: model.url, seed, config: CONFIG });
  const whole = await calm.run("replay", await writeRecording(calm), ...REPLAY);
  assert.equal(whole.code, 0, whole.stderr);
  const [one, other] = [await coverageOf(home), await coverageOf(calm)];
  assert.deepEqual({ ...one.log, coveredTo: 0 }, { ...other.log, coveredTo: 0 });
  assert.deepEqual([one.omission, other.omission], [null, null]);
  // Where the last stretch ends depends on when it was written; what is left behind it is too little for a summary.
  assert.ok(
    Math.abs(one.log.coveredTo - other.log.coveredTo) <= 2,
    `${one.log.coveredTo}, ${other.log.coveredTo}`,
  );
});
