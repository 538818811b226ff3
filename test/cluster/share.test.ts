import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { PARTITIONS } from "../../src/channel/homes.ts";
import { largestShare, shareOf } from "../../src/cluster/share.ts";

const members = fc.integer({ min: 1, max: 200 });

test("the shares of all members are all partitions, and differ by one at most", () => {
  fc.assert(
    fc.property(members, (count) => {
      const shares = Array.from({ length: count }, (_, rank) => shareOf(rank, count));
      assert.equal(
        shares.reduce((sum, share) => sum + share, 0),
        PARTITIONS,
      );
      assert.ok(Math.max(...shares) - Math.min(...shares) <= 1);
    }),
  );
});

test("the largest shares are enough for all partitions, and no less than anybody's own", () => {
  fc.assert(
    fc.property(members, (count) => {
      assert.ok(largestShare(count) * count >= PARTITIONS);
      assert.equal(largestShare(count), shareOf(0, count));
    }),
  );
  // The broker counts nobody where this member is not counted yet.
  assert.equal(largestShare(0), PARTITIONS);
});
