import assert from "node:assert/strict";
import { after, test } from "node:test";
import { pino } from "pino";
import { PARTITIONS } from "../../../src/ownership/homes.ts";
import { openBroker } from "../../../src/ownership/cluster/broker-connection.ts";
import { AcquisitionBatcher } from "../../../src/ownership/cluster/acquisition-batcher.ts";
import { declareQueue } from "../../../src/ownership/cluster/declare-queue.ts";
import { LeaseQueues, type LeaseCounts } from "../../../src/ownership/cluster/lease-queues.ts";
import { BATON_QUEUE } from "../../../src/ownership/cluster/names.ts";
import { WakeReader } from "../../../src/ownership/cluster/wakes.ts";
import { findBroker, makeNamespace, skippedWithout } from "../../support/cluster/broker.ts";
import { Ledger } from "../../support/cluster/ledger.ts";
import { until } from "../../support/patience.ts";

const broker = await findBroker();
after(async () => broker?.[Symbol.asyncDispose]());
const url = broker?.url ?? "";

test("a lease that is renewed and does not come is another's", { skip: skippedWithout(broker) }, async () => {
  await using space = makeNamespace(url);
  const { names } = space;
  const connection = await openBroker(url, "test");
  const { model } = connection;
  const publisher = await model.createConfirmChannel();
  for (let partition = 0; partition < PARTITIONS; partition++) {
    await publisher.assertQueue(names.lease(partition), names.expiring(BATON_QUEUE));
    publisher.sendToQueue(names.lease(partition), Buffer.from("first"), { persistent: true });
  }
  await publisher.waitForConfirms();
  const log = pino({ level: "silent" });
  const listener = new Ledger().listener("a");
  const counts: LeaseCounts = { gained: 0, passedOn: 0, handedOn: 0, lost: 0, renewed: 0, made: 0 };
  const failures: string[] = [];
  const line = new LeaseQueues({
    names,
    count: PARTITIONS,
    lease: Buffer.from("second"),
    // The broker has it, as it says, and whoever it takes for the holder is sent it: not this one.
    sender: { lease: async () => true },
    acquisitions: new AcquisitionBatcher(listener, log),
    listener,
    wakes: new WakeReader(connection, names, () => undefined),
    counts,
    timing: { renewMs: 0, proofMs: 200, orphanMs: 60_000, handOnMs: 60_000 },
    log,
    openChannel: async () => model.createChannel(),
    declare: async (queue, options) => declareQueue(connection, queue, options),
    share: () => PARTITIONS,
    ask: async () => undefined,
    onTaken: () => undefined,
    fail: (why) => failures.push(why),
  });
  await line.enter();
  await until("all partitions", () => line.owned.length === PARTITIONS);
  line.renewOld();
  await until("loss", () => listener.lostOnes.length === PARTITIONS);
  assert.equal(counts.lost, PARTITIONS);
  // Nobody else was in line: they come back, as leases that were never held.
  await until("all partitions again", () => line.owned.length === PARTITIONS);
  assert.equal(counts.gained, 2 * PARTITIONS);
  assert.deepEqual(failures, []);
  line.drop();
  await connection.close();
});

test("a line may be dropped while it is still got in", { skip: skippedWithout(broker) }, async () => {
  await using space = makeNamespace(url);
  const { names } = space;
  const connection = await openBroker(url, "test");
  const log = pino({ level: "silent" });
  const listener = new Ledger().listener("a");
  const gate = Promise.withResolvers<void>();
  let made = 0;
  const line = new LeaseQueues({
    names,
    count: 2,
    lease: Buffer.from("first"),
    sender: { lease: async () => true },
    acquisitions: new AcquisitionBatcher(listener, log),
    listener,
    wakes: null,
    counts: { gained: 0, passedOn: 0, handedOn: 0, lost: 0, renewed: 0, made: 0 },
    timing: { renewMs: 60_000, proofMs: 60_000, orphanMs: 60_000, handOnMs: 60_000 },
    log,
    openChannel: async () => connection.model.createChannel(),
    // The first queue comes after the second.
    declare: async (queue, options) => {
      if (queue === names.lease(0)) await gate.promise;
      const declared = await declareQueue(connection, queue, options);
      made += 1;
      return declared;
    },
    share: () => 2,
    ask: async () => undefined,
    onTaken: () => undefined,
    fail: () => undefined,
  });
  const entering = line.enter();
  await until("the second", () => made === 1);
  line.drop();
  gate.resolve();
  await entering;
  assert.deepEqual([line.held, line.owned, listener.lostOnes], [[], [], []]);
  await connection.close();
});

test(
  "a lease is passed on once the wakes of its partition are read here no more",
  { skip: skippedWithout(broker) },
  async () => {
    await using space = makeNamespace(url);
    const { names } = space;
    await using stack = new AsyncDisposableStack();
    const connection = await openBroker(url, "test");
    stack.defer(async () => connection.close());
    const { model } = connection;
    const rival = await model.createConfirmChannel();
    await rival.assertQueue(names.lease(0), names.expiring(BATON_QUEUE));
    rival.sendToQueue(names.lease(0), Buffer.from("first"), { persistent: true });
    await rival.waitForConfirms();
    const log = pino({ level: "silent" });
    const listener = new Ledger().listener("a");
    const steps: string[] = [];
    const read = Promise.withResolvers<void>();
    let share = 1;
    const line = new LeaseQueues({
      names,
      count: 1,
      lease: Buffer.from("second"),
      sender: { lease: async () => true },
      acquisitions: new AcquisitionBatcher(listener, log),
      listener,
      wakes: {
        add: () => undefined,
        async remove() {
          await read.promise;
          steps.push("read no more");
        },
      },
      counts: { gained: 0, passedOn: 0, handedOn: 0, lost: 0, renewed: 0, made: 0 },
      timing: { renewMs: 60_000, proofMs: 60_000, orphanMs: 60_000, handOnMs: 60_000 },
      log,
      openChannel: async () => model.createChannel(),
      declare: async (queue, options) => declareQueue(connection, queue, options),
      share: () => share,
      ask: async () => undefined,
      onTaken: () => undefined,
      fail: () => undefined,
    });
    await line.enter();
    await until("the partition", () => line.owned.length === 1);
    await rival.consume(names.lease(0), () => void steps.push("passed on"));
    share = 0;
    line.balance();
    // More than passing it on takes.
    for (let question = 0; question < 50; question++) await rival.checkQueue(names.lease(0));
    assert.deepEqual(steps, []);
    read.resolve();
    await until("the lease", () => steps.length === 2);
    assert.deepEqual(steps, ["read no more", "passed on"]);
    line.drop();
  },
);
