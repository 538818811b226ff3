// proves: src/ownership/cluster/broker-connection.ts, src/ownership/cluster/sender.ts, src/ownership/cluster/membership.ts
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { setImmediate as turnOfLoop } from "node:timers/promises";
import { pino } from "pino";
import { PARTITIONS } from "../../../src/ownership/homes.ts";
import { takeName } from "../../../src/ownership/cluster/own-name.ts";
import { openBroker } from "../../../src/ownership/cluster/broker-connection.ts";
import { channelId } from "../../../src/core/ids.ts";
import { findBroker, makeNamespace, skippedWithout } from "../../support/cluster/broker.ts";
import { makeCluster } from "../../support/cluster/rabbit-cluster.ts";
import { startTcpProxy, type TcpProxy } from "../../support/cluster/tcp-proxy.ts";
import { until } from "../../support/patience.ts";

const broker = await findBroker();
after(async () => broker?.[Symbol.asyncDispose]());
const url = broker?.url ?? "";
const RUN = { skip: skippedWithout(broker) };

/** A way to the broker that can be cut, as `url`. */
async function startWay(): Promise<TcpProxy & { readonly url: string }> {
  const { hostname: host, port } = new URL(url);
  const proxy = await startTcpProxy({ host, port: Number(port || "5672") });
  const way = new URL(url);
  way.hostname = "127.0.0.1";
  way.port = String(proxy.port);
  return Object.assign(proxy, { url: way.href });
}

test(
  "work on a channel ends with its connection, also where the channel is just being closed",
  RUN,
  async () => {
    await using way = await startWay();
    const connection = await openBroker(way.url, "test");
    const isAtWork = Promise.withResolvers<void>();
    const work = connection.onChannel(async () => {
      way.silence();
      isAtWork.resolve();
    });
    await isAtWork.promise;
    // Its close has been sent by then, and is never answered.
    await turnOfLoop();
    connection.cut();
    await assert.rejects(work, /it was cut/);
  },
);

test("who leaves does not wait for a broker that lets a name go without a word", RUN, async () => {
  await using space = makeNamespace(url);
  await using way = await startWay();
  const connection = await openBroker(way.url, "test");
  const log = pino({ level: "silent" });
  const giveBack = await takeName(connection, space.names, "a", {
    log,
    signal: new AbortController().signal,
  });
  way.silence();
  await giveBack();
  assert.ok(connection.isOpen);
  connection.cut();
});

test("who is cut off loses all at once, another takes over, and it joins again", RUN, async () => {
  await using space = makeNamespace(url);
  await using way = await startWay();
  await using cluster = makeCluster(url, space);
  const { ledger } = cluster;
  const a = await cluster.join("a", { url: way.url });
  await until("share of one", () => ledger.isEven("a"));
  await cluster.join("b");
  await until("shares of two", () => ledger.isEven("a", "b"));
  way.cut();
  await until("loss", () => a.listener.lostOnes.length > 0);
  assert.equal(a.listener.lostOnes.length, PARTITIONS / 2);
  assert.equal(a.homes.vitals().owned, 0);
  await until("all at the other", () => ledger.isEven("b"));
  a.homes.wake(0, channelId(1), 1);
  way.open();
  await until("shares of two again", () => ledger.isEven("a", "b"));
  assert.equal(a.homes.vitals().state, "member");
});

test("who is not heard gives up what it has before the broker gives it to another", RUN, async () => {
  await using space = makeNamespace(url);
  await using way = await startWay();
  await using cluster = makeCluster(url, space);
  const { ledger } = cluster;
  const warnings: string[] = [];
  const log = pino({ level: "warn" }, { write: (line) => void warnings.push(line) });
  const a = await cluster.join("a", { url: way.url, log });
  await until("share of one", () => ledger.isEven("a"));
  const b = await cluster.join("b");
  await until("shares of two", () => ledger.isEven("a", "b"));
  const lost = a.listener.lost.bind(a.listener);
  const ownedByB: number[] = [];
  a.listener.lost = (partitions) => {
    ownedByB.push(b.homes.vitals().owned);
    lost(partitions);
  };
  way.silence();
  await until("loss", () => a.listener.lostOnes.length > 0);
  assert.equal(ownedByB[0], PARTITIONS / 2);
  await until("word of it", () => warnings.length > 0);
  // By its own clock: what the broker sends still comes, and nothing else would tell it in time.
  assert.match(warnings.join(), /did not answer in time/);
  await until("all at the other", () => ledger.isEven("b"));
  way.open();
  await until("shares of two again", () => ledger.isEven("a", "b"));
  assert.deepEqual(ledger.overlaps, []);
});

test(
  "wakes that cannot be sent wait, the newest of each channel, and the oldest are dropped",
  RUN,
  async () => {
    await using space = makeNamespace(url);
    await using way = await startWay();
    await using cluster = makeCluster(url, space);
    const a = await cluster.join("a", { url: way.url });
    const b = await cluster.join("b");
    await until("shares of two", () => cluster.ledger.isEven("a", "b"));
    way.cut();
    await until("all at the other", () => cluster.ledger.isEven("b"));
    await until("loss of the way to publish", () => !a.homes.vitals().isPublishing);
    await until("reader", () => {
      b.homes.wake(7, channelId(1), 1);
      return b.listener.wakes.length > 0;
    });
    const before = a.homes.vitals().wakes;
    for (let row = 1; row <= 10_500; row++)
      for (const seq of [1, 2]) a.homes.wake(7, channelId(1000 + row), seq);
    const { dropped, sent } = a.homes.vitals().wakes;
    // The second wake of a channel takes the place of its first, which was the oldest or has been dropped.
    assert.deepEqual([dropped - before.dropped, sent - before.sent], [500, 0]);
    way.open();
    await until("the newest", () => b.listener.wakes.some(({ channel }) => channel === 11_500));
    const late = b.listener.wakes.filter(({ channel }) => channel > 1000);
    assert.ok(late.every(({ seq, channel }) => seq === 2 && channel > 1500));
  },
);
