import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { CommandAnswer } from "../../../src/core/card.ts";
import type { InboundCommand } from "../../../src/platforms/platform.ts";
import {
  answerSchema,
  commandSchema,
  fromAnswer,
  fromCommand,
  fromInbound,
  type LocalEvent,
  personEventSchema,
  toAnswer,
  toCommand,
  toInbound,
} from "../../../src/platforms/local/messages.ts";
import { CARD } from "../cards.ts";

const PLATFORM = "here";
const channel = { platform: PLATFORM, name: "main" };
const at = new Date("2026-11-24T12:00:00.123Z");
const author = { id: "ana", name: "ana", isBot: false };
const where = { channel, kind: "thread", workspace: "" } as const;

/** As the other side reads it. */
function sent(value: object): unknown {
  return JSON.parse(JSON.stringify(value));
}

describe("a message between processes of this machine arrives as it was", () => {
  const events: readonly LocalEvent[] = [
    { type: "message", ...where, id: "m1", author, text: "hi", at, addressed: true },
    { type: "message", ...where, kind: "dm", id: "m2", author, text: "", at, addressed: false },
    { type: "edit", platform: PLATFORM, channel, id: "m1", text: "ho", at },
    { type: "edit", platform: PLATFORM, id: "m1", text: "ho", at: new Date("9999-12-31T23:59:59-12:00") },
    { type: "deletion", platform: PLATFORM, channel, id: "m1", at },
    { type: "deletion", platform: PLATFORM, id: "m1", at: new Date(-1e15) },
  ];
  for (const [index, event] of events.entries()) {
    test(`an event: ${event.type} ${index}`, () => {
      assert.deepEqual(toInbound(PLATFORM, personEventSchema.parse(sent(fromInbound(event)))), event);
    });
  }

  const command: InboundCommand = {
    channel,
    name: "stop",
    argument: "now",
    asker: { id: "ana", name: "ana", roles: [] },
  };
  for (const given of [command, { ...command, where }]) {
    test(`a command, ${"where" in given ? "with" : "without"} its kind of channel`, () => {
      assert.deepEqual(toCommand(PLATFORM, commandSchema.parse(sent(fromCommand(given)))), given);
    });
  }

  test("the answer to a command", () => {
    for (const answer of ["Stopped.", CARD] satisfies CommandAnswer[])
      assert.deepEqual(fromAnswer(answerSchema.parse(sent(toAnswer(answer)))), answer);
  });
});

test("an event without a time, or with a channel of another platform, is none", () => {
  const event = fromInbound({ type: "message", ...where, id: "m1", author, text: "hi", at, addressed: true });
  assert.equal(personEventSchema.safeParse({ ...event, at: "tomorrow" }).success, false);
  assert.equal(personEventSchema.safeParse({ ...event, channel }).success, false);
});
