import assert from "node:assert/strict";
import { test } from "node:test";
import { gapAfter, open } from "./open-intake.ts";

test("what was missed is read a few at a time, in order, however much is handed in slowly", async () => {
  const { inbox, history, intake } = open({ pageSize: 100 });
  history.add(...Array.from({ length: 300 }, (_, index) => index + 1));
  inbox.gaps = [gapAfter(0)];
  let taken = 0;
  let mostAhead = 0;
  inbox.onEvent = () => {
    taken += 1;
    mostAhead = Math.max(mostAhead, history.read.length - taken);
  };
  intake.resume();
  await intake.idle();
  assert.equal(taken, 300);
  assert.ok(mostAhead <= 4 + 25, `${mostAhead} were read ahead`);
  assert.deepEqual(
    history.read,
    Array.from({ length: 300 }, (_, index) => String(index + 1)),
  );
});

test("where the newest messages are not to be had, the gap is filled from its beginning on all the same", async () => {
  const { inbox, history, intake, got } = open({ pageSize: 100 });
  history.newest = async () => Promise.resolve({ messages: [], isAll: false });
  history.add(...Array.from({ length: 1001 }, (_, index) => index + 1));
  inbox.gaps = [gapAfter(0)];
  intake.resume();
  await intake.idle();
  assert.equal(new Set(got()).size, 1001);
  assert.deepEqual([inbox.closed, [...inbox.absences]], [["room"], []]);
});
