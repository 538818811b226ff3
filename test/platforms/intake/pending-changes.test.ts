import assert from "node:assert/strict";
import { test } from "node:test";
import type { InboundEdit, InboundEvent, Receipt } from "../../../src/core/message.ts";
import { PendingChanges } from "../../../src/platforms/intake/pending-changes.ts";
import { said } from "./scripted-history.ts";

/** Hands an edit in, then the message that it changes, and the message again. @returns the events in their order */
async function changedEarly(receipt: Receipt): Promise<string[]> {
  const got: string[] = [];
  let isThere = false;
  const changes = new PendingChanges({
    receive: async (event: InboundEvent): Promise<Receipt> => {
      got.push(event.type);
      const isMessage = event.type === "message";
      isThere ||= isMessage;
      return Promise.resolve(isMessage || isThere ? receipt : { outcome: "unknown_message" });
    },
  });
  const message = said(1, { addressed: true });
  const edit: InboundEdit = {
    type: "edit",
    platform: "chat",
    id: message.id,
    text: "@Weir /remember the mill is open",
    at: message.at,
  };
  await changes.receive(edit);
  for (const _ of [1, 2]) await changes.receive(message);
  return got;
}

test("an edit that came before its message follows it once, also where a command stood in it", async () => {
  for (const receipt of [
    { outcome: "accepted", seq: 1 },
    { outcome: "command" },
  ] as const satisfies readonly Receipt[])
    assert.deepEqual(
      await changedEarly(receipt),
      ["edit", "message", "edit", "message"],
      `of a message that is ${receipt.outcome}`,
    );
  assert.deepEqual(await changedEarly({ outcome: "ignored" }), ["edit", "message", "message"]);
});
