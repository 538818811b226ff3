import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import {
  chmodSync,
  closeSync,
  lstatSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { openToAppend, replaceFile } from "../../src/files/write-file.ts";

function folder(t: TestContext): string {
  const path = mkdtempSync(join(tmpdir(), "weir-files-"));
  t.after(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

test("a file that is replaced is its owner's alone, and a link in its place leads nowhere any more", (t) => {
  const place = folder(t);
  const [file, link] = [join(place, "file"), join(place, "link")];
  writeFileSync(file, "of somebody else");
  chmodSync(file, 0o666);
  symlinkSync(file, link);
  replaceFile(link, "secret");
  assert.equal(readFileSync(file, "utf8"), "of somebody else");
  assert.ok(!lstatSync(link).isSymbolicLink());
  replaceFile(file, "secret");
  assert.equal(statSync(file).mode & 0o777, 0o600);
  replaceFile(file, "open", { mode: 0o644 });
  assert.equal(statSync(file).mode & 0o777, 0o644);
  assert.throws(() => replaceFile(place, "a folder"));
  assert.deepEqual(readdirSync(place).toSorted(), ["file", "link"], "no draft is left");
});

test("a file that is added to is a regular one, and a link is followed where it is meant", (t) => {
  const place = folder(t);
  const [file, link, pipe] = [join(place, "file"), join(place, "link"), join(place, "pipe")];
  const add = (path: string, isLinkMeant: boolean): void => {
    const fd = openToAppend(path, { isLinkMeant });
    writeSync(fd, "line\n");
    closeSync(fd);
  };
  add(file, false);
  assert.equal(statSync(file).mode & 0o777, 0o600);
  symlinkSync(file, link);
  assert.throws(() => add(link, false), { code: "ELOOP" });
  add(link, true);
  assert.equal(readFileSync(file, "utf8"), "line\nline\n");
  execFileSync("mkfifo", [pipe]);
  assert.throws(() => add(pipe, false), { code: "ENXIO" });
  assert.throws(() => add("/dev/null", false), /is a device, not a file/);
});
