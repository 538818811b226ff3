// proves: src/admin/reports/turn-log.ts
import assert from "node:assert/strict";
import { appendFile, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { after, test } from "node:test";
import { READ_BYTES, readTurnLog } from "../../../src/admin/reports/turn-log.ts";
import { turnId } from "../../../src/core/ids.ts";

const folder = await mkdtemp(path.join(tmpdir(), "weir-turn-log-"));
after(async () => rm(folder, { recursive: true, force: true }));
const file = path.join(folder, "weir.log");

function line(msg: string, fields: object): string {
  return `${JSON.stringify({ level: 40, time: 0, msg, channel: "test:quay", ...fields })}\n`;
}

test("the lines of a turn alone are read, without the sentences in them", async () => {
  assert.equal(await readTurnLog(file, turnId(7)), null, "no file");
  await writeFile(
    file,
    [
      line("turn_settled", { turn: 7, outcome: "failed", reason: "unavailable", said: "swordfish" }),
      line("tool_failed", { turn: 7, tool: "look", why: "it said: the word is swordfish" }),
      line("delivery_failed", { turn: 7, kind: "refused", ids: ["a", "b"], texts: ["the swordfish"] }),
      line("turn_settled", { turn: 77, outcome: "answered" }),
      line("other", { note: '"turn":7', turn: 8 }),
      'not a line "turn":7\n',
    ].join(""),
  );
  const lines = await readTurnLog(file, turnId(7));
  assert.deepEqual(
    lines?.map((one) => one.slice(one.indexOf("warn"))),
    [
      "warn turn      test:quay  failed   unavailable  turn=7",
      "warn tool_failed  test:quay  turn=7 tool=look",
      'warn delivery_failed  test:quay  turn=7 kind=refused ids=["a","b"]',
    ],
  );
});

test("only the newest part of a long log is read, and the newest lines of it", async () => {
  const filler = line("other", { words: "x".repeat(1000) });
  await writeFile(file, line("turn_started", { turn: 9, number: "first" }));
  await appendFile(file, filler.repeat(Math.ceil(READ_BYTES / filler.length)));
  for (let n = 1; n <= 120; n++) await appendFile(file, line("turn_steered", { turn: 9, messages: n }));
  const lines = (await readTurnLog(file, turnId(9))) ?? [];
  assert.equal(lines.length, 100);
  assert.ok(lines[0]?.includes("messages=21") === true && lines[99]?.includes("messages=120") === true);
});
