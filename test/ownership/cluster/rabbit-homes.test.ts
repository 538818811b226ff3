// proves: src/ownership/cluster/rabbit-homes.ts, src/ownership/cluster/membership.ts, src/ownership/cluster/lease-queues.ts
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import { connect, type ConfirmChannel } from "amqplib";
import { type Partition, PARTITIONS } from "../../../src/ownership/homes.ts";
import { BATON_QUEUE, type Names, WAKE_QUEUE } from "../../../src/ownership/cluster/names.ts";
import { presenceBytes } from "../../../src/ownership/cluster/roster.ts";
import { wakeBytes } from "../../../src/ownership/cluster/wakes.ts";
import { channelId } from "../../../src/core/ids.ts";
import { findBroker, makeNamespace, skippedWithout } from "../../support/cluster/broker.ts";
import { makeCluster } from "../../support/cluster/rabbit-cluster.ts";
import { until } from "../../support/patience.ts";

const broker = await findBroker();
after(async () => broker?.[Symbol.asyncDispose]());
const url = broker?.url ?? "";
const RUN = { skip: skippedWithout(broker) };
const NO_TIME = AbortSignal.abort();
const EVER = new AbortController().signal;

/** A client of the test's own. */
async function openClient(): Promise<{ channel: ConfirmChannel } & AsyncDisposable> {
  const connection = await connect(url);
  const channel = await connection.createConfirmChannel();
  return { channel, [Symbol.asyncDispose]: async () => connection.close() };
}

/** How many leases lie in each queue, all daemons being gone. A queue that has one too many has a home that is two. */
async function leasesOf(names: Names): Promise<number[]> {
  await using client = await openClient();
  const { channel } = client;
  const counts: number[] = [];
  for (let partition = 0; partition < PARTITIONS; partition++) {
    const queue = names.lease(partition);
    channel.sendToQueue(queue, Buffer.from("last"));
    await channel.waitForConfirms();
    const { promise, resolve } = Promise.withResolvers<number>();
    let count = 0;
    const { consumerTag } = await channel.consume(queue, (message) => {
      if (message?.content.toString() !== "last") count += 1;
      else {
        channel.ack(message);
        resolve(count);
      }
    });
    counts.push(await promise);
    await channel.cancel(consumerTag);
  }
  return counts;
}

const ONE_EACH = Array.from({ length: PARTITIONS }, () => 1);

/** Stands first in the line of a partition, before any daemon. */
async function getInLine(channel: ConfirmChannel, names: Names, partition: Partition): Promise<HeldLease> {
  const queue = names.lease(partition);
  await channel.assertQueue(queue, names.expiring(BATON_QUEUE));
  channel.sendToQueue(queue, Buffer.from("the test's"), { persistent: true });
  const { promise, resolve } = Promise.withResolvers<() => void>();
  const { consumerTag } = await channel.consume(queue, (message) => {
    if (message !== null) resolve(() => channel.ack(message));
  });
  const destroy = await promise;
  return {
    destroy,
    async giveBack() {
      await channel.cancel(consumerTag);
      channel.nackAll();
    },
  };
}

interface HeldLease {
  /** The queue has no lease any more. */
  destroy(): void;
  giveBack(): Promise<void>;
}

test("a daemon that is alone in its cluster has all partitions at one", RUN, async () => {
  await using space = makeNamespace(url);
  await using cluster = makeCluster(url, space);
  const seen: boolean[] = [];
  const { homes } = await cluster.join("a", {
    hooks: {
      gaining: async ([first = 0]) => {
        seen.push(homes.owns(first));
      },
    },
  });
  await until("owner of all", () => cluster.ledger.isEven("a"));
  await until("word of it", () => homes.vitals().owned === PARTITIONS);
  assert.ok(homes.owns(0) && homes.owns(PARTITIONS - 1) && !homes.owns(PARTITIONS));
  assert.ok(
    seen.every((owned) => !owned),
    "owned before it was taken up",
  );
  const { state, members, isPublishing, partitions } = homes.vitals();
  assert.deepEqual([state, members, isPublishing, partitions.made], ["member", 1, true, PARTITIONS]);
});

test(
  "a cluster is even again whenever daemons join and leave, and no partition has two owners or none for long",
  RUN,
  async () => {
    await using space = makeNamespace(url);
    await using cluster = makeCluster(url, space);
    const { ledger } = cluster;
    const a = await cluster.join("a");
    await until("share of one", () => ledger.isEven("a"));
    const b = await cluster.join("b");
    await until("shares of two", () => ledger.isEven("a", "b"));
    const c = await cluster.join("c");
    await until("shares of three", () => ledger.isEven("a", "b", "c"));
    const d = await cluster.join("d");
    await until("shares of four", () => ledger.isEven("a", "b", "c", "d"));
    await b.homes.leave(EVER);
    assert.equal(b.homes.vitals().owned, 0);
    assert.equal(b.homes.vitals().partitions.lost, 0);
    await until("shares of the three that are left", () => ledger.isEven("a", "c", "d"));
    await a.homes.leave(EVER);
    await c.homes.leave(EVER);
    await until("share of the last", () => ledger.isEven("d"));
    await d.homes.leave(EVER);
    assert.deepEqual(ledger.shares, {});
    assert.deepEqual(ledger.overlaps, []);
    assert.deepEqual(await leasesOf(space.names), ONE_EACH);
  },
);

test(
  "a cluster has one lease a partition, also where two begin at once on a broker that has none",
  RUN,
  async () => {
    await using space = makeNamespace(url);
    await using cluster = makeCluster(url, space);
    const { ledger } = cluster;
    const members = ["a", "b", "c"].map((name) => cluster.add(name));
    await Promise.all(members.map(async ({ started }) => started));
    await until("shares of three", () => ledger.isEven("a", "b", "c"));
    for (const { homes } of members) await homes.leave(EVER);
    assert.deepEqual(ledger.overlaps, []);
    assert.deepEqual(await leasesOf(space.names), ONE_EACH);
  },
);

test("a cluster hands on a partition when its turns have ended, and others meanwhile", RUN, async () => {
  await using space = makeNamespace(url);
  await using cluster = makeCluster(url, space);
  const { ledger } = cluster;
  const running = Promise.withResolvers<void>();
  const draining: Partition[] = [];
  const a = await cluster.join("a", {
    hooks: {
      draining: async (partitions) => {
        draining.push(...partitions);
        if (draining.length <= 3) await running.promise;
      },
    },
  });
  await until("share of one", () => ledger.isEven("a"));
  await cluster.join("b");
  await until("all but three", () => ledger.shares["b"] === PARTITIONS / 2 - 3);
  const [first = 0] = draining;
  assert.equal(a.homes.owns(first), false);
  running.resolve();
  await until("the rest", () => ledger.isEven("a", "b"));
  assert.deepEqual(ledger.overlaps, []);
});

test("a cluster is left at the deadline, whatever still runs", RUN, async () => {
  await using space = makeNamespace(url);
  await using cluster = makeCluster(url, space);
  const { ledger } = cluster;
  const late = new AbortController();
  let drained = 0;
  const draining = async (): Promise<void> => {
    drained += 1;
    if (drained === 8) late.abort();
    await new Promise(() => undefined);
  };
  const a = await cluster.join("a", { hooks: { draining } });
  await until("share of one", () => ledger.isEven("a"));
  await a.homes.leave(late.signal);
  assert.equal(a.homes.vitals().state, "left");
  const b = await cluster.join("b");
  await until("what was left", () => b.homes.vitals().owned === PARTITIONS);
  // Only now: `a` never came to say that it had ended.
  assert.equal(ledger.overlaps.length, PARTITIONS);
});

test("a cluster gives up a lease that is one too many, and stays at home", RUN, async () => {
  await using space = makeNamespace(url);
  await using cluster = makeCluster(url, space);
  const { homes, listener } = await cluster.join("a");
  await until("share of one", () => homes.vitals().owned === PARTITIONS);
  await using client = await openClient();
  for (let extra = 0; extra < 5; extra++)
    client.channel.sendToQueue(space.names.lease(3), Buffer.from("one too many"), { persistent: true });
  await until("surplus", () => homes.vitals().partitions.renewed === 5);
  assert.ok(homes.owns(3));
  assert.equal(homes.vitals().partitions.gained, PARTITIONS);
  assert.deepEqual(listener.lostOnes, []);
  await homes.leave(EVER);
  assert.deepEqual(await leasesOf(space.names), ONE_EACH);
});

test("a cluster renews its leases, and owns what it owned", RUN, async () => {
  await using space = makeNamespace(url);
  await using cluster = makeCluster(url, space);
  const { homes, listener } = await cluster.join("a", { renewMs: 300 });
  await until("renewals", () => homes.vitals().partitions.renewed >= 2 * PARTITIONS);
  const { gained, lost, handedOn } = homes.vitals().partitions;
  assert.deepEqual([gained, lost, handedOn], [PARTITIONS, 0, 0]);
  assert.deepEqual(listener.lostOnes, []);
  await homes.leave(EVER);
  assert.deepEqual(await leasesOf(space.names), ONE_EACH);
});

test("a cluster renews at once what another says that it has", RUN, async () => {
  await using space = makeNamespace(url);
  await using cluster = makeCluster(url, space);
  const { homes } = await cluster.join("a", { proofMs: 500 });
  await until("share of one", () => homes.vitals().owned === PARTITIONS);
  await using client = await openClient();
  const claim = { id: "other", name: "other", since: 0, held: [7], isOut: true, hasDatabase: false };
  await until("renewal", () => {
    client.channel.publish(space.names.presence, "", presenceBytes(claim));
    return homes.vitals().partitions.renewed > 0;
  });
  assert.ok(homes.owns(7));
});

test("a cluster makes a lease anew that is nowhere any more", RUN, async () => {
  await using space = makeNamespace(url);
  await using client = await openClient();
  const lease = await getInLine(client.channel, space.names, 5);
  await using cluster = makeCluster(url, space);
  const { homes } = await cluster.join("a", { orphanMs: 1000 });
  await until("all others", () => homes.vitals().owned === PARTITIONS - 1);
  assert.equal(homes.vitals().partitions.made, PARTITIONS - 1);
  lease.destroy();
  await lease.giveBack();
  await until("the last", () => homes.owns(5));
  await homes.leave(EVER);
  assert.deepEqual(await leasesOf(space.names), ONE_EACH);
});

test("a cluster leaves a partition to another where one cannot take it up", RUN, async () => {
  await using space = makeNamespace(url);
  await using cluster = makeCluster(url, space);
  const { ledger } = cluster;
  let isAway = true;
  const a = await cluster.join("a", { hooks: { gaining: async () => !isAway } });
  await cluster.join("b");
  await until("all at the other", () => ledger.isEven("b"));
  assert.equal(a.homes.vitals().owned, 0);
  isAway = false;
  await until("its share, when it can", () => ledger.isEven("a", "b"));
  assert.deepEqual(ledger.overlaps, []);
});

test(
  "a cluster is joined anew while something of before is still being taken up, which then is not",
  RUN,
  async () => {
    await using space = makeNamespace(url);
    await using cluster = makeCluster(url, space);
    const gate = Promise.withResolvers<void>();
    let calls = 0;
    const { homes, listener } = await cluster.join("a", {
      hooks: {
        gaining: async () => {
          calls += 1;
          if (calls === 1) await gate.promise;
        },
      },
    });
    await until("first lease", () => calls === 1);
    await using client = await openClient();
    // All queues of a member that is home: its place in line is gone, and it joins anew.
    await client.channel.deleteQueue(space.names.lease(9));
    await until("loss", () => homes.vitals().partitions.lost > 0);
    await until("share of one", () => homes.vitals().owned === PARTITIONS);
    const told = listener.lostOnes.length;
    gate.resolve();
    await nextTurn();
    assert.equal(
      listener.lostOnes.length,
      told,
      "what was taken up too late is lost to whoever has it by now",
    );
    assert.ok(cluster.ledger.isEven("a"));
  },
);

test("a cluster joins again where a queue or a connection is taken away", RUN, async () => {
  await using space = makeNamespace(url);
  await using cluster = makeCluster(url, space);
  const { homes, listener } = await cluster.join("a");
  await until("share of one", () => homes.vitals().owned === PARTITIONS);
  await using client = await openClient();
  await client.channel.deleteQueue(space.names.lease(9));
  await until("loss", () => listener.lostOnes.length === PARTITIONS);
  assert.equal(homes.owns(8), false);
  await until("share of one again", () => homes.vitals().owned === PARTITIONS);
  // The count of members and the wakes are no reason to lose anything.
  await client.channel.deleteQueue(space.names.members);
  await client.channel.deleteQueue(space.names.wakes(1));
  await until("wake", () => {
    homes.wake(1, channelId(1), 1);
    return listener.wakes.length > 0;
  });
  assert.equal(listener.lostOnes.length, PARTITIONS);
  assert.equal(homes.vitals().owned, PARTITIONS);
});

test("a cluster that has no broker waits for one, and can be left", RUN, async () => {
  await using space = makeNamespace(url);
  await using cluster = makeCluster("amqp://127.0.0.1:1", space);
  const { homes, started } = cluster.add("a");
  homes.wake(1, channelId(1), 1);
  assert.deepEqual([homes.vitals().state, homes.vitals().members, homes.owns(0)], ["joining", null, false]);
  await homes.leave(NO_TIME);
  await started;
  assert.equal(homes.vitals().state, "left");
});

test(
  "wakes reach the home in order, twice where they are sent twice, and foreign bytes do no harm",
  RUN,
  async () => {
    await using space = makeNamespace(url);
    await using cluster = makeCluster(url, space);
    const a = await cluster.join("a");
    await until("share of one", () => cluster.ledger.isEven("a"));
    const b = await cluster.join("b");
    await until("shares of two", () => cluster.ledger.isEven("a", "b"));
    const all = Array.from({ length: PARTITIONS }, (_, partition) => partition);
    let ofB = 0;
    // The ledger knows of it first.
    await until("one that is the other's", () =>
      b.homes.owns((ofB = all.find((one) => b.homes.owns(one)) ?? 0)),
    );
    await using client = await openClient();
    // What comes before its queue is there is lost.
    await until("reader", () => {
      a.homes.wake(ofB, channelId(1), 1);
      return b.listener.wakes.length > 0;
    });
    for (const bytes of ["", "look", "1:x", "\u0000"])
      client.channel.sendToQueue(space.names.wakes(ofB), Buffer.from(bytes));
    client.channel.publish(space.names.presence, "", Buffer.from("nobody"));
    await client.channel.waitForConfirms();
    for (const seq of [1, 2, 2, 3]) a.homes.wake(ofB, channelId(17), seq);
    const came = (): number[] =>
      b.listener.wakes.filter(({ channel }) => channel === 17).map(({ seq }) => seq);
    await until("all wakes", () => came().length === 4);
    assert.deepEqual(came(), [1, 2, 2, 3]);
    // Of those that came before the queue was there, some may have been its own yet.
    assert.ok(a.listener.wakes.every(({ channel }) => channel === 1));
    await until("foreign messages", () => b.homes.vitals().foreign === 5);
    assert.equal(a.homes.vitals().wakes.dropped, 0);
  },
);

test("wakes in their thousands are sent without waiting, and the last one arrives", RUN, async () => {
  await using space = makeNamespace(url);
  await using cluster = makeCluster(url, space);
  const a = await cluster.join("a");
  await until("share of one", () => cluster.ledger.isEven("a"));
  for (const partition of [0, 1, 2, 3])
    await until("reader", () => {
      a.homes.wake(partition, channelId(100 + partition), 1);
      return a.listener.wakes.some(({ channel }) => channel === 100 + partition);
    });
  a.listener.wakes.length = 0;
  const before = a.homes.vitals().wakes.sent;
  const wakes = 20_000;
  for (let seq = 1; seq <= wakes; seq++) a.homes.wake(seq % 4, channelId(1 + (seq % 4)), seq);
  await until("the last of each", () => {
    const ofBurst = a.listener.wakes.filter(({ channel }) => channel < 100);
    const newest = new Map(ofBurst.map(({ channel, seq }) => [channel, seq]));
    return [...newest.values()].toSorted((x, y) => x - y).join() === "19997,19998,19999,20000";
  });
  for (const channel of [1, 2, 3, 4]) {
    const seqs = a.listener.wakes.filter((wake) => wake.channel === channel).map(({ seq }) => seq);
    assert.deepEqual(
      seqs,
      seqs.toSorted((x, y) => x - y),
    );
  }
  const { sent, received } = a.homes.vitals().wakes;
  assert.ok(sent - before <= wakes && received <= sent, `${sent} sent, ${received} received`);
});

test("wakes that nobody reads are bounded, and the newest are kept", RUN, async () => {
  await using space = makeNamespace(url);
  await using client = await openClient();
  const { channel } = client;
  const lease = await getInLine(channel, space.names, 5);
  await channel.assertQueue(space.names.wakes(5), space.names.expiring(WAKE_QUEUE));
  await using cluster = makeCluster(url, space);
  const { homes, listener } = await cluster.join("a");
  await until("all others", () => homes.vitals().owned === PARTITIONS - 1);
  for (let seq = 1; seq <= 1500; seq++) homes.wake(5, channelId(seq), seq);
  // What counts as sent may still be on its way: the queue has all of it when its oldest is the thousandth from the end.
  await until("a full queue", async () => {
    const oldest = await channel.get(space.names.wakes(5));
    if (oldest === false) return false;
    channel.nack(oldest);
    return oldest.content.equals(wakeBytes({ channel: channelId(501), seq: 501 }));
  });
  assert.deepEqual(listener.wakes, []);
  await lease.giveBack();
  await until("the newest", () => listener.wakes.at(-1)?.seq === 1500);
  assert.equal(listener.wakes.length, 1000);
});
