import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { parseWake, wakeBytes } from "../../../src/ownership/cluster/wakes.ts";
import { channelId } from "../../../src/core/ids.ts";

test("a wake is read as it was written", () => {
  const whole = fc.integer({ min: 0, max: Number.MAX_SAFE_INTEGER });
  fc.assert(
    fc.property(whole, whole, (row, seq) => {
      const wake = { channel: channelId(row + 1 > Number.MAX_SAFE_INTEGER ? row : row + 1), seq };
      assert.deepEqual(parseWake(wakeBytes(wake)), wake);
    }),
  );
});

test("foreign bytes are no wake", () => {
  const foreign = [
    "",
    "1",
    ":",
    "1:",
    ":1",
    "0:1",
    "-1:1",
    "1:-1",
    "1:1 ",
    "1:1:1",
    "1e3:1",
    "9007199254740993:1",
  ];
  for (const text of foreign) assert.equal(parseWake(Buffer.from(text)), null, text);
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 5000 }), (bytes) => {
      const wake = parseWake(Buffer.from(bytes));
      if (wake !== null) assert.deepEqual(wakeBytes(wake), Buffer.from(`${wake.channel}:${wake.seq}`));
    }),
  );
});
