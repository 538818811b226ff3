import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { pino } from "pino";
import type { GatewayPlace } from "../../../../src/core/gateway.ts";
import { SessionKeeper } from "../../../../src/platforms/discord/gateway/session-keeper.ts";
import { until } from "../../../support/patience.ts";

test("who is refused says so once, asks for another epoch now and then, and goes on with that one", async () => {
  let sequence = 0;
  const place = (): GatewayPlace => {
    sequence += 1;
    return { shard: 0, shards: 1, account: "bot", session: "s", resumeUrl: "wss://resume", sequence };
  };
  const written: { readonly epoch: number | null; readonly isKept: boolean }[] = [];
  const lines: string[] = [];
  const asked: number[] = [];
  const keeper = new SessionKeeper({
    ledger: {
      keepSession: async (_platform, _place, epoch) => {
        const isKept = epoch === 7;
        written.push({ epoch, isKept });
        return isKept;
      },
    },
    epoch: 5,
    // The first time it is not known whose the shard is.
    retake: async () => {
      asked.push(performance.now());
      return asked.length < 2 ? null : 7;
    },
    place,
    isAlive: () => true,
    retakeMs: 1000,
    log: pino({ level: "info" }, { write: (line) => void lines.push(line) }),
  });
  await until("a place that is kept", () => written.some(({ isKept }) => isKept));
  await delay(10);
  await keeper.close();
  assert.deepEqual(
    written.map(({ epoch }) => epoch).filter((epoch) => epoch === 5),
    [5],
  );
  assert.equal(asked.length, 2);
  // A timer may come a millisecond early by another clock.
  assert.ok((asked[1] ?? 0) - (asked[0] ?? 0) >= 990);
  assert.equal(lines.length, 1);
});
