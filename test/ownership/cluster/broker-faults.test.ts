// proves: src/ownership/cluster/rabbit-homes.ts, src/ownership/cluster/membership.ts, src/ownership/cluster/sender.ts
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { PARTITIONS } from "../../../src/ownership/homes.ts";
import { channelId } from "../../../src/core/ids.ts";
import { makeNamespace } from "../../support/cluster/broker.ts";
import { makeCluster } from "../../support/cluster/rabbit-cluster.ts";
import { findPrivateBroker, startPrivateBroker } from "../../support/cluster/private-broker.ts";
import { until } from "../../support/patience.ts";

/** What only a broker of the test's own can go through. */
const broker = (await findPrivateBroker()) ? await startPrivateBroker() : null;
after(async () => broker?.[Symbol.asyncDispose]());
const RUN = { skip: broker === null ? "no RabbitMQ of Debian's package on this machine" : false };

test("a broker that is killed and comes back costs everybody a moment, and no partition", RUN, async () => {
  assert.ok(broker !== null);
  await using cluster = makeCluster(broker.url, makeNamespace(broker.url));
  const { ledger } = cluster;
  const a = await cluster.join("a");
  const b = await cluster.join("b");
  await until("shares of two", () => ledger.isEven("a", "b"));
  await broker.kill();
  await until("loss", () => a.listener.lostOnes.length + b.listener.lostOnes.length === PARTITIONS);
  await until("no owner", () => Object.keys(ledger.shares).length === 0);
  for (const { homes } of [a, b]) assert.deepEqual([homes.vitals().state, homes.owns(0)], ["joining", false]);
  await broker.start();
  await until("shares of two again", () => ledger.isEven("a", "b"));
  const made = [a, b].map(({ homes }) => homes.vitals().partitions.made);
  await broker.kill();
  await broker.startEmpty();
  await until("shares of two on an empty broker", () => ledger.isEven("a", "b"));
  const madeAnew = a.homes.vitals().partitions.made + b.homes.vitals().partitions.made;
  assert.ok(madeAnew - (made[0] ?? 0) - (made[1] ?? 0) >= PARTITIONS, "the leases were not made anew");
  // A broker that dies may give a partition to one member before another hears the end of its connection; the epochs keep
  // the first one from writing until then.
  assert.deepEqual([...ledger.lasting], []);
});

test("a broker without memory left takes no wakes, and nobody loses a partition", RUN, async () => {
  assert.ok(broker !== null);
  await using cluster = makeCluster(broker.url, makeNamespace(broker.url));
  const { homes, listener } = await cluster.join("a", { renewMs: 2000, proofMs: 500 });
  await until("share of one", () => homes.vitals().owned === PARTITIONS);
  await broker.control("set_vm_memory_high_watermark", "0.000001");
  // The broker tells whoever publishes that it takes nothing.
  let row = 0;
  await until("word of it", () => {
    row += 1;
    homes.wake(0, channelId(row), 1);
    return !homes.vitals().isPublishing;
  });
  const { sent } = homes.vitals().wakes;
  for (let last = row; row < last + 10_001; row++) homes.wake(0, channelId(row + 1), 1);
  assert.equal(homes.vitals().wakes.sent, sent);
  assert.ok(homes.vitals().wakes.dropped > 0);
  const { renewed } = homes.vitals().partitions;
  await until("a look at renewals", async () => {
    await broker.control("set_vm_memory_high_watermark", "0.4");
    return homes.vitals().isPublishing;
  });
  await until("the newest wake", () => listener.wakes.some(({ channel }) => channel === row));
  await until("renewals", () => homes.vitals().partitions.renewed >= renewed + PARTITIONS);
  assert.deepEqual([listener.lostOnes, homes.vitals().owned], [[], PARTITIONS]);
});
