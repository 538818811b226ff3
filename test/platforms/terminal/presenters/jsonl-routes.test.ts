import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { JsonlRoutes } from "../../../../src/platforms/terminal/presenters/jsonl-routes.ts";

describe("lanes", () => {
  test("keep the order within a lane, and let others pass", async () => {
    const lanes = new JsonlRoutes(10);
    const gate = Promise.withResolvers<void>();
    const done: string[] = [];
    await lanes.add({ channel: "a" }, async () => {
      await gate.promise;
      done.push("a1");
    });
    await lanes.add({ channel: "a" }, async () => void done.push("a2"));
    const other = Promise.withResolvers<void>();
    await lanes.add({ channel: "b" }, async () => {
      done.push("b1");
      other.resolve();
    });
    await other.promise;
    assert.deepEqual(done, ["b1"]);
    gate.resolve();
    await lanes.idle();
    assert.deepEqual(done, ["b1", "a1", "a2"]);
  });

  test("take no more than their limit", async () => {
    const lanes = new JsonlRoutes(2);
    const gate = Promise.withResolvers<void>();
    await lanes.add({ channel: "a" }, () => gate.promise);
    await lanes.add({ channel: "b" }, () => gate.promise);
    let isTaken = false;
    const third = (async () => {
      await lanes.add({ channel: "c" }, () => Promise.resolve());
      isTaken = true;
    })();
    await Promise.resolve();
    assert.equal(isTaken, false);
    gate.resolve();
    await third;
    await lanes.idle();
  });
});
