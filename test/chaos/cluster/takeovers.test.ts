import assert from "node:assert/strict";
import { test } from "node:test";
import { takeoversOf } from "./takeovers.ts";

const AT = 1_000_000;
const idOf = new Map(["one", "two", "three"].map((id) => [`message ${id}`, id]));
const killed = { daemon: "a", at: AT, due: [{ channel: "c1", messageIds: ["message one", "message two"] }] };

const call = (daemon: string, ms: number, ...due: string[]) => {
  return { daemon, at: AT + ms, until: AT + ms + 50, channel: "c1", due };
};

test("a channel is taken up with the first call for what waited there", () => {
  const calls = [call("a", -300, "one"), call("b", 120, "one"), call("b", 400, "two")];
  assert.deepEqual(takeoversOf(killed, calls, idOf), [{ channel: "c1", ms: 120 }]);
});

test("what a daemon's last statement settled behind its end is no takeover, and later calls are none of it", () => {
  const calls = [call("a", -300, "one"), call("b", 11_000, "three")];
  const [due] = killed.due;
  assert.ok(due !== undefined);
  const settled = { ...killed, due: [{ ...due, messageIds: ["message one"] }] };
  assert.deepEqual(takeoversOf(settled, calls, idOf), []);
  const both = [...calls, call("b", 150, "two")].toSorted((one, other) => one.at - other.at);
  assert.deepEqual(takeoversOf(killed, both, idOf), [{ channel: "c1", ms: 150 }]);
});

test("a daemon that is started again under the same name takes up what it had; one that was killed does not", () => {
  const calls = [call("a", 5, "one"), call("a", 2500, "one")];
  assert.deepEqual(takeoversOf(killed, calls, idOf), [{ channel: "c1", ms: 2500 }]);
});
