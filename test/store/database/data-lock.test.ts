import assert from "node:assert/strict";
import { mkdir, mkdtemp, readdir, rm, rmdir, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import { OperatorError } from "../../../src/core/errors.ts";
import { acquireDataLock } from "../../../src/store/database/data-lock.ts";
import { startChildScript } from "../../support/child-script.ts";

let dataDir: string;
beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), "weir lock "));
});
afterEach(async () => rm(dataDir, { recursive: true, force: true }));

const holder = async () => startChildScript("lock-holder.ts", dataDir);

describe("the lock of a data folder", () => {
  it("is refused while another process has it, with its id and what to do", async () => {
    await using first = await holder();
    assert.equal(first.firstLine, "locked");
    await assert.rejects(acquireDataLock(dataDir), (error) => {
      assert.ok(error instanceof OperatorError);
      assert.match(error.message, new RegExp(`process ${first.child.pid}\\b`));
      assert.ok(error.message.includes(dataDir));
      assert.match(error.message, /data_dir/);
      return true;
    });
  });

  it("is refused within the process that has it, too", async () => {
    await using _lock = await acquireDataLock(dataDir);
    await assert.rejects(acquireDataLock(dataDir), new RegExp(`process ${process.pid}\\b`));
  });

  it("goes to exactly one of several that start at once", async () => {
    const all = await Promise.all([holder(), holder(), holder(), holder()]);
    const said = all.map((each) => each.firstLine);
    await Promise.all(all.map(async (each) => each[Symbol.asyncDispose]()));
    assert.equal(said.filter((line) => line === "locked").length, 1);
    assert.equal(said.filter((line) => line.startsWith("Another Weir (process ")).length, 3);
  });

  it("is free once its process was killed", async () => {
    const killed = await holder();
    killed.child.kill("SIGKILL");
    await killed[Symbol.asyncDispose]();
    assert.deepEqual((await readdir(dataDir)).toSorted(), ["daemon.pid", "lock"]);
    await using _lock = await acquireDataLock(dataDir);
  });

  it("is free although a left-over file names a process that lives: its number was dealt out again", async () => {
    await writeFile(join(dataDir, "lock"), "");
    await writeFile(join(dataDir, "daemon.pid"), `${process.ppid}\n`);
    await using _lock = await acquireDataLock(dataDir);
  });

  it("is given back by disposing, once", async () => {
    const lock = await acquireDataLock(dataDir);
    await lock[Symbol.asyncDispose]();
    await using next = await holder();
    await lock[Symbol.asyncDispose]();
    assert.equal(next.firstLine, "locked");
    await assert.rejects(acquireDataLock(dataDir), new RegExp(`process ${next.child.pid}\\b`));
  });
});

describe("a data folder that cannot be used", () => {
  it("is named", async () => {
    const file = join(dataDir, "a file");
    await writeFile(file, "");
    await assert.rejects(acquireDataLock(join(file, "data")), OperatorError);
  });

  it("is named where the id of the process cannot be written, and its lock is given back", async () => {
    const pidFile = join(dataDir, "daemon.pid");
    await mkdir(pidFile);
    await assert.rejects(acquireDataLock(dataDir), (error) => {
      assert.ok(error instanceof OperatorError);
      assert.ok(error.message.includes(pidFile));
      assert.match(error.message, /cannot be used.*Check its owner/s);
      return true;
    });
    await rmdir(pidFile);
    await using _lock = await acquireDataLock(dataDir);
  });
});
