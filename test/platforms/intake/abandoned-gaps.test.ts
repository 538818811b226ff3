import assert from "node:assert/strict";
import { test } from "node:test";
import { AbandonedGaps } from "../../../src/platforms/intake/abandoned-gaps.ts";
import type { CatchUpSharing, Gap } from "../../../src/platforms/platform.ts";
import { until } from "../../support/patience.ts";

const GAP: Gap = {
  channel: { platform: "test", name: "left" },
  kind: "channel",
  workspace: "",
  afterId: "17",
};

/** Of a daemon among others, one of which has left a gap; the database is away for the first look. */
function sharing(): { readonly sharing: CatchUpSharing; looks: number } {
  const counted = {
    looks: 0,
    sharing: {
      clock: async () => "",
      claim: async () => "ours" as const,
      read: async () => undefined,
      leave: async () => undefined,
      async abandoned() {
        counted.looks += 1;
        if (counted.looks === 1) throw new Error("the database is away");
        return [GAP];
      },
    },
  };
  return counted;
}

test("gaps of daemons that have died are looked for again and again, until it is stopped", async () => {
  const ledger = sharing();
  const opened: Gap[] = [];
  const open = (gap: Gap): void => void opened.push(gap);
  const abandoned = new AbandonedGaps({ platform: "test", ledger, open, abandonedEveryMs: 1 });
  abandoned.start();
  await until("two gaps", () => opened.length >= 2);
  abandoned.stop();
  assert.deepEqual(opened[0], GAP);
  const { looks } = ledger;
  await new Promise((resolve) => setTimeout(resolve, 30));
  assert.ok(ledger.looks <= looks + 1);
});

test("a daemon that is alone looks for none", async () => {
  const abandoned = new AbandonedGaps({ platform: "test", ledger: {}, open: () => assert.fail() });
  abandoned.start();
  await new Promise((resolve) => setTimeout(resolve, 10));
  abandoned.stop();
});
