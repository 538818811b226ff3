import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as nextTurn, setTimeout as delay } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { abortedAfter } from "../../src/async/deadline.ts";
import { until } from "../support/patience.ts";

setFlagsFromString("--expose-gc");
const collect: unknown = runInNewContext("gc");

async function collected(): Promise<void> {
  assert.ok(typeof collect === "function");
  for (let times = 0; times < 3; times++) {
    Reflect.apply(collect, undefined, []);
    await nextTurn();
  }
}

test("a signal is aborted after so long, also behind others", async () => {
  const late = abortedAfter(20);
  const behind = AbortSignal.any([new AbortController().signal, late]);
  assert.equal(behind.aborted, false);
  await until("the abort", () => behind.aborted);
  assert.ok(late.reason instanceof DOMException && late.reason.name === "TimeoutError");
});

/** A signal made of one that comes soon, handed to another one, and listened to for a moment. */
function handOn(lasting: AbortSignal): WeakRef<AbortSignal> {
  const either = AbortSignal.any([lasting, abortedAfter(10)]);
  const next = AbortSignal.any([new AbortController().signal, either]);
  const ignore = (): void => undefined;
  next.addEventListener("abort", ignore);
  next.removeEventListener("abort", ignore);
  return new WeakRef(either);
}

test("what signals made of it were handed to others is let go once it is over", async () => {
  const lasting = new AbortController();
  const made = Array.from({ length: 50 }, () => handOn(lasting.signal));
  await delay(50);
  await until("an end of them", async () => {
    await collected();
    return made.every((one) => one.deref() === undefined);
  });
});
