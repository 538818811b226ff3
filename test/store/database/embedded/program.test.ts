import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import path from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import { setupProblem } from "../../../../src/store/database/embedded/cluster.ts";

const PROGRAM = path.join(import.meta.dirname, "../../../../src/store/database/embedded/program.ts");

/** Runs a program when no file can be opened any more, and says how that ended. */
const SCRIPT = `
import { openSync } from "node:fs";
import { runProgram } from ${JSON.stringify(PROGRAM)};
await runProgram(["true"]);
try { for (;;) openSync("/dev/null"); } catch {}
await runProgram(["true"]).then(({ code }) => console.log("code", code), ({ message }) => console.log(message));
`;

test("a program that cannot be started for want of open files is no program that fails", async () => {
  const limited = ["-c", 'ulimit -n 64; exec "$0" --input-type=module -e "$1"', process.execPath, SCRIPT];
  const { stdout } = await promisify(execFile)("/bin/sh", limited);
  assert.match(stdout, /EMFILE .*raise `ulimit -n`/);
});

test("a full disk while the data folder is made is named, and says what to do", () => {
  const full = 'FATAL:  could not write to file "pg_wal/xlogtemp.9545": No space left on device';
  assert.match(
    setupProblem("initdb", 1, full).message,
    /^The disk is full: .*Make room and start again, or set data_dir/,
  );
  assert.match(
    setupProblem("initdb", 1, "no such locale").message,
    /initdb ended with 1\):\nno such locale$/,
  );
});
