import assert from "node:assert/strict";
import { mkdtempDisposableSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { test } from "node:test";
import { LogFile } from "../../src/telemetry/log-file.ts";
import { LogTail } from "../../src/telemetry/log-tail.ts";

test("each line is read once, in order, also of a file that makes room between two looks", () => {
  using folder = mkdtempDisposableSync(path.join(tmpdir(), "weir-tail-"));
  const file = path.join(folder.path, "weir.log");
  using tail = new LogTail(file);
  const read: string[] = [];
  const look = (): void => tail.read((line) => read.push(line));
  assert.equal(tail.isOpen, false);
  look();
  const log = new LogFile({ path: file, maxBytes: 40, maxFiles: 3 });
  const written = Array.from({ length: 40 }, (_, index) => `line ${index} «ä»`);
  for (const [index, line] of written.entries()) {
    log.write(`${line}\n`);
    // Two lines are a file: some looks come behind the change to the next one.
    if (index % 3 !== 1) look();
  }
  look();
  assert.deepEqual(read, written);
});

test("half a line waits for its other half", () => {
  using folder = mkdtempDisposableSync(path.join(tmpdir(), "weir-tail-"));
  const file = path.join(folder.path, "weir.log");
  const log = new LogFile({ path: file, maxBytes: 1000, maxFiles: 1 });
  log.write("one\ntw");
  using tail = new LogTail(file);
  const read: string[] = [];
  tail.read((line) => read.push(line));
  assert.deepEqual(read, ["one"]);
  log.write("o\n");
  tail.read((line) => read.push(line));
  assert.deepEqual(read, ["one", "two"]);
});
