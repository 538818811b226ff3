import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { ListeningWatermark } from "../../../src/platforms/intake/listening-watermark.ts";
import { open } from "./open-intake.ts";
import { HOME } from "./scripted-history.ts";

const EVERY_MS = 1;

/** Resolves when the mark was looked at so often: timers of one length fire in the order in which they were set, however late. */
async function looks(count: number): Promise<void> {
  for (let look = 0; look < count; look++) {
    await delay(EVERY_MS);
    await new Promise(setImmediate);
  }
}

/** An intake whose mark is looked at every millisecond, by a clock that a test sets. */
const ticking = (): ReturnType<typeof open> & {
  readonly clock: { ms: number };
  moved: () => Promise<void>;
  /** Time goes by, as it does while a process runs. */
  later: (ms: number) => Promise<void>;
} => {
  const clock = { ms: 10_000_000 };
  const parts = open({ now: () => new Date(clock.ms), watermarkEveryMs: EVERY_MS });
  /** Some looks at the mark later. */
  const moved = async (): Promise<void> => looks(20);
  const later = async (ms: number): Promise<void> => {
    for (const until = clock.ms + ms; clock.ms < until;) {
      clock.ms = Math.min(until, clock.ms + 30_000);
      await looks(5);
    }
    await moved();
  };
  return { ...parts, clock, moved, later };
};

describe("the time up to which everything was heard", () => {
  test("moves on while somebody listens, and stays two minutes behind", async () => {
    const { inbox, intake, moved, later } = ticking();
    intake.resume();
    await moved();
    assert.deepEqual(inbox.mark, new Date(10_000_000));
    await later(600_000);
    assert.deepEqual(inbox.mark, new Date(10_600_000 - 120_000));
    intake.close();
  });

  test("stays where nobody listens, and where something that was found is still missing", async () => {
    const { inbox, history, intake, moved, later } = ticking();
    inbox.mark = new Date(9_000_000);
    const { promise, resolve } = Promise.withResolvers<void>();
    history.pause = promise;
    intake.resume();
    intake.search(async () => Promise.resolve([HOME]));
    await later(200_000);
    assert.deepEqual(inbox.mark, new Date(9_000_000));
    intake.interrupt();
    resolve();
    await later(200_000);
    assert.deepEqual(inbox.closed, ["room"]);
    assert.deepEqual(inbox.mark, new Date(9_000_000));
    intake.resume();
    await moved();
    assert.deepEqual(inbox.mark, new Date(10_400_000 - 120_000));
    intake.close();
  });

  test("does not move past what is still being taken in, nor over the time of a frozen process", async () => {
    const written: number[] = [];
    let ms = 1_000_000;
    const { promise, resolve } = Promise.withResolvers<void>();
    let settling: Promise<void> = promise;
    const mark = new ListeningWatermark({
      now: () => new Date(ms),
      settled: async () => settling,
      isComplete: () => true,
      write: async (at) => Promise.resolve(void written.push(at.getTime())),
      everyMs: EVERY_MS,
    });
    mark.start();
    await looks(10);
    assert.deepEqual(written, [], "something waits");
    settling = Promise.resolve();
    ms = 5_000_000;
    resolve();
    while (written.length === 0) await new Promise(setImmediate);
    mark.stop();
    assert.equal(written[0], 1_000_000 - 120_000, "the time of the look before");
  });
});

test("the time of a frozen process does not count as heard before a connection that has not outlived it is noticed", async () => {
  const { inbox, intake, clock, moved, later } = ticking();
  intake.resume();
  await later(600_000);
  clock.ms += 3_600_000;
  await moved();
  await later(119_000);
  assert.deepEqual(inbox.mark, new Date(10_600_000 - 120_000));
  intake.interrupt();
  await later(30_000);
  intake.resume();
  await moved();
  assert.deepEqual(inbox.mark, new Date(clock.ms - 120_000));
  clock.ms += 86_400_000;
  await moved();
  clock.ms -= 86_400_000;
  await later(180_000);
  assert.deepEqual(inbox.mark, new Date(clock.ms - 120_000), "nor does a clock that was ahead stop it");
  intake.close();
});
