// proves: src/memory/statement-marks.ts, src/memory/revisions.ts, src/store/memory/revisions.ts
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import path from "node:path";
import { test, type TestContext } from "node:test";
import { agentId, type ChannelId, memoryId } from "../../../src/core/ids.ts";
import { MEMORY_TYPES } from "../../../src/core/memory.ts";
import { readRevisions, revisionTask } from "../../../src/memory/revisions.ts";
import { marksOf } from "../../../src/memory/statement-marks.ts";
import { openTestStore } from "../open-store.ts";
import { rememberIn } from "../remember.ts";

/** Pairs of statements of one person: a language, whether the second one ends the first, a type, a subject, and both. */
const PAIRS = readFileSync(path.join(import.meta.dirname, "../../memory/samples/changes.txt"), "utf8")
  .trim()
  .split("\n")
  .map((line) => {
    const [language = "", ends, type = "", subject = "", older = "", newer = ""] = line.split("|");
    const known = MEMORY_TYPES.find((one) => one === type);
    if (known === undefined) throw new Error(`no type ${type}: ${line}`);
    return { language, ends: ends === "ends", type: known, subject, older, newer };
  });
type Pair = (typeof PAIRS)[number];

const open = await openTestStore();
const { store } = open;
let count = 0;

/** A channel in which somebody says one after the other. */
async function said({ type, subject, older, newer }: Pair): Promise<ChannelId> {
  const address = { platform: "test", name: `pair-${++count}` };
  const id = await store.channels.open({ address, agent: agentId("main"), workspace: "", kind: "channel" });
  for (const [day, statement] of [older, newer].entries()) {
    const at = new Date(Date.UTC(2026, 4, 1 + day));
    const seq = await open.say(id, statement, { id: `said-${++count}`, at });
    const memory = { type, subject, statement, at, ...marksOf(statement) };
    await rememberIn(open, id, { ...memory, sources: [{ seq, quote: statement }] });
  }
  return id;
}

/** The statements of a channel that hold. */
async function held(channel: ChannelId): Promise<readonly string[]> {
  const rows = await open.sql<{ statement: string }>(
    "select statement from memories where channel_id = $1 and valid_to is null order by id",
    channel,
  );
  return rows.map(({ statement }) => statement);
}

/** A summariser that says of each pair what is so. */
async function judge(channel: ChannelId, { ends }: Pair): Promise<void> {
  const unjudged = await store.revisions.unjudged(channel);
  const task = unjudged === null ? null : revisionTask(unjudged.fresh, unjudged.known);
  if (unjudged === null || task === null) return;
  const changes = [...task.pairs].map((pair) => {
    const [fresh, older] = pair.split("/").map(Number);
    return { new: fresh, old: older, change: ends ? "replaces" : "agrees" };
  });
  await store.revisions.revise(
    channel,
    memoryId(unjudged.upTo),
    readRevisions(JSON.stringify({ changes }), task),
  );
}

/** Shares of pairs, by language, after which exactly the right ones hold. */
async function rightShares(t: TestContext, isJudged: boolean): Promise<ReadonlyMap<string, number>> {
  const right = new Map<string, boolean[]>();
  for (const pair of PAIRS) {
    const channel = await said(pair);
    if (isJudged) await judge(channel, pair);
    const hold = await held(channel);
    const expected = pair.ends ? [pair.newer] : [pair.older, pair.newer];
    const key = `${pair.language}, ${pair.ends ? "ended" : "kept"}`;
    const isRight = hold.join("\n") === expected.join("\n");
    right.set(key, [...(right.get(key) ?? []), isRight]);
    if (!isRight) t.diagnostic(`${key}: ${pair.older} -> ${pair.newer}`);
  }
  return new Map([...right].map(([key, all]) => [key, all.filter(Boolean).length / all.length]));
}

for (const { isJudged, ended, kept } of [
  { isJudged: false, ended: 0.6, kept: 0.9 },
  { isJudged: true, ended: 0.9, kept: 0.95 },
])
  test(`statements that change, judged by a summariser: ${isJudged}`, async (t) => {
    const shares = await rightShares(t, isJudged);
    for (const [key, share] of shares) t.diagnostic(`${key}: ${share.toFixed(3)}`);
    for (const [key, share] of shares)
      assert.ok(share >= (key.endsWith("ended") ? ended : kept), `${key}: ${share}`);
  });
