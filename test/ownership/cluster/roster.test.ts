import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { PARTITIONS } from "../../../src/ownership/homes.ts";
import {
  largestShare,
  parsePresence,
  type Presence,
  presenceBytes,
  Roster,
  shareOf,
} from "../../../src/ownership/cluster/roster.ts";

function presence(id: string, since: number, more: Partial<Presence> = {}): Presence {
  return { id, name: id, since, held: [], isOut: false, hasDatabase: false, ...more };
}

test("what a member tells of itself is read as it was written, and foreign bytes are nothing", () => {
  const told = presence("a", 1, { held: [0, 63] });
  assert.deepEqual(parsePresence(presenceBytes(told), PARTITIONS), told);
  const foreign = ["", "null", "{}", "[]", "\u0000\u00ff", JSON.stringify({ ...told, held: [64] })];
  for (const text of foreign) assert.equal(parsePresence(Buffer.from(text), PARTITIONS), null, text);
  assert.equal(parsePresence(Buffer.from([0xff, 0xfe, 0x00]), PARTITIONS), null);
});

test("whether others reach the database is heard of those that are there, and of none that does not tell", () => {
  const roster = new Roster(presence("a", 1), PARTITIONS, 0);
  const { hasDatabase: _, ...before } = presence("b", 2);
  const heard = parsePresence(Buffer.from(JSON.stringify(before)), PARTITIONS);
  assert.deepEqual(heard, presence("b", 2));
  roster.hear(presence("b", 2), 0);
  assert.equal(roster.isDatabaseThere(0), false);
  roster.hear(presence("c", 3, { hasDatabase: true }), 0);
  assert.equal(roster.isDatabaseThere(0), true);
  assert.equal(roster.isDatabaseThere(3001), false);
  // Who rests takes what nobody else can have.
  roster.hear(presence("d", 4, { hasDatabase: true, isOut: true }), 4000);
  assert.equal(roster.isDatabaseThere(4000), true);
  roster.hear(presence("d", 4, { isOut: true }), 4001);
  assert.equal(roster.isDatabaseThere(4001), false);
});

test("the order of joining says whose share is larger, and all members say the same", () => {
  const all = [presence("c", 1), presence("a", 2), presence("b", 2)];
  const shares = all.map((self) => {
    const roster = new Roster(self, PARTITIONS, 0);
    for (const other of all) roster.hear(other, 0);
    return roster.share(3, 0);
  });
  assert.deepEqual(shares, [22, 21, 21]);
});

test("while it is not known who has come or gone, the share is enough for all together", () => {
  const roster = new Roster(presence("b", 2), PARTITIONS, 0);
  roster.hear(presence("a", 1), 0);
  assert.equal(roster.share(2, 0), 32);
  assert.equal(roster.share(3, 0), 22);
  assert.equal(roster.share(1, 0), PARTITIONS);
  // The broker cannot tell: who was heard is who is here.
  assert.equal(roster.share(null, 0), 32);
});

test("who is not heard for a while is not here, and who is out is not either", () => {
  const roster = new Roster(presence("b", 2), PARTITIONS, 0);
  assert.equal(roster.hear(presence("a", 1), 0), true);
  assert.equal(roster.hear(presence("a", 1), 1000), false);
  assert.equal(roster.isFirst(3999), false);
  assert.equal(roster.isFirst(4001), true);
  assert.equal(roster.hear(presence("a", 1), 5000), true);
  assert.equal(roster.hear(presence("a", 1, { isOut: true }), 5001), true);
  assert.equal(roster.hear(presence("a", 1, { isOut: true }), 5002), false);
  assert.equal(roster.size(5002), 1);
  // Its own words come back to it.
  assert.equal(roster.hear(presence("b", 2), 5002), false);
  assert.equal(roster.size(5002), 1);
});

test("a partition is an orphan that nobody has held for so long, whoever that was", () => {
  const roster = new Roster(presence("b", 2), PARTITIONS, 0);
  assert.deepEqual(roster.orphans(5000, 5000), []);
  for (let partition = 0; partition < PARTITIONS - 3; partition++) roster.holds(partition, 3000);
  roster.hear(presence("a", 1, { held: [61] }), 3000);
  roster.hear(presence("c", 3, { held: [62], isOut: true }), 3000);
  assert.deepEqual(roster.orphans(5000, 6000), [63]);
});

const members = fc.integer({ min: 1, max: 200 });

test("the shares of all members are all partitions, and differ by one at most", () => {
  fc.assert(
    fc.property(members, (count) => {
      const shares = Array.from({ length: count }, (_, rank) => shareOf(rank, count, PARTITIONS));
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
      assert.ok(largestShare(count, PARTITIONS) * count >= PARTITIONS);
      assert.equal(largestShare(count, PARTITIONS), shareOf(0, count, PARTITIONS));
    }),
  );
  // The broker counts nobody where this member is not counted yet.
  assert.equal(largestShare(0, PARTITIONS), PARTITIONS);
});
