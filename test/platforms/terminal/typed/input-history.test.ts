import assert from "node:assert/strict";
import { appendFileSync, mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, test, type TestContext } from "node:test";
import { openHistoryFile } from "../../../../src/platforms/terminal/typed/input-history.ts";
import type { InputHistory } from "../../../../src/platforms/terminal/presenters/presenter.ts";

function folder(context: TestContext): string {
  const path = mkdtempSync(join(tmpdir(), "weir-history-"));
  context.after(() => rmSync(path, { recursive: true, force: true }));
  return join(path, "history");
}

const open = (path: string): InputHistory => openHistoryFile(path, (text) => text.includes("hunter2"));

describe("what was typed", () => {
  test("is there in the next session, the newest first, for the file's owner alone", (context) => {
    const path = folder(context);
    const history = open(path);
    assert.deepEqual(history.lines, []);
    history.add("one\ntwo");
    history.add("three");
    assert.deepEqual(open(path).lines, ["three", "one\ntwo"]);
    assert.equal(statSync(path).mode & 0o777, 0o600);
    history.clear();
    assert.deepEqual(open(path).lines, []);
  });

  test("is not kept where it may hold a secret, tells what is to be forgotten, or is long", (context) => {
    const path = folder(context);
    const history = open(path);
    for (const text of ["it is hunter2", "/forget my address", " /Forget 3", "x".repeat(2001), "fine"])
      history.add(text);
    assert.deepEqual(open(path).lines, ["fine"]);
  });

  test("is bounded, also in the file", (context) => {
    const path = folder(context);
    const history = open(path);
    for (let index = 1; index <= 1000; index++) history.add(`line ${index}`);
    const { lines } = open(path);
    assert.deepEqual([lines.length, lines[0], lines.at(-1)], [500, "line 1000", "line 501"]);
    assert.equal(readFileSync(path, "utf8").split("\n").length, 501);
  });

  test("survives a line that was cut, and a file that cannot be written", (context) => {
    const path = folder(context);
    open(path).add("one");
    appendFileSync(path, '"half');
    assert.deepEqual(open(path).lines, ["one"]);
    const nowhere = open(join(path, "no folder", "history"));
    nowhere.add("two");
    assert.deepEqual(nowhere.lines, []);
  });
});
