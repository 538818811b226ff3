import assert from "node:assert/strict";
import { existsSync, mkdirSync, readFileSync, rmSync, statSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { LogFile, logFiles } from "../../src/telemetry/log-file.ts";
import { folderWith } from "../config/folder.ts";

test("a file that is long enough makes room for a new one, and only so many are kept", (t) => {
  const file = path.join(folderWith(t, {}), "data", "weir.log");
  const log = new LogFile({ path: file, maxBytes: 100, maxFiles: 3 });
  for (let count = 1; count <= 50; count++)
    log.write(`line ${String(count).padStart(3, "0")} ${"x".repeat(20)}\n`);
  const files = logFiles(file, 3);
  assert.deepEqual(files, [`${file}.2`, `${file}.1`, file]);
  assert.ok(!existsSync(`${file}.3`));
  const all = files.map((one) => readFileSync(one, "utf8")).join("");
  assert.deepEqual(
    [...all.matchAll(/line (\d+)/g)].map(([, number]) => Number(number)),
    [43, 44, 45, 46, 47, 48, 49, 50],
  );
  for (const one of files) {
    assert.ok(statSync(one).size <= 100);
    assert.equal(statSync(one).mode & 0o777, 0o600);
  }
});

test("it goes on where it ended, two of them lose nothing, and one that cannot be written throws nothing", (t) => {
  const folder = folderWith(t, {});
  const file = path.join(folder, "weir.log");
  const options = { path: file, maxBytes: 60, maxFiles: 20 };
  new LogFile(options).write("of the run before\n");
  const [one, two] = [new LogFile(options), new LogFile(options)];
  for (let count = 0; count < 10; count++) {
    one.write(`one ${count}\n`);
    two.write(`two ${count}\n`);
  }
  const all = logFiles(file, 20)
    .map((each) => (existsSync(each) ? readFileSync(each, "utf8") : ""))
    .join("");
  assert.equal(all.split("\n").length, 22);
  assert.match(all, /^of the run before\n/);
  rmSync(folder, { recursive: true });
  mkdirSync(file, { recursive: true });
  new LogFile(options).write("nowhere to go\n");
});

test("one file alone is begun anew", (t) => {
  const file = path.join(folderWith(t, {}), "weir.log");
  const log = new LogFile({ path: file, maxBytes: 10, maxFiles: 1 });
  for (const line of ["first\n", "second\n"]) log.write(line);
  assert.equal(readFileSync(file, "utf8"), "second\n");
});
