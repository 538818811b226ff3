/** Whom the data folder lets in: the log quotes what people say, and who can open the lock can hold it. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, chown, link, mkdir, mkdtemp, readdir, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, test } from "node:test";
import { OperatorError } from "../../../src/core/errors.ts";
import { closeDataFolder, TYPED_HISTORY } from "../../../src/store/database/data-folder.ts";
import { acquireDataLock } from "../../../src/store/database/data-lock.ts";
import { createLog } from "../../../src/telemetry/log.ts";

const isRoot = process.getuid?.() === 0;
const onlyAsRoot = { skip: !isRoot && "only root can act as another account" };
/** An account that the folder does not belong to: nobody's, on most machines. */
const OTHER = 65_534;

let room: string;
let dataDir: string;
beforeEach(async () => {
  room = await mkdtemp(path.join(tmpdir(), "weir folder "));
  await chmod(room, 0o755);
  dataDir = path.join(room, "data");
});
afterEach(async () => rm(room, { recursive: true, force: true }));

async function modeOf(...name: readonly string[]): Promise<string> {
  const { mode } = await stat(path.join(dataDir, ...name));
  return (mode & 0o777).toString(8);
}

/** A folder as it was made before: open to everybody. */
async function makeOpen(...files: readonly string[]): Promise<void> {
  await mkdir(dataDir);
  await chmod(dataDir, 0o755);
  for (const file of files) await writeFile(path.join(dataDir, file), "");
  for (const file of files) await chmod(path.join(dataDir, file), 0o644);
}

/** Tries, as another account, to take the lock for itself. @returns what came of it */
async function tryToLock(): Promise<string> {
  const script = `
    const { DatabaseSync } = require("node:sqlite");
    try {
      new DatabaseSync(process.argv[1], { readOnly: true }).exec("BEGIN; SELECT * FROM sqlite_master");
      console.log("held");
    } catch (error) { console.log(error.message); }`;
  const child = spawn(process.execPath, ["-e", script, path.join(dataDir, "lock")], {
    ...(isRoot && { uid: OTHER, gid: OTHER }),
    stdio: ["ignore", "pipe", "inherit"],
    cwd: "/",
  });
  let said = "";
  child.stdout.on("data", (chunk) => (said += String(chunk)));
  await once(child, "close");
  return said.trim();
}

describe("the data folder", () => {
  test("is made for its owner alone, with the lock and the process id; the folders above it are as usual", async () => {
    dataDir = path.join(room, "above", "data");
    assert.equal(await closeDataFolder(dataDir), null);
    await using _lock = await acquireDataLock(dataDir);
    const modes = await Promise.all(["", "lock", "daemon.pid"].map(async (name) => modeOf(name)));
    assert.deepEqual(modes, ["700", "600", "600"]);
    await mkdir(path.join(room, "usual"));
    const [above, usual] = [await stat(path.join(room, "above")), await stat(path.join(room, "usual"))];
    assert.equal(above.mode, usual.mode);
  });

  test("is closed where an earlier version had left it open, with its files", async () => {
    const typed = [TYPED_HISTORY, `${TYPED_HISTORY}.new`, `${TYPED_HISTORY}.0123456789ab`];
    const files = ["lock", "daemon.pid", "weir.log", "postgres.log", "postgres.log.old", ...typed];
    await makeOpen(...files);
    await mkdir(path.join(dataDir, "postgres"));
    assert.equal(await closeDataFolder(dataDir), null);
    assert.equal(await modeOf(), "700");
    for (const file of files) assert.equal(await modeOf(file), "600", file);
  });

  test("is left open where it holds what is not Weir's, and says so; Weir's own files are closed all the same", async () => {
    await makeOpen("lock", "letter.txt");
    const outside = path.join(room, "outside");
    await writeFile(outside, "");
    await chmod(outside, 0o644);
    await symlink(outside, path.join(dataDir, "weir.log"));
    await link(outside, path.join(dataDir, "postgres.log"));
    assert.equal(await closeDataFolder(dataDir), "it is not Weir's alone (letter.txt is in it)");
    const modes = await Promise.all(["", "lock", "letter.txt"].map(async (name) => modeOf(name)));
    assert.deepEqual(modes, ["755", "600", "644"]);
    // What somebody has linked to from here is not ours to close.
    assert.equal((await stat(outside)).mode & 0o777, 0o644);
    await chmod(dataDir, 0o700);
    assert.equal(await closeDataFolder(dataDir), null);
  });

  test("that cannot be made is told of in plain words", async () => {
    await writeFile(dataDir, "");
    await assert.rejects(closeDataFolder(path.join(dataDir, "data")), OperatorError);
  });

  test("has a log that its owner alone can read", async () => {
    await closeDataFolder(dataDir);
    createLog("info", {
      file: { path: path.join(dataDir, "weir.log"), maxBytes: 10_000_000, maxFiles: 5 },
    }).info("said");
    assert.equal(await modeOf("weir.log"), "600");
  });
});

describe("another account of the machine", onlyAsRoot, () => {
  test("could hold the lock of an open folder, and cannot once it is closed", async () => {
    await makeOpen("lock");
    assert.equal(await tryToLock(), "held");
    await closeDataFolder(dataDir);
    assert.match(await tryToLock(), /unable to open/);
    // Not even where the folder has to be left open.
    await chmod(dataDir, 0o755);
    assert.match(await tryToLock(), /unable to open/);
  });

  test("that has left its process id behind keeps nobody out", async () => {
    await makeOpen("daemon.pid");
    await chown(path.join(dataDir, "daemon.pid"), OTHER, OTHER);
    await using _lock = await acquireDataLock(dataDir);
    assert.equal((await stat(path.join(dataDir, "daemon.pid"))).uid, process.getuid?.());
    assert.deepEqual((await readdir(dataDir)).toSorted(), ["daemon.pid", "lock"]);
  });
});
