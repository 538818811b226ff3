import assert from "node:assert/strict";
import { PassThrough } from "node:stream";
import { setImmediate } from "node:timers/promises";
import { describe, test } from "node:test";
import fc from "fast-check";
import { PasteFilter } from "../../../../src/platforms/terminal/typed/paste-filter.ts";

/** What the editor of the line is given of these bytes, and what it stands for. */
async function filtered(pieces: readonly (string | Buffer)[]): Promise<{ line: string; text: string }> {
  const source = new PassThrough();
  const filter = new PasteFilter(source);
  let line = "";
  filter.on("data", (piece: string) => (line += piece));
  for (const piece of pieces) {
    source.write(piece);
    await setImmediate();
  }
  filter.release();
  return { line, text: filter.restore(line) };
}

const pasted = (text: string): string => `\u001B[200~${text}\u001B[201~`;

describe("a paste", () => {
  test("becomes one line, from which its line breaks come back", async () => {
    assert.deepEqual(await filtered([`a${pasted("b\r\nc\rd\n\te")}f`]), {
      line: "ab␤c␤d␤\tef",
      text: "ab\nc\nd\n\tef",
    });
  });

  test("is the same wherever its bytes are cut", async () => {
    const bytes = Buffer.from(`x${pasted("日本\r👍")}y${pasted("z\rz")}`);
    await fc.assert(
      fc.asyncProperty(fc.array(fc.nat(bytes.length), { maxLength: 6 }), async (cuts) => {
        const ends = [...cuts.toSorted((a, b) => a - b), bytes.length];
        // The Escape key comes alone: what follows it in another piece begins no paste.
        const pieces = ends.map((end, index) => bytes.subarray(ends[index - 1] ?? 0, end));
        fc.pre(pieces.every((piece) => piece.at(-1) !== 0x1b));
        assert.equal((await filtered(pieces)).line, "x日本␤👍yz␤z");
      }),
      { numRuns: 200 },
    );
  });

  test("holds no key that the editor would obey", async () => {
    assert.equal((await filtered([pasted("a\u0003\u0004\u001B[A\u007Fb")])).line, "a[Ab");
    assert.equal((await filtered([pasted("\t")])).line, "    ");
  });

  test("is a few words where it is long, until it is forgotten", async () => {
    const long = "word ".repeat(1000);
    assert.deepEqual(await filtered(["see ", pasted(long), pasted("a\r".repeat(30)), "!"]), {
      line: "see [paste 1: 5000 characters][paste 2: 30 lines]!",
      text: `see ${long}${"a\n".repeat(30)}!`,
    });
  });

  test("that never ends is dropped with Ctrl-C", async () => {
    assert.equal((await filtered(["a\u001B[200~bc", "\u0003", "d"])).line, "a\u0003d");
  });

  test("is no key: those pass as they are", async () => {
    assert.equal((await filtered(["\u001B", "\u001B[A", "\u0003", "é"])).line, "\u001B\u001B[A\u0003é");
  });
});
