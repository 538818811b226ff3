import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import {
  appendFile,
  chmod,
  mkdtemp,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  symlink,
  writeFile,
} from "node:fs/promises";
import { writeFileSync, renameSync, appendFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { type TestContext, test } from "node:test";
import { changeFile } from "../../../src/features/notes/change-file.ts";

async function folder(t: TestContext): Promise<string> {
  const made = await mkdtemp(path.join(tmpdir(), "weir-change-"));
  t.after(async () => rm(made, { recursive: true, force: true }));
  return made;
}

test("a file is made with its folders, changed, and leaves nothing beside it", async (t) => {
  const root = await folder(t);
  const file = path.join(root, "a/b/MEMORY.md");
  await changeFile(file, (text) => `${text}one\n`);
  await changeFile(file, (text) => `${text}two\n`);
  await changeFile(file, (text) => text);
  assert.equal(await readFile(file, "utf8"), "one\ntwo\n");
  assert.deepEqual(await readdir(path.dirname(file)), ["MEMORY.md"]);
});

test("nothing to write makes no file", async (t) => {
  const root = await folder(t);
  await changeFile(path.join(root, "none/MEMORY.md"), (text) => text);
  assert.deepEqual(await readdir(root), []);
});

test("what an editor saves while the change is being made stays, however it saves", async (t) => {
  const root = await folder(t);
  const file = path.join(root, "MEMORY.md");
  const saves = {
    "by writing into the file": (text: string) => writeFileSync(file, text),
    "by replacing it": (text: string) => {
      writeFileSync(`${file}.swp`, text);
      renameSync(`${file}.swp`, file);
    },
    "by appending": (text: string) => appendFileSync(file, text.slice("first\n".length)),
  };
  for (const [how, save] of Object.entries(saves)) {
    await writeFile(file, "first\n");
    let calls = 0;
    await changeFile(file, (text) => {
      if (calls++ === 0) save("first\nby hand\n");
      return `${text}ours\n`;
    });
    assert.equal(await readFile(file, "utf8"), "first\nby hand\nours\n", how);
  }
});

test("an editor that makes the file first loses nothing", async (t) => {
  const root = await folder(t);
  const file = path.join(root, "MEMORY.md");
  let calls = 0;
  await changeFile(file, (text) => {
    if (calls++ === 0) writeFileSync(file, "by hand\n");
    return `${text}ours\n`;
  });
  assert.equal(await readFile(file, "utf8"), "by hand\nours\n");
});

test("an editor beside many changes loses no line, nor do we", async (t) => {
  const root = await folder(t);
  const file = path.join(root, "MEMORY.md");
  await writeFile(file, "");
  const lines = 20;
  const writer = async (): Promise<void> => {
    for (let line = 0; line < lines; line++) await changeFile(file, (text) => `${text}ours${line}\n`);
  };
  const editor = async (): Promise<void> => {
    for (let line = 0; line < lines; line++) {
      await appendFile(file, `hand${line}\n`);
      await delay(40 + (line % 7) * 15);
    }
  };
  await Promise.all([writer(), editor()]);
  const found = new Set((await readFile(file, "utf8")).trim().split("\n"));
  const lost = ["ours", "hand"].flatMap((name) =>
    Array.from({ length: lines }, (_, line) => `${name}${line}`).filter((line) => !found.has(line)),
  );
  assert.deepEqual(lost, []);
});

test("a new file is for its owner alone, and one that was opened to others stays so", async (t) => {
  const root = await folder(t);
  const file = path.join(root, "a/MEMORY.md");
  const mode = async (of: string): Promise<number> => (await stat(of)).mode & 0o777;
  await changeFile(file, () => "x\n");
  assert.deepEqual([await mode(file), await mode(path.dirname(file))], [0o600, 0o700]);
  await chmod(file, 0o664);
  await changeFile(file, (text) => `${text}y\n`);
  assert.equal(await mode(file), 0o664);
});

test("a link is neither followed nor replaced", async (t) => {
  const root = await folder(t);
  const elsewhere = path.join(root, "elsewhere.md");
  await writeFile(elsewhere, "theirs\n");
  await symlink(elsewhere, path.join(root, "MEMORY.md"));
  await assert.rejects(
    changeFile(path.join(root, "MEMORY.md"), (text) => `${text}x`),
    /ELOOP/,
  );
  assert.equal(await readFile(elsewhere, "utf8"), "theirs\n");
});

test("what is no text, or cannot be written, is left as it is", async (t) => {
  const root = await folder(t);
  const file = path.join(root, "MEMORY.md");
  await writeFile(file, Uint8Array.of(0xff, 0xfe, 0x41));
  await assert.rejects(
    changeFile(file, (text) => `${text}x`),
    TypeError,
  );
  assert.deepEqual([...(await readFile(file))], [0xff, 0xfe, 0x41]);
  await rename(file, `${file}.old`);
  await writeFile(file, "a".repeat(1_100_000));
  await assert.rejects(
    changeFile(file, (text) => `${text}x`),
    /longer than/,
  );
  await assert.rejects(
    changeFile(path.join(file, "below.md"), () => "x"),
    /E(?:NOTDIR|EXIST)/,
  );
});

test("what is no file is neither waited for nor replaced", async (t) => {
  const root = await folder(t);
  const pipe = path.join(root, "MEMORY.md");
  execFileSync("/usr/bin/mkfifo", [pipe]);
  await assert.rejects(
    changeFile(pipe, (text) => `${text}x`),
    /no file/,
  );
  await assert.rejects(
    changeFile(root, (text) => `${text}x`),
    /no file/,
  );
  assert.deepEqual(await readdir(root), ["MEMORY.md"]);
});
