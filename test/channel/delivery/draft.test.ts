import assert from "node:assert/strict";
import { test } from "node:test";
import { Draft, type DraftParts } from "../../../src/channel/delivery/draft.ts";
import type { OutboundMessage } from "../../../src/core/message.ts";
import { PlatformError } from "../../../src/platforms/platform.ts";
import { channelId, turnId } from "../../../src/core/ids.ts";
import { TestPlatform } from "../../support/test-platform.ts";
import { until } from "../../support/patience.ts";

const KEY = "turn-1/0";
/** The row of a draft whose message has no id yet. */
const ROW = {
  id: 1,
  turnId: turnId(1),
  part: 0,
  form: "whole",
  piece: 0,
  idempotencyKey: KEY,
  drafted: true,
  messageId: null,
  leftover: null,
} as const;

/** A draft that asks the log before each piece, the first one's row too: it answers when the test says so. */
function makeDraft() {
  const platform = new TestPlatform({ streaming: { intervalMs: 0 } });
  const asked: (() => void)[] = [];
  const released = new AbortController();
  const deliveries: DraftParts["deliveries"] = {
    open: async () => {
      await new Promise<void>((resolve) => void asked.push(resolve));
      return ROW;
    },
    shown: async () => undefined,
    refuseOldEpoch: async () => new Promise<void>((resolve) => void asked.push(resolve)),
  };
  const draft = new Draft({
    platform,
    deliveries,
    owner: { channel: channelId(1), epoch: 1 },
    address: { platform: "test", name: "room" },
    turnId: turnId(1),
    idempotencyKey: KEY,
    inReplyTo: [],
    timing: { intervalMs: 0 },
    speaker: undefined,
    signed: (text) => text,
    signal: released.signal,
  });
  const texts = (): string[] => [...platform.shown.values()].map(({ text }) => text);
  return { draft, asked, released, texts };
}

/** The same, whose first piece is shown, and which is asking for the second. */
async function openDraft() {
  const made = makeDraft();
  const { draft, asked } = made;
  draft.show("One");
  asked.shift()?.();
  await until("first piece", () => draft.messageId !== null);
  draft.show("One two");
  await until("question", () => asked.length === 1);
  return made;
}

test("a piece is shown where the log answers at once that the channel is still ours", async () => {
  const { draft, asked, texts } = await openDraft();
  asked[0]?.();
  await until("second piece", () => texts().includes("One two"));
  await draft.close();
});

test("an answer of the log's that comes once the channel was released shows no piece: another may have sent the whole", async () => {
  const { draft, asked, released, texts } = await openDraft();
  released.abort();
  asked[0]?.();
  await draft.close();
  await new Promise(setImmediate);
  assert.deepEqual(texts(), ["One"]);
});

test("what the log answers late is asked again, and holds up no end", async (t) => {
  const { draft, asked, texts } = await openDraft();
  const now = performance.now.bind(performance);
  t.mock.method(performance, "now", () => now() + 5000);
  asked[0]?.();
  await until("next question", () => asked.length === 2);
  assert.deepEqual(texts(), ["One"]);
  const closed = draft.close();
  asked[1]?.();
  await closed;
});

test("a first piece of which the log has heard, and which was released before it answered, is not shown", async () => {
  const { draft, asked, released, texts } = makeDraft();
  draft.show("One");
  released.abort();
  asked[0]?.();
  await draft.close();
  await new Promise(setImmediate);
  assert.deepEqual(texts(), []);
});

/** A draft on a platform that shows steps, whose log answers at once; and what the platform was given. */
function stepDraft(send: (message: OutboundMessage) => Promise<string>) {
  const given: OutboundMessage[] = [];
  const platform = Object.assign(new TestPlatform({ streaming: { intervalMs: 0 } }), {
    send: async (message: OutboundMessage) => {
      given.push(message);
      return send(message);
    },
    edit: async (_: string, message: OutboundMessage) => void given.push(message),
  });
  const draft = new Draft({
    platform,
    deliveries: {
      open: async () => Promise.resolve(ROW),
      shown: async () => undefined,
      refuseOldEpoch: async () => undefined,
    },
    owner: { channel: channelId(1), epoch: 1 },
    address: { platform: "test", name: "room" },
    turnId: turnId(1),
    idempotencyKey: KEY,
    inReplyTo: [],
    timing: { intervalMs: 0, showsSteps: () => true },
    speaker: undefined,
    signed: (text) => `Bob: ${text}`,
    signal: new AbortController().signal,
  });
  const told = (): unknown[] => given.map(({ text, steps }) => [text, steps?.map(({ state }) => state)]);
  return { draft, told };
}

test("steps are shown before there is a text, and beside it", async () => {
  const { draft, told } = stepDraft(async () => Promise.resolve("m1"));
  draft.begin("call-1", "searching", false);
  await until("the first", () => told().length === 1);
  draft.end("call-1", "done");
  await until("the second", () => told().length === 2);
  draft.show("One");
  await until("the text", () => told().length === 3);
  await draft.close();
  assert.deepEqual(told(), [
    ["", ["running"]],
    ["", ["done"]],
    ["Bob: One", ["done"]],
  ]);
});

test("where steps are refused after all, the text is shown without them", async () => {
  const { draft, told } = stepDraft(async ({ text }) => {
    if (text === "") throw new PlatformError("test", "rejected", "no steps here");
    return Promise.resolve("m1");
  });
  draft.begin("call-1", "searching", false);
  await until("the refusal", () => told().length === 1);
  draft.end("call-1", "done");
  draft.show("One");
  await until("the text", () => told().length === 2);
  await draft.close();
  assert.deepEqual(told(), [
    ["", ["running"]],
    ["Bob: One", undefined],
  ]);
});
