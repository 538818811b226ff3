import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import path from "node:path";
import { describe, test } from "node:test";

const ROOT = path.join(import.meta.dirname, "../..");
/** Each with the program that it starts. */
const COMMANDS = [
  ["npm run fuzz", "test/fuzz/fuzz.ts"],
  ["npm run chaos", "test/chaos/chaos.ts"],
  ["npm run chaos -- --cluster", "test/chaos/chaos.ts", "--cluster"],
  ["npm run soak", "test/soak/soak.ts"],
  ["npm run bench", "bench/run.ts"],
  ["npm run eval", "bench/eval/run.ts"],
] as const;

interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

async function run(...[program, ...words]: readonly [string, ...string[]]): Promise<Ended> {
  return await new Promise((resolve) => {
    const child = execFile(
      process.execPath,
      [path.join(ROOT, program), ...words],
      (_error, stdout, stderr) => {
        resolve({ code: child.exitCode, stdout, stderr });
      },
    );
  });
}

describe("a command that takes long", () => {
  for (const [command, program, ...words] of COMMANDS) {
    test(`says how it is used where it is asked to: ${command}`, async () => {
      const { code, stdout, stderr } = await run(program, ...words, "--help");
      assert.equal(code, 0, stderr);
      assert.ok(stdout.startsWith(command), stdout);
      assert.equal(stderr, "");
    });
  }

  test("says so in short as well, whatever else is asked", async () => {
    const { code, stdout } = await run("test/fuzz/fuzz.ts", "--seeds", "none", "-h");
    assert.equal(code, 0);
    assert.match(stdout, /^npm run fuzz/);
  });

  test("says what it makes no sense of, and how it is used, and ends with 2", async () => {
    const { code, stdout, stderr } = await run("test/soak/soak.ts", "--halp");
    assert.equal(code, 2);
    assert.equal(stdout, "");
    assert.match(stderr, /^Unknown option '--halp'.*^npm run soak/ms);
  });
});
