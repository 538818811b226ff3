import assert from "node:assert/strict";
import { PassThrough } from "node:stream";
import { describe, test } from "node:test";
import { LineReader } from "../../../../src/platforms/terminal/typed/line-reader.ts";

/** Every line of an input that comes in these pieces. */
async function linesOf(pieces: readonly (string | Buffer)[], maxLength?: number): Promise<string[]> {
  const input = new PassThrough();
  const reader = new LineReader(input, maxLength);
  for (const piece of pieces) input.write(piece);
  input.end();
  const lines: string[] = [];
  for (let line = await reader.next(); line !== null; line = await reader.next()) {
    lines.push(line.type === "line" ? `${line.number} ${line.text}` : `${line.number} (too long)`);
  }
  reader.close();
  return lines;
}

describe("reading lines", () => {
  test("joins pieces, drops line ends and a byte order mark, keeps a last line without an end", async () => {
    assert.deepEqual(await linesOf(["\uFEFFo", "ne\r\ntw", "o\n\nfo", "ur"]), [
      "1 one",
      "2 two",
      "3 ",
      "4 four",
    ]);
    assert.deepEqual(await linesOf(["one\n"]), ["1 one"]);
    assert.deepEqual(await linesOf([]), []);
  });

  test("joins characters whose bytes come apart", async () => {
    const bytes = Buffer.from("日本 👍\n");
    assert.deepEqual(await linesOf([...bytes].map((byte) => Buffer.from([byte]))), ["1 日本 👍"]);
  });

  test("takes lines of many megabytes, and refuses longer ones without losing its place", async () => {
    const piece = "x".repeat(1024 * 1024);
    const pieces = [...Array.from({ length: 8 }, () => piece), "\nshort\n"];
    const lines = await linesOf(pieces);
    assert.deepEqual(
      lines.map((line) => line.length),
      [8 * 1024 * 1024 + 2, 7],
    );
    assert.deepEqual(await linesOf(pieces, 1000), ["1 (too long)", "2 short"]);
  });

  test("holds back whoever writes while nobody asks", async () => {
    const input = new PassThrough();
    const reader = new LineReader(input);
    input.write("one\ntwo\n");
    assert.deepEqual(await reader.next(), { type: "line", number: 1, text: "one" });
    assert.ok(input.isPaused());
    reader.close();
  });

  test("ends a wait when it is closed", async () => {
    const reader = new LineReader(new PassThrough());
    const next = reader.next();
    reader.close();
    assert.equal(await next, null);
    assert.equal(await reader.next(), null);
  });
});
