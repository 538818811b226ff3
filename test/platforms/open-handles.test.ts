import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import path from "node:path";
import { test } from "node:test";

const SCRIPT = path.join(import.meta.dirname, "open-and-leave.ts");

for (const platform of ["loopback", "lines", "jsonl"]) {
  test(`${platform} leaves nothing open that would keep a process alive`, { timeout: 120_000 }, async () => {
    // The input is a pipe that nobody closes: reading it would keep the child alive.
    const child = spawn(process.execPath, [SCRIPT, platform], { stdio: ["pipe", "ignore", "inherit"] });
    const [code] = await once(child, "exit");
    assert.equal(code, 0);
    child.stdin.destroy();
  });
}
