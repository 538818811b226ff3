// proves: src/ownership/cluster/own-name.ts, src/ownership/cluster/rabbit-homes.ts
import assert from "node:assert/strict";
import { createServer } from "node:net";
import { after, test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { pino } from "pino";
import { PARTITIONS } from "../../../src/ownership/homes.ts";
import { NameTakenError } from "../../../src/ownership/cluster/own-name.ts";
import { RabbitHomes } from "../../../src/ownership/cluster/rabbit-homes.ts";
import {
  findBroker,
  makeNamespace,
  skippedWithout,
  type TestNamespace,
} from "../../support/cluster/broker.ts";
import { MemberProcess } from "../../support/cluster/member-process.ts";
import { makeCluster } from "../../support/cluster/rabbit-cluster.ts";
import { startListening } from "../../support/listening.ts";
import { until } from "../../support/patience.ts";

const broker = await findBroker();
after(async () => broker?.[Symbol.asyncDispose]());
const url = broker?.url ?? "";
const RUN = { skip: skippedWithout(broker) };
const EVER = new AbortController().signal;

/** A daemon that is about to start; it has the patience of a real one, unless it is told otherwise. */
function openHomes({ prefix }: TestNamespace, name: string, livingMs?: number): RabbitHomes {
  const own = livingMs === undefined ? {} : { livingMs };
  const log = pino({ level: "silent" });
  return new RabbitHomes({ config: { url, name, prefix }, handOnMs: 60_000, log, ...own });
}

test("a second daemon of one name is refused, and the first does not notice", RUN, async () => {
  await using space = makeNamespace(url);
  await using cluster = makeCluster(url, space);
  const a = await cluster.join("a");
  await until("share of one", () => cluster.ledger.isEven("a"));
  await using second = openHomes(space, "a", 500);
  await assert.rejects(second.claim(), NameTakenError);
  await using other = openHomes(space, "b", 500);
  await other.claim();
  assert.equal(a.homes.vitals().owned, PARTITIONS);
  assert.deepEqual(a.listener.lostOnes, []);
});

test("who was killed leaves its name at once, and who was frozen leaves it in time", RUN, async () => {
  await using space = makeNamespace(url);
  await using killed = new MemberProcess(url, space.prefix, "a");
  await until("all at the first", () => killed.owned.length === PARTITIONS);
  await killed.kill();
  // So little patience that a name which ages would be refused.
  await using next = openHomes(space, "a", 1000);
  await next.claim();
  await next[Symbol.asyncDispose]();
  await using frozen = new MemberProcess(url, space.prefix, "a");
  await until("all at it", () => frozen.owned.length === PARTITIONS);
  frozen.signal("SIGSTOP");
  await using successor = openHomes(space, "a");
  await successor.claim();
  frozen.signal("SIGCONT");
});

test("who leaves gives its name back before it has handed on what it has", RUN, async () => {
  await using space = makeNamespace(url);
  await using cluster = makeCluster(url, space);
  const draining = Promise.withResolvers<void>();
  const a = await cluster.join("a", { hooks: { draining: async () => draining.promise } });
  await until("share of one", () => cluster.ledger.isEven("a"));
  const left = a.homes.leave(EVER);
  // However long it waits: nothing is handed on before it has the name.
  await using next = openHomes(space, "a");
  await next.claim();
  assert.equal(a.homes.vitals().state, "leaving");
  draining.resolve();
  await left;
});

test("who finds its name taken when it comes back says so, and joins when it is free", RUN, async () => {
  await using space = makeNamespace(url);
  await using cluster = makeCluster(url, space);
  const first = await cluster.join("a");
  const told: boolean[] = [];
  const second = cluster.add("a", { livingMs: 200, onName: (isOurs) => told.push(isOurs) });
  await until("word of it", () => second.homes.vitals().why !== null);
  assert.match(
    second.homes.vitals().why ?? "",
    /^Another daemon of this cluster is called a, and runs\. Give/,
  );
  assert.equal(second.homes.vitals().state, "joining");
  await first.homes.leave(AbortSignal.abort());
  await second.started;
  assert.equal(second.homes.vitals().why, null);
  // Its shards rest meanwhile.
  assert.deepEqual([told[0], told.at(-1)], [false, true]);
});

test(
  "who leaves while it waits for its name, or for a broker that does not answer, is gone at once",
  RUN,
  async () => {
    await using space = makeNamespace(url);
    await using cluster = makeCluster(url, space);
    await cluster.join("a");
    await using deaf = await startListening(
      createServer((socket) => void socket.on("error", () => undefined).resume()),
    );
    for (const way of [url, `amqp://127.0.0.1:${deaf.port}`]) {
      const leave = async (): Promise<number> => {
        const second = cluster.add("a", { url: way });
        await delay(500);
        const leftAt = performance.now();
        await second.homes.leave(AbortSignal.abort());
        return performance.now() - leftAt;
      };
      // A busy machine may be slow once: who waits for the broker is so each time.
      let tookMs = Infinity;
      for (let left = 5; left > 0 && tookMs >= 3000; left--) tookMs = await leave();
      assert.ok(tookMs < 3000, `${tookMs} ms`);
    }
  },
);
