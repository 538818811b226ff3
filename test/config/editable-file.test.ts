// proves: src/config/editable-file.ts
import assert from "node:assert/strict";
import {
  chmod,
  lstat,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rm,
  stat,
  symlink,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { after, test } from "node:test";
import { readEditable, saveEditable } from "../../src/config/editable-file.ts";
import { OperatorError } from "../../src/core/errors.ts";

const folder = await mkdtemp(path.join(tmpdir(), "weir-editable-"));
after(async () => rm(folder, { recursive: true, force: true }));
const file = path.join(folder, "config.toml");

function why(work: () => unknown): string {
  try {
    work();
  } catch (error) {
    assert.ok(error instanceof OperatorError);
    return error.message;
  }
  return "";
}

test("what is not changed keeps its bytes: line ends, the mark at the beginning, the mode", async () => {
  for (const bytes of ["# a\nb = 1\n", "# a\r\nb = 1\r\n", "\u{feff}# a\nb = 1", "", "\n\n", "\u{feff}"]) {
    await writeFile(file, bytes);
    await chmod(file, 0o640);
    const { text, hash } = readEditable(file);
    assert.ok(!text.includes("\r") && !text.startsWith("\u{feff}"));
    assert.equal(saveEditable(file, text, hash), true);
    assert.equal(await readFile(file, "utf8"), bytes);
    assert.equal((await stat(file)).mode & 0o7777, 0o640);
  }
  assert.deepEqual(await readdir(folder), ["config.toml"]);
});

test("a changed text is written with the file's own line ends, once: for another file by now nothing is", async () => {
  await writeFile(file, "# a\r\nb = 1\r\n");
  const { text, hash } = readEditable(file);
  assert.equal(saveEditable(file, text.replace("1", "2"), hash), true);
  assert.equal(await readFile(file, "utf8"), "# a\r\nb = 2\r\n");
  assert.equal(saveEditable(file, text, hash), false);
  assert.equal(await readFile(file, "utf8"), "# a\r\nb = 2\r\n");
});

test("a link stays one: what it leads to is replaced", async () => {
  const place = path.join(folder, "elsewhere");
  await mkdir(place);
  await writeFile(path.join(place, "real.toml"), "a = 1");
  const link = path.join(folder, "link.toml");
  await symlink(path.join("elsewhere", "real.toml"), link);
  const { hash } = readEditable(link);
  assert.equal(saveEditable(link, "a = 2", hash), true);
  assert.ok((await lstat(link)).isSymbolicLink());
  assert.equal(await readFile(path.join(place, "real.toml"), "utf8"), "a = 2");
});

test("what a browser would change, or cannot be read, is not edited", async () => {
  for (const [bytes, says] of [
    ["a = 1\r\nb = 2\n", /line ends|its lines end in several ways/],
    ["a = 1\rb = 2", /its lines end in several ways/],
    ["a\0", /NUL byte/],
    [Buffer.from([0x61, 0xff]), /not valid UTF-8/],
    ["#".repeat(100_001), /too long/],
  ] as const) {
    await writeFile(file, bytes);
    assert.match(
      why(() => readEditable(file)),
      says,
    );
  }
  assert.match(
    why(() => readEditable(path.join(folder, "none.toml"))),
    /not there any more/,
  );
  assert.match(
    why(() => saveEditable(path.join(folder, "none.toml"), "", "")),
    /not there any more/,
  );
});
