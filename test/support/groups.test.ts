import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import process from "node:process";
import { test, type TestContext } from "node:test";
import { entryOf, groupsOf } from "./groups.ts";

const named = (folder: string, count: number): string[] =>
  Array.from({ length: count }, (_, index) => `test/${folder}/${index + 100}.test.ts`);

test("the files of all folders share processes, as evenly as they can; each is in one", () => {
  const files = [...named("text", 3), ...named("store/log", 30), ...named("store/turns", 30)];
  const groups = groupsOf(files);
  assert.deepEqual(
    groups.map(({ name, files: { length } }) => [name, length]),
    [
      ["others-1", 21],
      ["others-2", 21],
      ["others-3", 21],
    ],
  );
  assert.deepEqual(
    groups.flatMap((group) => group.files),
    files,
  );
});

test("what takes longest shares processes with its folder alone, and comes first; of what starts daemons they are short", () => {
  const files = ["test/a.test.ts", "test/ownership/a.test.ts", "test/http/a.test.ts", ...named("e2e", 5)];
  assert.deepEqual(groupsOf(files), [
    { name: "ownership-1", files: ["test/ownership/a.test.ts"] },
    { name: "e2e-1", files: ["test/e2e/100.test.ts", "test/e2e/101.test.ts"] },
    { name: "e2e-2", files: ["test/e2e/102.test.ts", "test/e2e/103.test.ts", "test/e2e/104.test.ts"] },
    { name: "others-1", files: ["test/a.test.ts", "test/http/a.test.ts"] },
  ]);
});

const PRELUDE = `import { after, before, beforeEach, test } from "node:test";\n`;

/** Runs files as one group. @returns their output and exit */
async function runGroup(t: TestContext, texts: Readonly<Record<string, string>>) {
  const root = await mkdtemp(path.join(tmpdir(), "weir-grouped-"));
  t.after(async () => rm(root, { recursive: true, force: true }));
  for (const [name, text] of Object.entries(texts)) await writeFile(path.join(root, name), PRELUDE + text);
  const entry = path.join(root, "entry.mjs");
  await writeFile(entry, entryOf({ name: "all", files: Object.keys(texts) }, root, 60_000));
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  const { status, stdout } = spawnSync(process.execPath, ["--test", "--test-reporter=tap", entry], { env });
  return { status, lines: stdout.toString().split("\n") };
}

test("what a file does before and after its tests is done for its own, and before the next file is read", async (t) => {
  const { status, lines } = await runGroup(t, {
    "a.mjs": `
      console.log("read a");
      await new Promise((resolve) => setImmediate(resolve));
      before(() => console.log("before a"));
      beforeEach(() => console.log("each of a"));
      after(() => console.log("after a"));
      test("one", () => console.log("one"));`,
    "b.mjs": `
      console.log("read b");
      test("two", () => console.log("two"));`,
  });
  const said = lines.flatMap(
    (line) => /^ *# ((?:read|before|each|after|one|two).*)/.exec(line)?.slice(1) ?? [],
  );
  assert.deepEqual(said, ["read a", "before a", "each of a", "one", "after a", "read b", "two"]);
  assert.equal(status, 0, lines.join("\n"));
});

test("a file that cannot be read, or fails, fails the run, and the files after it run", async (t) => {
  const late = "setTimeout(() => { throw new Error('late'); }); await new Promise(() => {});";
  for (const broken of [
    `throw new Error("not read");`,
    `test("one", () => { throw new Error("no"); });`,
    `test("one", async () => { ${late} });`,
  ]) {
    const { status, lines } = await runGroup(t, { "a.mjs": broken, "b.mjs": `test("two", () => {});` });
    assert.equal(status, 1);
    assert.ok(
      lines.some((line) => /^ *not ok \d+ - a\.mjs$/.test(line)),
      lines.join("\n"),
    );
    assert.ok(
      lines.some((line) => /^ *ok \d+ - two$/.test(line)),
      lines.join("\n"),
    );
  }
});

test("what a test makes after it has waited belongs to it, and what others make meanwhile does not", async (t) => {
  const { status, lines } = await runGroup(t, {
    "a.mjs": `
      const made = (name, waits) => async () => {
        for (let wait = 0; wait < waits; wait++) await new Promise((resolve) => setImmediate(resolve));
        await test("of " + name, () => {});
      };
      test("all", { concurrency: 2 }, async (t) => {
        await Promise.all([t.test("one", made("one", 3)), t.test("two", made("two", 1))]);
      });`,
  });
  assert.equal(status, 0, lines.join("\n"));
  const tests = lines.flatMap((line) => /^ *ok \d+ - .*/.exec(line) ?? []);
  assert.deepEqual(
    tests.map((line) => line.replace(/ok \d+ - /, "")),
    ["            of one", "        one", "            of two", "        two", "    all", "a.mjs"],
  );
});
