// proves: src/config/references.ts
import assert from "node:assert/strict";
import { test } from "node:test";
import { headersFrom } from "../../src/config/references.ts";

test("headers are read as OpenTelemetry's variables have them", () => {
  assert.deepEqual(headersFrom("authorization=Bearer%20of-mine, x-team = river "), {
    authorization: "Bearer of-mine",
    "x-team": "river",
  });
  for (const wrong of ["Bearer key", "a=1,,b=2", "a=%zz", "=1", ""])
    assert.equal(headersFrom(wrong), null, wrong);
});
