import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import { ActorLoader, type ActorLoaderParts } from "../../src/channel/loader.ts";
import { type ChannelId, channelId } from "../../src/core/ids.ts";

test("of many new channels a few are read at a time, in order, and a failure holds up none", async () => {
  const gate = Promise.withResolvers<void>();
  const begun: ChannelId[] = [];
  const read = {
    homes: { epochOf: async () => null },
    store: {
      channels: { take: async () => 1 },
      async load(id: ChannelId) {
        begun.push(id);
        await gate.promise;
        throw new Error("unreadable");
      },
    },
  };
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- an unreadable log needs no more
  const loader = new ActorLoader(read as unknown as ActorLoaderParts);
  const ids = Array.from({ length: 20 }, (_, index) => channelId(index + 1));
  const loads = ids.map(async (id) => loader.load(id, undefined));
  const ended = Promise.allSettled(loads);
  for (let turn = 0; turn < 10; turn++) await nextTurn();
  // The daemon has ten connections, which other channels need as well.
  assert.deepEqual(begun, ids.slice(0, 4));
  gate.resolve();
  for (const one of await ended) assert.equal(one.status, "rejected");
  assert.deepEqual(begun, ids);
});
