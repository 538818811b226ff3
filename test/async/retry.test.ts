import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { BackoffTimer, backoffMs, jittered } from "../../src/async/backoff.ts";
import { fixedWaits, retry, retryWrite } from "../../src/async/retry.ts";
import { WeirError } from "../../src/core/errors.ts";

class Away extends WeirError {
  readonly retryable = true;
}

/** Fails so many times, and counts. */
function failing(
  times: number,
  error: Error = new Away("away"),
): { work: () => Promise<string>; calls: number } {
  const script = {
    calls: 0,
    work: async () => {
      script.calls += 1;
      if (script.calls <= times) throw error;
      return Promise.resolve("done");
    },
  };
  return script;
}

describe("exponential back-off", () => {
  test("doubles up to the longest wait, however many failures there were", () => {
    const backoff = { fromMs: 100, toMs: 1000 };
    assert.deepEqual(
      [0, 1, 2, 3, 4, 2000].map((failures) => backoffMs(backoff, failures)),
      [100, 200, 400, 800, 1000, 1000],
    );
  });

  test("is a quarter more or less where many would come back together", () => {
    assert.deepEqual([jittered(1000, 0), jittered(1000, 0.5), jittered(1000, 0.999)], [750, 1000, 1250]);
  });

  test("of a timer grows with each failure, and begins anew behind a success", async () => {
    const timer = new BackoffTimer({ fromMs: 1, toMs: 4 });
    const waits: number[] = [];
    for (let failure = 0; failure < 4; failure++) {
      waits.push(timer.waitMs);
      await new Promise<void>((resolve) => {
        timer.schedule(resolve);
        // A wait is under way: this one neither replaces it nor counts.
        timer.schedule(() => assert.fail("two waits at once"));
        setTimeout(() => undefined, 50);
      });
    }
    timer.succeeded();
    assert.deepEqual([...waits, timer.waitMs], [1, 2, 4, 4, 1]);
    timer.schedule(() => assert.fail("it was cancelled"));
    timer.cancel();
    assert.equal(timer.isWaiting, false);
    await new Promise((resolve) => {
      setTimeout(resolve, 10);
    });
  });
});

describe("a retry", () => {
  test("goes on until the work succeeds", async () => {
    const script = failing(3);
    assert.equal(await retry(script.work, (_, failures) => failures), "done");
    assert.equal(script.calls, 4);
  });

  test("throws the failure after which nobody waits", async () => {
    const script = failing(9);
    await assert.rejects(retry(script.work, fixedWaits([0, 1])), Away);
    assert.equal(script.calls, 3);
  });

  test("ends with its signal, in the middle of a wait", async () => {
    const script = failing(9);
    const closing = new AbortController();
    const running = retry(script.work, () => 60_000, closing.signal);
    setTimeout(() => closing.abort(), 5);
    await assert.rejects(running, Away);
    assert.equal(script.calls, 1);
  });

  test("of a write says whether an earlier attempt may have been committed", async () => {
    assert.deepEqual(await retryWrite(failing(0).work), { result: "done", isRepeated: false });
    assert.deepEqual(await retryWrite(failing(1).work), { result: "done", isRepeated: true });
  });

  test("of a write does not repeat what no waiting mends", async () => {
    const script = failing(9, new Error("odd"));
    await assert.rejects(retryWrite(script.work), /odd/);
    assert.equal(script.calls, 1);
  });
});
