import assert from "node:assert/strict";
import { test } from "node:test";
import { pino } from "pino";
import { ChannelHomes } from "../../src/ownership/channel-homes.ts";
import { HomeKeeper } from "../../src/channel/home-keeper.ts";
import { OUTSIDER, type Partition, partitionOf, PARTITIONS } from "../../src/ownership/homes.ts";
import { WeirError } from "../../src/core/errors.ts";
import { channelId } from "../../src/core/ids.ts";
import { until } from "../support/patience.ts";

const log = pino({ level: "silent" });
const id = channelId(1);
const address = { platform: "test", name: "room" };
const partition = partitionOf(address);

function openHomes(): ChannelHomes {
  const partitions = { ofChannel: async () => ({ partition, platform: address.platform }) };
  return new ChannelHomes({ homes: OUTSIDER, partitions, isHere: () => false, log });
}

/** A keeper whose reads of what is left in partitions a test answers. @param beforeTake waited for, and may fail */
function openKeeper(beforeTake = async (_ids: readonly Partition[]): Promise<void> => Promise.resolve()): {
  readonly keeper: HomeKeeper;
  readonly homes: ChannelHomes;
  /** Reads so far, each with how it ends. */
  readonly reads: { readonly of: readonly Partition[]; readonly end: PromiseWithResolvers<[]> }[];
} {
  const reads: { of: readonly Partition[]; end: PromiseWithResolvers<[]> }[] = [];
  const homes = openHomes();
  let epoch = 0;
  const store = {
    partitions: {
      take: async (ids: readonly number[]) => {
        await beforeTake(ids);
        return ids.map((one) => ({ id: one, epoch: ++epoch }));
      },
      due: async () => [],
    },
    channels: {
      withWorkIn: async (of: readonly Partition[]) => {
        const end = Promise.withResolvers<[]>();
        reads.push({ of, end });
        return end.promise;
      },
    },
  };
  const parts = {
    cluster: OUTSIDER,
    store,
    homes,
    handOver: { handOn: async () => undefined, drop: () => undefined },
    renewal: { review: async () => undefined },
    resumption: { takeUp: async () => undefined, wakeDue: () => undefined },
    waker: { woken: async () => undefined },
    daemon: "a",
    platforms: ["test"],
    rawEntries: () => 100,
    onTakenUp: () => undefined,
    log,
    lookMs: 1,
  };
  return { keeper: new HomeKeeper(parts), homes, reads };
}

test("what an earlier home has left is read anew in a partition that was lost and taken anew during the read", async () => {
  const { keeper, reads } = openKeeper();
  await keeper.gained([partition]);
  await until("a read", () => reads.length === 1);
  keeper.lost([partition]);
  await keeper.gained([partition]);
  reads[0]?.end.resolve([]);
  await until("the next read", () => reads.length === 2);
  assert.deepEqual(reads[1]?.of, [partition]);
  reads[1]?.end.resolve([]);
  await keeper[Symbol.asyncDispose]();
});

test("a read that fails is tried again, but not for what was lost meanwhile", async () => {
  const { keeper, reads } = openKeeper();
  const other = (partition + 1) % PARTITIONS;
  await keeper.gained([partition, other]);
  await until("a read", () => reads.length === 1);
  keeper.lost([other]);
  reads[0]?.end.reject(new Error("the database is away"));
  await until("the next read", () => reads.length === 2);
  assert.deepEqual(reads[1]?.of, [partition]);
  reads[1]?.end.resolve([]);
  await keeper[Symbol.asyncDispose]();
});

test("an epoch that is over is no news to a daemon that has taken the partition anew", async () => {
  const homes = openHomes();
  homes.hold([{ id: partition, epoch: 5 }]);
  assert.equal(await homes.epochOf(id), 5);
  // Lost and taken anew, while a channel is being taken with the epoch before.
  homes.release([partition]);
  homes.hold([{ id: partition, epoch: 7 }]);
  assert.deepEqual([...homes.releaseOf(id, 5)], []);
  assert.equal(homes.holds(id), true);
  assert.deepEqual([...homes.releaseOf(id, 7)], [partition]);
  assert.equal(homes.holds(id), false);
});

class AwayError extends WeirError {
  readonly retryable = true;
}

test("a failed take is repeated for what is still to be taken, and for nothing that was lost meanwhile", async () => {
  const takes: (readonly Partition[])[] = [];
  const other = (partition + 1) % PARTITIONS;
  const { keeper, homes, reads } = openKeeper(async (ids) => {
    takes.push(ids);
    if (takes.length > 1) return;
    keeper.lost([partition]);
    throw new AwayError("the database is away");
  });
  assert.deepEqual(await keeper.gained([partition, other]), [other]);
  assert.deepEqual([takes, homes.held], [[[partition, other], [other]], [other]]);
  await until("a read", () => reads.length === 1);
  reads[0]?.end.resolve([]);
  takes.length = 0;
  keeper.lost([other]);
  assert.deepEqual(await keeper.gained([partition]), []);
  assert.deepEqual(takes, [[partition]]);
  await keeper[Symbol.asyncDispose]();
});
