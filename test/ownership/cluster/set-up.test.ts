// proves: src/ownership/cluster/set-up.ts, src/ownership/cluster/declare-queue.ts
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import type { Options } from "amqplib";
import { pino } from "pino";
import { channelId } from "../../../src/core/ids.ts";
import { type BrokerConnection, openBroker } from "../../../src/ownership/cluster/broker-connection.ts";
import { declareQueue, differs } from "../../../src/ownership/cluster/declare-queue.ts";
import { Leases } from "../../../src/ownership/cluster/leases.ts";
import { BATON_QUEUE, MEMBER_QUEUE, Names, WAKE_QUEUE } from "../../../src/ownership/cluster/names.ts";
import { findBroker, makeNamespace, skippedWithout } from "../../support/cluster/broker.ts";
import { Ledger } from "../../support/cluster/ledger.ts";
import { until } from "../../support/patience.ts";

const broker = await findBroker();
after(async () => broker?.[Symbol.asyncDispose]());
const url = broker?.url ?? "";
const RUN = { skip: skippedWithout(broker) };
const COUNT = 2;
const EXPIRES_MS = 1000;

/** As an older version named them: none of its queues expires. */
class OldNames extends Names {
  override expiring(options: Options.AssertQueue): Options.AssertQueue {
    return options;
  }
}

interface Member extends AsyncDisposable {
  readonly leases: Leases;
  readonly woken: number[];
}

function join(names: Names, name: string): Member {
  const woken: number[] = [];
  const leases = new Leases({
    url,
    names,
    count: COUNT,
    name,
    purpose: "test",
    handOnMs: 60_000,
    listener: new Ledger().listener(name),
    woken: (_, seq) => void woken.push(seq),
    onJoined: () => undefined,
    onLost: () => undefined,
    log: pino({ level: "silent" }),
  });
  void leases.start();
  return { leases, woken, [Symbol.asyncDispose]: async () => leases.leave(AbortSignal.abort()) };
}

async function untilOwned({ leases }: Member, count = COUNT): Promise<void> {
  await until(`${count} leases`, () => leases.owned.length === count);
}

/** The queues that each set of leases has, with their options. */
function queuesOf(names: Names): (readonly [string, Options.AssertQueue])[] {
  const ids = Array.from({ length: COUNT }, (_, id) => id);
  const leases = ids.map((id) => [names.lease(id), names.expiring(BATON_QUEUE)] as const);
  const wakes = ids.map((id) => [names.wakes(id), names.expiring(WAKE_QUEUE)] as const);
  return [...leases, ...wakes, [names.members, names.expiring(MEMBER_QUEUE)]];
}

async function isThere(connection: BrokerConnection, queue: string): Promise<boolean> {
  return connection
    .onChannel(async (channel) => channel.checkQueue(queue))
    .then(
      () => true,
      () => false,
    );
}

test("the queues of a cluster stay while it has a daemon, and expire after the last one", RUN, async () => {
  await using space = makeNamespace(url);
  await using stack = new AsyncDisposableStack();
  const connection = await openBroker(url, "test");
  stack.defer(async () => connection.close());
  const names = new Names(space.prefix, EXPIRES_MS);
  const all = queuesOf(names).map(([queue]) => queue);
  const untilExpired = async (...queues: readonly string[]): Promise<void> =>
    until("expiry", async () => {
      // Looking at a queue counts as use.
      await delay(EXPIRES_MS * 1.5);
      const there = await Promise.all(queues.map(async (queue) => isThere(connection, queue)));
      return there.every((one) => !one);
    });
  {
    await using first = join(names, "first");
    await untilOwned(first);
    const { lost } = first.leases.counts;
    // A queue of nobody has had its time.
    await declareQueue(connection, names.daemon("nobody"), names.expiring({ durable: true }));
    await untilExpired(names.daemon("nobody"));
    for (const queue of all) assert.ok(await isThere(connection, queue), queue);
    assert.equal(first.leases.counts.lost, lost);
    await untilOwned(first);
  }
  await untilExpired(...all);
  // The next daemon makes them again.
  await using second = join(names, "second");
  await untilOwned(second);
});

test(
  "queues of an older version serve both versions, and are replaced once nobody uses them",
  RUN,
  async () => {
    await using space = makeNamespace(url);
    await using stack = new AsyncDisposableStack();
    const connection = await openBroker(url, "test");
    stack.defer(async () => connection.close());
    const { names } = space;
    const outdated = async (): Promise<boolean[]> =>
      Promise.all(queuesOf(names).map(async ([queue, options]) => differs(connection, queue, options)));
    {
      await using old = join(new OldNames(space.prefix), "old");
      await untilOwned(old);
      await using newer = join(names, "newer");
      await untilOwned(newer, 1);
      await untilOwned(old, 1);
      await old.leases.leave(new AbortController().signal);
      await untilOwned(newer);
      let seq = 0;
      await until("wakes of both partitions", () => {
        seq += 1;
        for (const id of [0, 1])
          newer.leases.sender.wake(id, { channel: channelId(id + 1), seq: seq * 2 + id });
        return new Set(newer.woken.map((one) => one % 2)).size === COUNT;
      });
      assert.deepEqual(new Set(await outdated()), new Set([true]));
      assert.equal(newer.leases.counts.lost, 0);
    }
    await using next = join(names, "next");
    await untilOwned(next);
    assert.deepEqual(new Set(await outdated()), new Set([false]));
  },
);
