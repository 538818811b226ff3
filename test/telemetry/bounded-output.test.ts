import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, constants, mkdtempSync, openSync, rmSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { Writable } from "node:stream";
import { text } from "node:stream/consumers";
import { test } from "node:test";
import { setImmediate as nextTick } from "node:timers/promises";
import { z } from "zod";
import { BoundedOutput, MOST_WAITING } from "../../src/telemetry/bounded-output.ts";
import { environment } from "../support/e2e.ts";

const SRC = path.join(import.meta.dirname, "..", "..", "src");

test("at the bound lines are dropped and counted, and a line says how many once the reader reads on", async () => {
  const taken: string[] = [];
  let done: (() => void) | undefined;
  const stream = new Writable({
    decodeStrings: false,
    write(chunk: string, _encoding, next) {
      taken.push(chunk);
      done = next;
    },
  });
  const output = new BoundedOutput(stream, (dropped) => `${dropped} dropped`);
  const line = "x".repeat(MOST_WAITING / 2);
  for (let written = 0; written < 10; written++) output.write(line);
  const read = async (): Promise<void> => {
    while (done !== undefined) {
      const next = done;
      done = undefined;
      next();
      await nextTick();
    }
  };
  await read();
  output.write("last");
  await read();
  assert.deepEqual(taken, [line, line, line, "7 dropped", "last"]);
});

test("a reader of stderr that stalls holds nothing up, and reads later how many lines it missed", async () => {
  const lines = 40_000;
  const script = `
    import { createLog } from ${JSON.stringify(path.join(SRC, "telemetry", "log.ts"))};
    const log = createLog("info", { stderr: "json" });
    for (let n = 0; n < ${lines}; n++) {
      log.info({ n, more: "x".repeat(200) }, "event");
      if (n % 100 === 0) await new Promise(setImmediate);
    }
    process.stdout.write("all written\\n");`;
  const child = spawn(process.execPath, ["--input-type=module", "--eval", script], {
    cwd: SRC,
    env: environment(),
    stdio: ["ignore", "pipe", "pipe"],
  });
  const exit = once(child, "exit");
  await once(child.stdout, "data");
  const read = await text(child.stderr);
  const records = read
    .trimEnd()
    .split("\n")
    .map((line) => z.looseObject({ msg: z.string(), lines: z.number().optional() }).parse(JSON.parse(line)));
  const dropped = records.filter(({ msg }) => msg.startsWith("log_lines_dropped"));
  assert.equal(dropped.length, 1);
  assert.equal(records.length - 1 + (dropped[0]?.lines ?? 0), lines);
  assert.deepEqual(await exit, [0, null]);
});

test("a program that is done ends also where nobody reads what it has to say", async () => {
  const folder = mkdtempSync(path.join(tmpdir(), "weir-unread-"));
  const pipe = path.join(folder, "pipe");
  execFileSync("mkfifo", [pipe]);
  const unread = openSync(pipe, constants.O_RDWR | constants.O_NONBLOCK);
  const full = openSync(pipe, "w");
  try {
    assert.throws(() => {
      for (;;) writeSync(unread, "x".repeat(1000));
    }, /EAGAIN/);
    const args = [path.join(SRC, "main.ts"), "status", "--config", path.join(folder, "none.toml")];
    const child = spawn(process.execPath, args, { env: environment(), stdio: ["ignore", "ignore", full] });
    assert.deepEqual(await once(child, "exit"), [78, null]);
  } finally {
    closeSync(unread);
    closeSync(full);
    rmSync(folder, { recursive: true });
  }
});
