import assert from "node:assert/strict";
import { suite, test } from "node:test";
import * as fc from "fast-check";
import { headForm, HeadReader, type LineBefore, lineHead } from "../../src/text/line-head.ts";

interface Line {
  readonly minute: string;
  readonly name: string;
  readonly text: string;
}

function heads(lines: readonly Line[]): string[] {
  let before: LineBefore | null = null;
  return lines.map(({ minute, name, text }) => {
    const line = { minute, speaker: name };
    const form = headForm(line, before);
    before = line;
    return lineHead(form, minute, `${name}: `) + text;
  });
}

const [ann, ben] = ["Ann", "Ben"];
const line = (minute: string, name: string, text: string): Line => ({ minute, name, text });

const anyLine: fc.Arbitrary<Line> = fc.record({
  minute: fc
    .record({ day: fc.integer({ min: 20, max: 22 }), minute: fc.integer({ min: 10, max: 12 }) })
    .map((at) => `2026-11-${at.day} 14:${at.minute}`),
  name: fc.constantFrom("Ann", "Ben", "Zoë 🎈"),
  text: fc.constantFrom("hi", "Ben: hi", "", "see [1]: this", "12: 30"),
});

suite("heads of lines", () => {
  test("say only what the line before does not", () => {
    const lines = [
      line("2026-11-21 23:58", ann, "one"),
      line("2026-11-21 23:58", ann, "two"),
      line("2026-11-21 23:58", ben, "three"),
      line("2026-11-21 23:59", ben, "four"),
      line("2026-11-22 23:59", ben, "five"),
    ];
    assert.deepEqual(heads(lines), [
      "[2026-11-21 23:58] Ann: one",
      "[+] two",
      "[] Ben: three",
      "[23:59] Ben: four",
      "[2026-11-22 23:59] Ben: five",
    ]);
  });

  test("say the name again where something stands between", () => {
    const minute = "2026-11-21 14:05";
    const form = headForm({ minute, speaker: ann }, { minute, speaker: null });
    assert.equal(lineHead(form, minute, "Ann: "), "[] Ann: ");
    assert.equal(headForm({ minute, speaker: null }, { minute, speaker: null }), "named");
  });

  test("can be written out again, whatever the lines", () => {
    fc.assert(
      fc.property(fc.array(anyLine), (lines) => {
        const reader = new HeadReader();
        assert.deepEqual(
          heads(lines).map((one) => reader.dated(one)),
          lines.map(({ minute, name, text }) => `[${minute}] ${name}: ${text}`),
        );
      }),
    );
  });

  test("of quoted lines have the day alone", () => {
    const reader = new HeadReader();
    const lines = ["[2026-11-20] Ben: one", "[] Ann: two", "[2026-11-21 14:05] Ann: three", "[] Ben: four"];
    assert.deepEqual(
      lines.map((one) => reader.dated(one)),
      [
        "[2026-11-20] Ben: one",
        "[2026-11-20] Ann: two",
        "[2026-11-21 14:05] Ann: three",
        "[2026-11-21 14:05] Ben: four",
      ],
    );
  });

  test("are left as they are where they have no head, or nobody knows the day", () => {
    const reader = new HeadReader();
    for (const text of ["no head", "[14:05] Ann: hi", "[] Ann: hi", "[+] hi", "[2026-11-21] Ann (fact): x"])
      assert.equal(reader.dated(text), text);
  });
});
