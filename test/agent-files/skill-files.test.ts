import assert from "node:assert/strict";
import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { after, test } from "node:test";
import { listSkillFiles, readSkillFile, SkillFileError } from "../../src/agent-files/skill-files.ts";

const root = await mkdtemp(path.join(tmpdir(), "weir-skill-"));
after(async () => rm(root, { recursive: true, force: true }));
const folder = path.join(root, "sails");

async function write(file: string, words: string | Buffer): Promise<void> {
  await mkdir(path.dirname(path.join(root, file)), { recursive: true });
  await writeFile(path.join(root, file), words);
}

await write("secret.md", "the key");
await write("sails/SKILL.md", "---\nname: sails\n---\n");
await write("sails/references/knots.md", "bowline");
await write("sails/scripts/mend.sh", "echo mended");
await write("sails/.git/config", "hidden");
await write("sails/picture.png", Buffer.from([0x89, 0x50, 0xff, 0xfe]));
await write("sails/large.md", "x".repeat(70_000));
await symlink(path.join(root, "secret.md"), path.join(folder, "link.md"));
await symlink(root, path.join(folder, "up"));

test("the files of a skill are listed, but for its SKILL.md, links and what is hidden", async () => {
  assert.deepEqual(await listSkillFiles(folder), [
    "large.md",
    "picture.png",
    "references/knots.md",
    "scripts/mend.sh",
  ]);
  assert.deepEqual(await listSkillFiles(path.join(root, "none")), []);
});

test("a text file of a skill is read", async () => {
  assert.equal(await readSkillFile(folder, "references/knots.md"), "bowline");
  assert.equal(await readSkillFile(folder, "./references/../scripts/mend.sh"), "echo mended");
});

test("nothing outside a skill's folder is read, nor what is no text", async () => {
  for (const file of ["../secret.md", "link.md", "up/secret.md", "references", "", ".", "none.md", "a\0b"])
    await assert.rejects(
      readSkillFile(folder, file),
      (error) => error instanceof SkillFileError && error.message.startsWith("The skill has no file"),
      file,
    );
  // An absolute path is one in the folder, too.
  await assert.rejects(readSkillFile(folder, path.join(root, "secret.md")), SkillFileError);
  await assert.rejects(readSkillFile(folder, "picture.png"), /is not valid UTF-8/);
  await assert.rejects(readSkillFile(folder, "large.md"), /has 70000 bytes; 65536 can be read/);
});
