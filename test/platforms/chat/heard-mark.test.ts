import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { HeardMark } from "../../../src/platforms/chat/heard-mark.ts";
import { open } from "./open-intake.ts";
import { HOME } from "./scripted-history.ts";

/** An intake whose mark is moved every millisecond, by a clock that a test sets. */
const ticking = (): ReturnType<typeof open> & {
  readonly clock: { ms: number };
  moved: () => Promise<void>;
} => {
  const clock = { ms: 10_000_000 };
  const parts = open({ now: () => new Date(clock.ms), markEveryMs: 1 });
  /** Some looks at the mark later. */
  const moved = async (): Promise<void> => {
    for (const until = performance.now() + 20; performance.now() < until;) await new Promise(setImmediate);
  };
  return { ...parts, clock, moved };
};

describe("the time up to which everything was heard", () => {
  test("moves on while somebody listens, and stays two minutes behind", async () => {
    const { inbox, intake, clock, moved } = ticking();
    intake.resume();
    await moved();
    assert.deepEqual(inbox.mark, new Date(10_000_000));
    clock.ms = 11_000_000;
    await moved();
    assert.deepEqual(inbox.mark, new Date(11_000_000 - 120_000));
    intake.close();
  });

  test("stays where nobody listens, and where something that was found is still missing", async () => {
    const { inbox, history, intake, clock, moved } = ticking();
    inbox.mark = new Date(9_000_000);
    const { promise, resolve } = Promise.withResolvers<void>();
    history.pause = promise;
    intake.resume();
    intake.search(async () => Promise.resolve([HOME]));
    clock.ms = 11_000_000;
    await moved();
    assert.deepEqual(inbox.mark, new Date(9_000_000));
    intake.interrupt();
    resolve();
    clock.ms = 12_000_000;
    await moved();
    assert.deepEqual(inbox.closed, ["room"]);
    assert.deepEqual(inbox.mark, new Date(9_000_000));
    intake.resume();
    await moved();
    assert.deepEqual(inbox.mark, new Date(12_000_000 - 120_000));
    intake.close();
  });

  test("does not move past what is still being taken in, nor over the time of a frozen process", async () => {
    const written: number[] = [];
    let ms = 1_000_000;
    const { promise, resolve } = Promise.withResolvers<void>();
    let settling: Promise<void> = promise;
    const mark = new HeardMark({
      now: () => new Date(ms),
      settled: async () => settling,
      isWhole: () => true,
      write: async (at) => Promise.resolve(void written.push(at.getTime())),
      everyMs: 1,
    });
    const looks = async (): Promise<void> => {
      for (const until = performance.now() + 10; performance.now() < until;) await new Promise(setImmediate);
    };
    mark.start();
    await looks();
    assert.deepEqual(written, [], "something waits");
    settling = Promise.resolve();
    ms = 5_000_000;
    resolve();
    while (written.length === 0) await new Promise(setImmediate);
    mark.stop();
    assert.equal(written[0], 1_000_000 - 120_000, "the time of the look before");
  });
});
