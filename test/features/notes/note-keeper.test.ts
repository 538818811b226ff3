import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdir, mkdtemp, readdir, readFile, rm, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { type TestContext, test } from "node:test";
import fc from "fast-check";
import { NoteKeeper } from "../../../src/features/notes/note-keeper.ts";
import { anyCharacter } from "../../support/any-character.ts";

const NOTHING: ReadonlySet<number> = new Set();

async function world(
  t: TestContext,
): Promise<{ root: string; keeper: NoteKeeper; problems: string[]; day: (today: string) => void }> {
  const root = await mkdtemp(path.join(tmpdir(), "weir-notes-"));
  t.after(async () => rm(root, { recursive: true, force: true }));
  const problems: string[] = [];
  let today = "2026-11-24";
  const keeper = new NoteKeeper({
    root,
    shownAs: "agents/main",
    today: () => today,
    onProblem: (problem) => problems.push(problem),
  });
  return { root, keeper, problems, day: (now) => (today = now) };
}

test("each channel's notes are apart, and a thread is shown its channel's as well", async (t) => {
  const { keeper } = await world(t);
  await keeper.write(keeper.fileOf("discord-1", "memory"), { id: 1, text: "the lift is in the yard" }, null);
  await keeper.write(keeper.fileOf("discord-2", "note"), { id: 2, text: "a private word" }, null);
  const texts = async (...channels: string[]): Promise<string[]> =>
    (await keeper.read(channels, NOTHING)).map(({ path: file, text }) => `${file}: ${text}`);
  const lift = "agents/main/channels/discord-1/MEMORY.md: - the lift is in the yard";
  assert.deepEqual(await texts("discord-1"), [lift]);
  assert.deepEqual(await texts("discord-thread", "discord-1"), [lift]);
  assert.deepEqual(await texts("discord-2"), [
    "agents/main/channels/discord-2/memory/2026-11-24.md: - a private word",
  ]);
  assert.deepEqual(await texts("discord-3"), []);
});

test("no name of a channel leads out of the folder, and different names are different folders", async (t) => {
  const { root, keeper } = await world(t);
  const inside = path.join(root, "channels");
  const names = ["x/../../..", "slack-C1:17.2", "..", ".", "a\0b", "%2E", "日本".repeat(80), "n".repeat(400)];
  for (const name of names) {
    await keeper.write(keeper.fileOf(name, "memory"), { id: 1, text: "x" }, null);
    assert.equal((await keeper.read([name], NOTHING)).length, 1, name);
  }
  assert.equal((await readdir(inside)).length, names.length);
  assert.deepEqual(await readdir(root), ["channels"]);
  fc.assert(
    fc.property(fc.string({ unit: anyCharacter, maxLength: 300 }), (name) => {
      const file = keeper.fileOf(`test-${name}`, "memory");
      assert.match(file, /^channels\/[^/\0]{1,255}\/MEMORY\.md$/);
      assert.ok(path.resolve(root, file).startsWith(`${inside}${path.sep}test-`));
    }),
  );
});

test("a line that is to go is not shown, before it has left the file and after", async (t) => {
  const { root, keeper } = await world(t);
  const file = keeper.fileOf("c", "memory");
  await keeper.write(file, { id: 1, text: "stays" }, null);
  await keeper.write(file, { id: 2, text: "goes" }, null);
  const shown = async (gone: ReadonlySet<number>): Promise<string[]> =>
    (await keeper.read(["c"], gone)).map(({ text }) => text);
  assert.deepEqual(await shown(NOTHING), ["- stays\n- goes"]);
  assert.deepEqual(await shown(new Set([2])), ["- stays"]);
  assert.match(await readFile(path.join(root, file), "utf8"), /goes/);
  assert.deepEqual(await keeper.remove(file, new Set([2, 77])), [2]);
  assert.deepEqual(await shown(NOTHING), ["- stays"]);
  assert.doesNotMatch(await readFile(path.join(root, file), "utf8"), /goes/);
});

test("the day's note is that of today", async (t) => {
  const { keeper, day } = await world(t);
  await keeper.write(keeper.fileOf("c", "note"), { id: 1, text: "monday" }, null);
  day("2026-11-25");
  assert.deepEqual(await keeper.read(["c"], NOTHING), []);
});

test("what a person writes there by hand is shown, and what is no text is told once it is read", async (t) => {
  const { root, keeper, problems } = await world(t);
  await mkdir(path.join(root, "channels/c/memory"), { recursive: true });
  await writeFile(path.join(root, "channels/c/MEMORY.md"), "# By hand\n");
  await writeFile(path.join(root, "channels/c/memory/2026-11-24.md"), Uint8Array.of(0xff, 0x41));
  const files = await keeper.read(["c"], NOTHING);
  assert.deepEqual(
    files.map(({ text }) => text),
    ["# By hand"],
  );
  assert.match(problems.join(), /channels\/c\/memory\/2026-11-24\.md: is not valid UTF-8/);
  assert.equal(
    (await keeper.read(["c"], NOTHING))[0],
    files[0],
    "the same object, as long as nothing changes",
  );
});

test("a pipe in a file's place is not waited for", async (t) => {
  const { root, keeper } = await world(t);
  const file = keeper.fileOf("discord-1", "memory");
  await mkdir(path.dirname(path.join(root, file)), { recursive: true });
  execFileSync("/usr/bin/mkfifo", [path.join(root, file)]);
  assert.deepEqual(await keeper.read(["discord-1"], NOTHING), []);
  await assert.rejects(keeper.look(file), /no file/);
  await assert.rejects(keeper.write(file, { id: 1, text: "x" }, null), /no file/);
  await assert.rejects(keeper.remove(file, new Set([1])), /no file/);
});

test("a file is read anew although it has the length and the date of before", async (t) => {
  const { root, keeper } = await world(t);
  const file = path.join(root, keeper.fileOf("discord-1", "memory"));
  await mkdir(path.dirname(file), { recursive: true });
  const day = new Date("2026-11-24");
  for (const text of ["one", "two"]) {
    await writeFile(file, text);
    await utimes(file, day, day);
    assert.deepEqual(
      (await keeper.read(["discord-1"], NOTHING)).map((one) => one.text),
      [text],
    );
  }
});
