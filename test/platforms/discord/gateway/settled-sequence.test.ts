import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { SettledSequence } from "../../../../src/platforms/discord/gateway/settled-sequence.ts";

const placeOf = (sequence: SettledSequence): number | null => sequence.settled?.sequence ?? null;

test("a place stays before the oldest event that is still being taken", () => {
  const sequence = new SettledSequence();
  assert.equal(placeOf(sequence), null);
  sequence.begin("s", 4);
  assert.deepEqual(sequence.settled, { session: "s", sequence: 4 });
  const [five, six] = [sequence.came(5), sequence.came(6)];
  six();
  assert.equal(placeOf(sequence), 4);
  five();
  assert.equal(placeOf(sequence), 6);
});

test("a new session counts only once nothing of the one before is being taken", async () => {
  const sequence = new SettledSequence();
  sequence.begin("first", 0);
  const old = sequence.came(1);
  sequence.begin("second", 1);
  const fresh = sequence.came(2);
  assert.equal(placeOf(sequence), null);
  const idle = sequence.idle();
  fresh();
  assert.equal(placeOf(sequence), null);
  old();
  await idle;
  assert.deepEqual(sequence.settled, { session: "second", sequence: 2 });
});

test("in whatever order events are taken, the place is right before the oldest that is not", () => {
  fc.assert(
    fc.property(fc.array(fc.option(fc.nat(9)), { maxLength: 60 }), (steps) => {
      const sequence = new SettledSequence();
      sequence.begin("s", 0);
      const open: { readonly number: number; readonly taken: () => void }[] = [];
      let newest = 0;
      for (const step of steps) {
        if (step === null) {
          newest += 1;
          open.push({ number: newest, taken: sequence.came(newest) });
        } else for (const { taken } of open.splice(step, 1)) taken();
        assert.equal(placeOf(sequence), (open[0]?.number ?? newest + 1) - 1);
      }
    }),
  );
});
