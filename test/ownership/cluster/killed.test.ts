// proves: src/ownership/cluster/membership.ts, src/ownership/cluster/lease-queues.ts
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { PARTITIONS } from "../../../src/ownership/homes.ts";
import { findBroker, makeNamespace, skippedWithout } from "../../support/cluster/broker.ts";
import { MemberProcess } from "../../support/cluster/member-process.ts";
import { measureTakeovers } from "../../support/cluster/takeover.ts";
import { until } from "../../support/patience.ts";

const broker = await findBroker();
after(async () => broker?.[Symbol.asyncDispose]());
const url = broker?.url ?? "";
const RUN = { skip: skippedWithout(broker) };

async function untilHalves(...members: readonly MemberProcess[]): Promise<void> {
  await until("shares of two", () => members.every(({ owned }) => owned.length === PARTITIONS / 2));
}

test("the partitions of a daemon that is killed are taken over by the others", RUN, async (t) => {
  await using space = makeNamespace(url);
  const takeovers = await measureTakeovers({ url, prefix: space.prefix }, { members: 3, kills: 2 });
  const all = takeovers.flatMap(({ tookMs }) => tookMs);
  assert.ok(all.length >= 2 * Math.floor(PARTITIONS / 3));
  t.diagnostic(`taken over after ${Math.round(Math.max(...all))} ms at most`);
});

test("a daemon that was frozen owns nothing when it wakes, and takes part again", RUN, async () => {
  await using space = makeNamespace(url);
  await using a = new MemberProcess(url, space.prefix, "a");
  await until("share of one", () => a.owned.length === PARTITIONS);
  await using b = new MemberProcess(url, space.prefix, "b");
  await untilHalves(a, b);
  a.signal("SIGSTOP");
  await until("all at the other", () => b.owned.length === PARTITIONS);
  const frozen = a.said.length;
  a.signal("SIGCONT");
  await until("loss", () => a.said.slice(frozen).some(({ event }) => event === "lost"));
  const [first] = a.said.slice(frozen);
  assert.ok(
    first !== undefined && (first.event === "lost" || first.partitions.length === 0),
    JSON.stringify(first),
  );
  await untilHalves(a, b);
});

test("a daemon that ends in order hands on what it has", RUN, async () => {
  await using space = makeNamespace(url);
  await using a = new MemberProcess(url, space.prefix, "a");
  await until("share of one", () => a.owned.length === PARTITIONS);
  await using b = new MemberProcess(url, space.prefix, "b");
  await untilHalves(a, b);
  assert.equal((await a.finish()).code, 0);
  assert.ok(!a.said.some(({ event }) => event === "lost"));
  // One that went to the other, and back while they came to their halves, is handed on twice.
  const handedOn = a.said.filter(({ event }) => event === "handedOn").flatMap(({ partitions }) => partitions);
  assert.equal(new Set(handedOn).size, PARTITIONS);
  await until("all at the other", () => b.owned.length === PARTITIONS);
});
