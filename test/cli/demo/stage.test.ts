import assert from "node:assert/strict";
import { PassThrough } from "node:stream";
import { test } from "node:test";
import headless from "@xterm/headless";
import { Keys } from "../../../src/cli/demo/keys.ts";
import { Stage } from "../../../src/cli/demo/stage.ts";

const COLUMNS = 80;
const LEVEL = {
  usage: 0.5,
  usable: 5000,
  marks: [0.8, 0.85, 0.95],
  omitted: 0,
  coveredTo: 0,
  summaries: 1,
  memories: 2,
};

/** A stage, and what a real terminal shows of it. */
function openStage(): { stage: Stage; rows: () => Promise<string[]> } {
  const stream = Object.assign(new PassThrough(), { isTTY: true, columns: COLUMNS });
  const screen = new headless.Terminal({ cols: COLUMNS, rows: 30, convertEol: true, allowProposedApi: true });
  stream.on("data", (chunk: Buffer) => screen.write(chunk));
  const stage = new Stage({ stream, hasColour: false, speed: Infinity, messages: 400 });
  return {
    stage,
    async rows() {
      await new Promise<void>((resolve) => screen.write("", resolve));
      const { active } = screen.buffer;
      const all = Array.from({ length: 30 }, (_, row) => active.getLine(row)?.translateToString(true) ?? "");
      return all.filter((row) => row !== "");
    },
  };
}

test("on a terminal the gauge, the explanation and the keys stay below the conversation", async () => {
  const { stage, rows } = openStage();
  stage.open();
  stage.person("ana", "the code is 4719", new Date("2026-03-02T18:43:00Z"));
  stage.level(LEVEL);
  stage.explain("50 %: nothing happens");
  stage.agent("weir", "it is\n\n> 4719");
  assert.deepEqual(await rows(), [
    "── 2026-03-02 ──",
    "ana   the code is 4719",
    "weir  it is",
    "      > 4719",
    "─".repeat(COLUMNS - 1),
    `${"█".repeat(15)}${"░".repeat(9)}┊┊░░┊░  50 %; 1 summary, 2 memories`,
    "50 %: nothing happens",
    "message 1 of 400; room for 5,000 tokens; space pauses, q ends",
  ]);
  stage.close();
  assert.deepEqual((await rows()).slice(-1), ["      > 4719"]);
});

test("space pauses and goes on, and q ends, also a pause", async () => {
  const stdin = Object.assign(new PassThrough(), { isTTY: true, setRawMode: (_isRaw: boolean) => stdin });
  const pauses: boolean[] = [];
  using keys = new Keys(stdin, (isPaused) => pauses.push(isPaused));
  const press = async (key: string): Promise<void> => {
    stdin.write(key);
    await new Promise(setImmediate);
  };
  await keys.running();
  await press(" ");
  let isRunning = false;
  const running = keys.running().then(() => (isRunning = true));
  await new Promise(setImmediate);
  assert.equal(isRunning, false);
  await press(" ");
  await running;
  assert.deepEqual(pauses, [true, false]);
  await press(" ");
  await press("q");
  await keys.running();
  assert.equal(keys.quit.aborted, true);
});
