import assert from "node:assert/strict";
import { test } from "node:test";
import { isPublic, mayRead, OPERATORS_ALONE } from "../../../../src/daemon/http/page/roles.ts";

const BOTH = [true, false] as const;

test("an operator reads everything, a viewer what was said in public where all may read today", () => {
  for (const isOpen of BOTH)
    for (const wasOpen of BOTH) {
      assert.equal(mayRead("operator", { isOpen, wasOpen }), true);
      assert.equal(mayRead("viewer", { isOpen, wasOpen }), isOpen && wasOpen);
    }
  assert.deepEqual([mayRead("operator", OPERATORS_ALONE), mayRead("viewer", OPERATORS_ALONE)], [true, false]);
});

test("only a channel that its platform calls public is public", () => {
  for (const kind of ["channel", "thread", "dm"] as const)
    for (const isPrivate of [true, false, null])
      assert.equal(isPublic({ kind, isPrivate }), kind === "channel" && isPrivate === false);
});
