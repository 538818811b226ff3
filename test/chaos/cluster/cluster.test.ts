// proves: src/ownership/cluster/rabbit-homes.ts, src/channel/home-keeper.ts, src/daemon/cluster.ts
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { findBroker, skippedWithout } from "../../support/cluster/broker.ts";
import { runCluster } from "./run-cluster.ts";
import { WAYS_IN } from "./ways-in.ts";

const broker = await findBroker();
after(async () => broker?.[Symbol.asyncDispose]());

test(
  "daemons of a cluster that are killed, stopped, cut off and ended lose nothing, and do nothing twice",
  { skip: skippedWithout(broker) },
  async (t) => {
    assert(broker !== null);
    const seed = Math.floor(Math.random() * 1_000_000);
    const [daemons, channels, seconds] = [2, 12, 10];
    t.diagnostic(
      `again: npm run chaos -- --cluster --daemons ${daemons} --channels ${channels} --seconds ${seconds} --longest-stop 3 --seed ${seed}`,
    );
    const report = await runCluster({
      seed,
      daemons,
      channels,
      seconds,
      broker,
      ways: WAYS_IN,
      rate: 20,
      longestStopMs: 3000,
      mutant: null,
      onLine: (line) => t.diagnostic(line),
    });
    for (const line of report.lines()) t.diagnostic(line);
    assert.deepEqual(report.broken, []);
    assert.ok(report.turns > 0);
  },
);
