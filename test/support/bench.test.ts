import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, test } from "node:test";

const BENCH = path.join(import.meta.dirname, "../../bench/run.ts");

interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

async function bench(...args: readonly string[]): Promise<Ended> {
  return await new Promise((resolve) => {
    const child = execFile(process.execPath, [BENCH, ...args], (_error, stdout, stderr) => {
      resolve({ code: child.exitCode, stdout, stderr });
    });
  });
}

describe("npm run bench", () => {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(path.join(tmpdir(), "weir-bench-"));
  });
  afterEach(async () => rm(folder, { recursive: true, force: true }));

  test("says which recording is missing, and ends with 1 where a figure failed", async () => {
    const { code, stdout, stderr } = await bench("replay", "--quick", "--data", folder);
    assert.equal(code, 1);
    assert.match(stderr, /--data: there is no file ".*channel-irc-ubuntu\.messages\.jsonl"/);
    assert.doesNotMatch(stderr, /^ +at /m);
    assert.match(stdout, /FAILED.*Missed:/s);
  });

  test("refuses a folder as the file of its figures before it measures", async () => {
    const { code, stdout, stderr } = await bench("digest", "--json", folder);
    assert.equal(code, 2);
    assert.equal(stdout, "");
    assert.match(stderr, /^--json: ".*" is a folder/);
  });

  test("ends with 0 where a figure reaches its bars, progress apart: the token formula, by a real tokenizer", async () => {
    const { code, stdout, stderr } = await bench("tokens", "--quick", "--check");
    assert.equal(code, 0, stdout);
    assert.match(stdout, /all together: p99/);
    assert.match(stderr, /… English/);
  });
});
