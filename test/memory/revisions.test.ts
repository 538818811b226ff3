import assert from "node:assert/strict";
import { test } from "node:test";
import { memoryId } from "../../src/core/ids.ts";
import type { StatedMemory } from "../../src/core/memory.ts";
import { readRevisions, revisionTask } from "../../src/memory/revisions.ts";

function stated(id: number, statement: string, rest: Partial<StatedMemory> = {}): StatedMemory {
  const [subject = "Ann"] = statement.split(" ");
  return {
    id: memoryId(id),
    agent: "main",
    type: "fact",
    scope: "channel",
    subject,
    assertedBy: subject,
    statement,
    at: new Date(Date.UTC(2026, 0, id)),
    by: subject,
    ...rest,
  };
}

function asked(fresh: StatedMemory, ...others: readonly StatedMemory[]): string[] {
  return (revisionTask([fresh], [...others, fresh])?.older ?? []).map(({ statement }) => statement);
}

const MOVED = stated(9, "Ann lives in Munich now.");
const BEFORE = stated(1, "Ann lives in Berlin.");

test("a new statement is compared with the nearest older ones of its speaker or its subject", () => {
  const cello = stated(2, "Ann plays the cello.");
  assert.deepEqual(asked(MOVED, cello, BEFORE), [BEFORE.statement, cello.statement], "the nearest first");
  assert.deepEqual(asked(MOVED, stated(2, "Ben keeps geese.")), [], "of another person and subject");
  assert.deepEqual(asked(MOVED, stated(10, "Ann lives in Oslo.")), [], "said later");
  assert.deepEqual(asked(MOVED, { ...BEFORE, scope: "dm" }, { ...BEFORE, agent: "other" }), []);
  const ofHer = stated(3, "Ann lives in Rome.", { assertedBy: "Ben", by: "Ben" });
  assert.deepEqual(asked(MOVED, ofHer), [ofHer.statement], "what others said of her");
  const many = Array.from({ length: 8 }, (_, index) => stated(index + 1, `Ann knows word${index}.`));
  assert.equal(asked(MOVED, ...many).length, 5);
});

test("numbers are of one list, and only pairs that were asked about are read", () => {
  const task = revisionTask([MOVED], [BEFORE, MOVED]);
  assert.ok(task !== null);
  assert.deepEqual([task.fresh[0]?.number, task.older[0]?.number], [1, 2]);
  const item = { new: 1, old: 2, change: "replaces" };
  const wrong = [
    { ...item, new: 2, old: 1 },
    { ...item, old: 7 },
    { ...item, change: "deletes" },
    null,
    "1/2",
  ];
  assert.deepEqual(readRevisions(JSON.stringify({ changes: [...wrong, item, item] }), task), [
    { fresh: MOVED.id, older: BEFORE.id, change: "replaces" },
  ]);
  for (const json of ["", "{", "[]", '{"changes": 3}']) assert.deepEqual(readRevisions(json, task), []);
});

test("two statements of one stretch are compared by when they were said, each with a number of its own", () => {
  const task = revisionTask([BEFORE, MOVED], [BEFORE, MOVED]);
  assert.deepEqual([...(task?.pairs ?? [])], ["1/2"]);
  assert.equal(revisionTask([MOVED], [MOVED]), null);
});
