import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { closeSync, mkdtempSync, rmSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { once } from "node:events";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, test, type TestContext } from "node:test";
import { isMissingFile } from "../../src/core/errors.ts";
import { openToRead, readBytes, readText, UnreadableFileError } from "../../src/files/read-file.ts";

function folder(t: TestContext): string {
  const path = mkdtempSync(join(tmpdir(), "weir-files-"));
  t.after(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

/** Why it cannot be read. */
function whyNot(path: string, most = 1000): string {
  try {
    readBytes(path, most);
  } catch (error) {
    if (error instanceof UnreadableFileError) return error.why;
    throw error;
  }
  return "it can be read";
}

describe("a file of somebody else's", () => {
  test("that is a pipe, a socket, a device or a folder is refused at once, also by a link", async (t) => {
    const place = folder(t);
    const pipe = join(place, "pipe");
    execFileSync("mkfifo", [pipe]);
    const link = join(place, "link");
    symlinkSync(pipe, link);
    const server = createServer().listen(join(place, "socket"));
    t.after(() => server.close());
    await once(server, "listening");
    assert.equal(whyNot(pipe), "is a pipe, not a file");
    assert.equal(whyNot(link), "is a pipe, not a file");
    assert.equal(whyNot(join(place, "socket")), "is a socket, not a file");
    assert.equal(whyNot("/dev/zero"), "is a device, not a file");
    assert.equal(whyNot("/dev/null"), "is a device, not a file");
    assert.equal(whyNot(place), "is a folder, not a file");
    assert.throws(() => openToRead(pipe), { message: `${pipe} is a pipe, not a file.` });
  });

  test("is read up to its bound, and not a byte more, whatever its size says", (t) => {
    const file = join(folder(t), "file");
    writeFileSync(file, "x".repeat(1000));
    assert.equal(readText(file, 1000), "x".repeat(1000));
    assert.equal(whyNot(file, 999), "is 1000 bytes long; at most 999 are read");
    // Nothing of it is on the disk.
    truncateSync(file, 20 * 1024 ** 3);
    assert.match(whyNot(file), /^is 21474836480 bytes long; at most 1000 are read$/);
  });

  test("is read to its end where the system knows no size", { skip: process.platform !== "linux" }, () => {
    assert.match(readText("/proc/self/status", 100_000), /^Name:.*\n[^]*\n$/);
    assert.equal(whyNot("/proc/self/status", 10), "is longer than 10 bytes; no more are read");
    // Larger than a piece.
    assert.match(readText("/proc/self/smaps", 64 * 1024 * 1024), /\n$/);
  });

  test("may be behind a link, empty, or not there", (t) => {
    const place = folder(t);
    const [file, link, nowhere] = ["file", "link", "nowhere"].map((name) => join(place, name));
    assert.ok(file !== undefined && link !== undefined && nowhere !== undefined);
    writeFileSync(file, "");
    symlinkSync(file, link);
    assert.equal(readText(link, 10), "");
    for (const missing of [nowhere, join(file, "in a file"), join(place, "no", "folder")])
      assert.throws(() => readText(missing, 10), isMissingFile);
    closeSync(openToRead(link));
  });
});
