import assert from "node:assert/strict";
import { test } from "node:test";
import { lapsesOf } from "./lapses.ts";

const AT = Date.UTC(2026, 10, 21, 12);

function line(ms: number, msg: string, more: object = {}): string {
  return JSON.stringify({ level: 30, time: new Date(AT + ms).toISOString(), ...more, msg });
}

test("a daemon's lapses are told by its log, with why", () => {
  const lost = (ms: number, why: string): string =>
    line(ms, "Not in the cluster: this daemon is home of no channel, and tries to join", {
      why,
      waitMs: 100,
    });
  const lines = [
    line(0, "In the cluster"),
    "Weir is ready",
    lost(1000, "RabbitMQ did not answer in time"),
    lost(2000, "joining took too long"),
    line(3000, "In the cluster"),
    lost(9000, "a channel was closed"),
  ];
  assert.deepEqual(lapsesOf(lines), [
    { from: AT + 1000, until: AT + 3000, why: "RabbitMQ did not answer in time" },
    { from: AT + 9000, until: Number.POSITIVE_INFINITY, why: "a channel was closed" },
  ]);
});

test("a daemon that has never left has none", () => {
  assert.deepEqual(lapsesOf([line(0, "In the cluster"), line(5, "turn_settled")]), []);
});
