// proves: src/config/file-watch.ts
import assert from "node:assert/strict";
import { mkdirSync, renameSync, rmSync, truncateSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { FileWatch } from "../../src/config/file-watch.ts";
import { until } from "../support/patience.ts";
import { folderWith } from "./folder.ts";

const QUICK = { soonMs: 10, restMs: 60, emptyMs: 400, pollMs: 60_000, blindMs: 30 };

interface Watched {
  readonly file: string;
  readonly folder: string;
  /** How often a change was told. */
  readonly told: () => number;
}

function watched(t: TestContext, timing = {}, more: (folder: string) => string[] = () => []): Watched {
  const folder = folderWith(t, { "config.toml": "a = 1\n" });
  const file = join(folder, "config.toml");
  let count = 0;
  const watch = new FileWatch({
    paths: () => [file, ...more(folder)],
    onChange: () => count++,
    timing: { ...QUICK, ...timing },
  });
  watch.start();
  t.after(() => watch[Symbol.dispose]());
  return { file, folder, told: () => count };
}

test("a save is told once: written in place, or put in its place, again and again", async (t) => {
  const { file, told } = watched(t);
  for (let save = 1; save <= 6; save++) {
    if (save % 2 === 0) writeFileSync(file, `a = ${save}${"0".repeat(save)}\n`);
    else {
      writeFileSync(`${file}.new`, `a = ${save}${"0".repeat(save)}\n`);
      renameSync(`${file}.new`, file);
    }
    await until("the save is told", () => told() === save);
  }
  await delay(300);
  assert.equal(told(), 6);
});

test("a file that is being written is not told before it is at rest, nor one that is empty for a moment", async (t) => {
  const { file, told } = watched(t);
  for (let piece = 0; piece < 10; piece++) {
    writeFileSync(file, "b = 1\n".repeat(piece + 1));
    await delay(20);
    assert.equal(told(), 0);
  }
  await until("it is at rest", () => told() === 1);
  truncateSync(file);
  await delay(150);
  assert.equal(told(), 1, "an empty file is waited for");
  writeFileSync(file, "c = 1\n");
  await until("the save is told", () => told() === 2);
  rmSync(file);
  await until("one that is gone for good is told, too", () => told() === 3);
});

test("other files of the folder, and a file that ends as it was, tell nothing", async (t) => {
  const { file, folder, told } = watched(t);
  writeFileSync(join(folder, "weir.log"), "line\n");
  const then = new Date(1_700_000_000_000);
  utimesSync(file, then, then);
  await until("another date may be another text", () => told() === 1);
  writeFileSync(join(folder, "weir.log"), "another\n");
  await delay(250);
  assert.equal(told(), 1);
});

test("a folder that is made later, or in the place of another, is watched", async (t) => {
  const { folder, told } = watched(t, {}, (root) => [join(root, "agents"), join(root, "agents", "x.md")]);
  const agents = join(folder, "agents");
  mkdirSync(agents);
  await until("the folder is told", () => told() === 1);
  writeFileSync(join(agents, "x.md"), "one");
  await until("its file is told", () => told() === 2);
  renameSync(agents, `${agents}.old`);
  mkdirSync(agents);
  writeFileSync(join(agents, "x.md"), "two!");
  await until("the other folder is told", () => told() >= 3);
  await delay(200);
  const before = told();
  writeFileSync(join(agents, "x.md"), "three!!");
  await until("its file is told", () => told() === before + 1);
});

test("without any sign it looks now and then, and what was asked for again is told again", async (t) => {
  const folder = folderWith(t, { "config.toml": "a = 1\n" });
  const file = join(folder, "config.toml");
  let count = 0;
  const watch = new FileWatch({
    paths: () => [file],
    onChange: () => count++,
    timing: { ...QUICK, soonMs: 20, pollMs: 40 },
  });
  t.after(() => watch[Symbol.dispose]());
  watch.start();
  watch.again();
  await until("it is told again", () => count === 1);
  await delay(200);
  assert.equal(count, 1);
});

test("where it is not known what is there, that is told once, when it is at rest", async (t) => {
  const folder = folderWith(t, { "config.toml": "a = 1\n" });
  const file = join(folder, "config.toml");
  let count = 0;
  const watch = new FileWatch({ paths: () => [file], onChange: () => count++, timing: QUICK });
  t.after(() => watch[Symbol.dispose]());
  watch.start(false);
  assert.equal(count, 0);
  await until("it is told", () => count === 1);
  writeFileSync(file, "a = 22\n");
  await until("the save is told", () => count === 2);
  await delay(200);
  assert.equal(count, 2);
});
