import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { mkdtemp, rm, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { pino } from "pino";
import {
  type Comer,
  makesWay,
  readComer,
  stillWaits,
  Succession,
} from "../../../src/store/database/succession.ts";

const older: Comer = { pid: process.ppid, place: "1 0", since: 1000 };
const younger: Comer = { pid: process.pid, place: "1 0", since: 2000 };
const SILENT = pino({ level: "silent" });

async function folder(t: TestContext): Promise<string> {
  const made = await mkdtemp(join(tmpdir(), "weir-succession-"));
  t.after(async () => rm(made, { recursive: true, force: true }));
  return made;
}

test("of two daemons in one place of a process manager the older makes way, and in no other case", () => {
  assert.equal(makesWay(older, younger, false), true);
  assert.equal(makesWay(younger, older, true), false);
  assert.equal(makesWay(younger, younger, true), false);
  assert.equal(makesWay(older, { ...younger, place: "1 1" }, true), false);
  assert.equal(makesWay({ ...older, place: null }, { ...younger, place: null }, true), false);
  const [low, high] = [older, { ...older, pid: older.pid + 1 }];
  assert.deepEqual([makesWay(low, high, false), makesWay(high, low, false)], [true, false]);
});

test("a chat makes way for a daemon that waits, and for no other", () => {
  assert.equal(makesWay(null, { ...younger, place: null }, true), true);
  assert.equal(makesWay(null, younger, false), false);
});

test("a daemon is announced until it ends, and waits as long as it says so", async (t) => {
  const dataDir = await folder(t);
  const file = join(dataDir, "daemon.next");
  {
    using _ = new Succession(dataDir, younger, SILENT);
    assert.deepEqual(readComer(dataDir), { ...younger, isWaiting: true });
    await utimes(file, new Date(0), new Date(0));
    assert.equal(readComer(dataDir)?.isWaiting, false);
    stillWaits(dataDir);
    assert.equal(readComer(dataDir)?.isWaiting, true);
  }
  assert.equal(existsSync(file), false);
});

test("an announcement of a process that has ended, or that is none, counts for nothing", async (t) => {
  const dataDir = await folder(t);
  const file = join(dataDir, "daemon.next");
  for (const text of [JSON.stringify({ ...younger, pid: 2 ** 30 }), "{", "", '{"pid":1}']) {
    await writeFile(file, text);
    assert.equal(readComer(dataDir), null);
  }
  using _ = new Succession(dataDir, older, SILENT);
  assert.equal(readComer(dataDir)?.pid, older.pid);
});

test("the older of two is told, whichever of them announces itself last", async (t) => {
  const dataDir = await folder(t);
  const told = async ({ makesWay: way }: Succession): Promise<void> =>
    new Promise((resolve) => way.addEventListener("abort", () => resolve(), { once: true }));
  {
    using first = new Succession(dataDir, older, SILENT);
    const isTold = told(first);
    using second = new Succession(dataDir, younger, SILENT);
    await isTold;
    assert.equal(second.makesWay.aborted, false);
  }
  using second = new Succession(dataDir, younger, SILENT);
  using first = new Succession(dataDir, older, SILENT);
  await told(first);
  assert.equal(second.makesWay.aborted, false);
  assert.equal(readComer(dataDir)?.pid, younger.pid);
});

test("a folder that cannot be used holds no daemon up", async (t) => {
  using one = new Succession(join(await folder(t), "none"), younger, SILENT);
  assert.equal(one.makesWay.aborted, false);
});
