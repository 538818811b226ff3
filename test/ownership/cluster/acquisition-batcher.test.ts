import assert from "node:assert/strict";
import { test } from "node:test";
import { pino } from "pino";
import { AcquisitionBatcher } from "../../../src/ownership/cluster/acquisition-batcher.ts";

const log = pino({ level: "silent" });

test("what is not taken up in time is told as lost and refused, and what came meanwhile is taken up", async () => {
  const hanging = Promise.withResolvers<readonly number[]>();
  const calls: string[] = [];
  const listener = {
    gained: async (ids: readonly number[]): Promise<readonly number[]> => {
      calls.push(`gained ${ids.join()}`);
      if (!ids.includes(1)) return ids;
      add(3);
      return hanging.promise;
    },
    handingOn: async () => undefined,
    lost: (ids: readonly number[]) => void calls.push(`lost ${ids.join()}`),
  };
  const gains = new AcquisitionBatcher(listener, log, 50);
  const outcomes: string[] = [];
  const add = (id: number, isStale = false): void =>
    gains.add({
      id,
      isStale: () => isStale && calls.length > 0,
      done: (isTaken) => outcomes.push(`${id} ${isTaken}`),
    });
  add(1);
  // Of one that went meanwhile the listener was told before.
  add(2, true);
  await gains.settled();
  hanging.resolve([1]);
  await gains.settled();
  assert.deepEqual(calls, ["gained 1,2", "lost 1", "gained 3"]);
  assert.deepEqual(outcomes, ["1 false", "3 true"]);
});
