import assert from "node:assert/strict";
import { existsSync, globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

/*
 * Where a source file is proved: `src/a/b.ts` by `test/a/b.test.ts`, or by a test whose first line names it
 * (`// proves: src/a/b.ts, …`), for what only the whole can show.
 */

const ROOT = join(import.meta.dirname, "..");
/** Lines above which a file has to be proved somewhere by name. */
const LARGE = 100;
const PROVES = /^\/\/ proves: (.+)$/m;

const tests = globSync("test/**/*.test.ts", { cwd: ROOT }).map((file) => file.replaceAll("\\", "/"));

function provedBy(file: string): string[] {
  const [first = ""] = readFileSync(join(ROOT, file), "utf8").split("\n");
  return PROVES.exec(first)?.[1]?.split(", ") ?? [];
}

const named = new Set(tests.flatMap(provedBy));

test("each large source file has a test of its own, or a test that names it", () => {
  const sources = globSync("src/**/*.ts", { cwd: ROOT }).map((file) => file.replaceAll("\\", "/"));
  const unproved = sources.filter((file) => {
    const isLarge = readFileSync(join(ROOT, file), "utf8").split("\n").length > LARGE;
    return (
      isLarge &&
      !named.has(file) &&
      !existsSync(join(ROOT, file.replace(/^src\/(.*)\.ts$/, "test/$1.test.ts")))
    );
  });
  assert.deepEqual(unproved, []);
});

test("what a test proves is there, and each test of the whole says what it proves", () => {
  assert.deepEqual(
    [...named].filter((file) => !existsSync(join(ROOT, file))),
    [],
  );
  const silent = tests.filter((file) => file.startsWith("test/integration/") && provedBy(file).length === 0);
  assert.deepEqual(silent, []);
});
