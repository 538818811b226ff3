import assert from "node:assert/strict";
import { mock, test } from "node:test";
import { WakeRetry } from "../../src/channel/waker.ts";
import { type ChannelId, channelId } from "../../src/core/ids.ts";

test("a channel that cannot be woken for a reason of its own holds up none that waits for the database", async () => {
  mock.timers.enable({ apis: ["setTimeout"] });
  try {
    const [odd, other] = [channelId(1), channelId(2)];
    const woken: ChannelId[] = [];
    const retry: WakeRetry = new WakeRetry(async (id) => {
      woken.push(id);
      if (id === odd) retry.add(odd, false);
    });
    retry.add(odd, false);
    const pass = async (ms: number): Promise<void> => {
      mock.timers.tick(ms);
      for (let turn = 0; turn < 5; turn++) await Promise.resolve();
    };
    // So often that it is not tried again before half a minute.
    for (const ms of [500, 1000, 2000, 4000, 8000, 16_000]) await pass(ms);
    assert.deepEqual(
      woken,
      Array.from({ length: 6 }, () => odd),
    );
    retry.add(other, true);
    await pass(1000);
    assert.equal(woken.at(-1), other);
    retry.close();
  } finally {
    mock.timers.reset();
  }
});
