import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { PendingMessages } from "../../../src/platforms/terminal/pending-messages.ts";

describe("pending messages", () => {
  const steps: Record<string, (pending: PendingMessages) => void> = {
    "settled as answered": (pending) => pending.settle("c", ["1"], "answered"),
    "settled as failed": (pending) => pending.settle("c", ["1"], "failed"),
    "settled as skipped": (pending) => pending.settle("c", ["1"], "skipped"),
    "settled as stopped": (pending) => pending.settle("c", ["1"], "stopped"),
    delivered: (pending) => pending.deliver("c", ["1"]),
    forgotten: (pending) => pending.forget("c", "1"),
    "taken back": (pending) => pending.forgetId("1"),
  };
  const finished: string[][] = [
    ["settled as answered", "delivered"],
    ["delivered", "settled as answered"],
    ["settled as failed", "delivered"],
    ["settled as skipped"],
    ["settled as stopped"],
    ["forgotten"],
    ["taken back"],
  ];
  for (const path of finished) {
    test(`are over once ${path.join(" and ")}, and not before`, async () => {
      const pending = new PendingMessages();
      assert.ok(pending.offer("c", "1"));
      let isIdle = false;
      const idle = (async () => {
        await pending.idle();
        isIdle = true;
      })();
      for (const step of path) {
        await Promise.resolve();
        assert.equal(isIdle, false);
        steps[step]?.(pending);
      }
      await idle;
      assert.equal(pending.size, 0);
    });
  }

  test("are counted once, and apart by channel", () => {
    const pending = new PendingMessages();
    pending.offer("c", "1");
    assert.equal(pending.offer("c", "1"), false);
    assert.ok(pending.offer("d", "1"));
    pending.settle("d", ["1"], "skipped");
    assert.equal(pending.size, 1);
  });

  test("tell when they were accepted or forgotten", async () => {
    const pending = new PendingMessages();
    for (const id of ["1", "2"]) pending.offer("c", id);
    const accepted = pending.whenAccepted("c", ["1", "2", "unknown"]);
    pending.accept("c", "1");
    pending.forget("c", "2");
    await accepted;
  });
});
