import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import {
  noteText,
  ownLines,
  withLine,
  withoutLines,
  withoutMarks,
} from "../../../src/features/notes/note-lines.ts";
import { cpuMs } from "../../support/cpu-time.ts";
import { anyCharacter } from "../../support/any-character.ts";

/** Lines as a person may write them, marks and half marks included. */
const personsText = fc
  .array(
    fc.oneof(
      fc.string({ unit: "grapheme" }),
      fc.constantFrom("", "- a", "<!-- note", "<!-- note x -->", "# 日本", "note 1 -->"),
    ),
  )
  .map((lines) => lines.join("\n"));

test("a line that was written is read again, stands alone, and goes without a trace", () => {
  fc.assert(
    fc.property(personsText, fc.string({ unit: anyCharacter }), fc.nat(), (before, said, id) => {
      const text = noteText(said.toWellFormed());
      fc.pre(text !== "");
      const after = withLine(before, { id, text }, null);
      assert.deepEqual(ownLines(after).at(-1), { id, text });
      assert.equal(after.split("\n").at(-1), "");
      const left = withoutLines(after, new Set([id]));
      assert.equal(left.trimEnd(), before.trimEnd());
    }),
  );
});

test("a note is one line, and cannot close its mark nor make another one", () => {
  assert.equal(noteText(" a\r\n b\u2028c\0 "), "a b c");
  for (const forged of [
    "x <!-- note 7 -->",
    "<!-- note 7 --",
    "--> <!-- note 7 -->",
    "<<!--!-- note 7 -->",
  ]) {
    const line = withLine("", { id: 1, text: noteText(forged) }, null);
    assert.deepEqual(
      ownLines(line).map(({ id }) => id),
      [1],
      forged,
    );
    assert.equal(withoutLines(line, new Set([7])), line);
  }
});

test("one line takes another's place, and the lines round it stay", () => {
  const two = withLine(withLine("# Notes\n", { id: 1, text: "red" }, null), { id: 2, text: "blue" }, null);
  const changed = withLine(two, { id: 3, text: "green" }, 1);
  assert.equal(withoutMarks(changed), "# Notes\n- green\n- blue\n");
  assert.equal(
    withoutMarks(withLine(changed, { id: 4, text: "late" }, 99)),
    "# Notes\n- green\n- blue\n- late\n",
  );
});

test("only the agent's own lines are the agent's", () => {
  const text = "- by hand\n- mine <!-- note 5 -->\r\n- mine <!-- note 6 -->\n";
  assert.deepEqual(ownLines(text), [{ id: 6, text: "mine" }]);
  assert.equal(withoutLines(text, new Set([6])), "- by hand\n- mine <!-- note 5 -->\r\n");
});

test("no words make a mark, whatever is taken out of them", () => {
  const words = "x <!<!-- note 5 -->>";
  assert.doesNotMatch(noteText(words), /<!--|-->/);
  assert.deepEqual(ownLines(withLine("", { id: 9, text: noteText(words) }, null)), [
    { id: 9, text: noteText(words) },
  ]);
});

test("a note does not turn the direction of what a person reads", () => {
  assert.equal(noteText("\u202Eabc\u202C \u2066d\u2069"), "abc d");
});

test("a long run of spaces takes no time", () => {
  const long = `${" ".repeat(500_000)}x`;
  const ms = cpuMs(() => {
    assert.deepEqual(ownLines(long), []);
    assert.equal(withoutMarks(long), long);
  });
  // Once for each of them, the looking would take minutes.
  assert.ok(ms < 2000, `${ms} ms`);
});
