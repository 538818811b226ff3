import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { OutboundMessage } from "../../src/core/message.ts";
import { type Platform, PlatformError } from "../../src/platforms/platform.ts";
import type { RecordingInbox } from "./recording-inbox.ts";

/** Something that a person says on the platform under test. */
export interface Said {
  readonly text: string;
  readonly author?: string;
  readonly id?: string;
  readonly at?: string;
  readonly channel?: string;
  readonly listen?: boolean;
}

/** How the next send goes wrong. `reset_after`: the platform took it, but its answer is lost. */
export type SendFailure = "unavailable" | "gone" | "rejected" | "reset_after";

/** A platform with people at its other end. */
export interface PlatformHarness extends AsyncDisposable {
  readonly platform: Platform;
  readonly inbox: RecordingInbox;
  /** The name of the channel where people are. */
  readonly channel: string;
  say(said: Said): Promise<void>;
  /** The bot's messages as people see them now, oldest first. */
  shown(): Promise<string[]>;
  /** A moderator deletes one of the bot's messages. Left out: nobody can. */
  moderate?(messageId: string): Promise<void>;
  /** Left out: people can't choose ids, times, authors and channels here. */
  readonly isScriptable?: true;
  edit?(id: string, text: string): Promise<void>;
  delete?(id: string): Promise<void>;
  /** The failures that can be brought about here. */
  readonly failures: readonly SendFailure[];
  fail?(how: SendFailure): Promise<void>;
  /** What a text looks like here; left out: as it is. */
  looks?(text: string): string;
}

const ODD_TEXTS = {
  "ANSI escapes": "\u001B[2J\u001B]0;title\u0007red \u009B31m",
  NUL: "a\0b",
  "lone surrogates": "\uD83D and \uDC4D",
  "100 kB": `${"weir ".repeat(20_000)}!`,
  "right-to-left text": "שלום العربية \u202Eesrever\u202C",
  "a tower of combining marks": `e${"\u0301".repeat(200)}`,
};

/** What every platform does alike. `open` starts a fresh platform with a fresh inbox. */
export function platformContract(name: string, open: () => Promise<PlatformHarness>): void {
  describe(`${name} keeps the platform contract`, () => {
    describe("what people say", () => {
      inboundContract(open);
      scriptableContract(open);
    });
    describe("what the bot says", () => {
      outboundContract(open);
      failureContract(open);
    });
    test("it sends after its intake was stopped, and takes nothing in", async () => {
      await using harness = await open();
      await harness.platform.stopIntake(AbortSignal.abort());
      await harness.say({ text: "too late" });
      await harness.platform.send(outbound(harness, { text: "still here" }));
      assert.deepEqual(await harness.shown(), ["still here"]);
      assert.deepEqual(harness.inbox.events, []);
    });
    test("it can be disposed of twice", async () => {
      const harness = await open();
      await harness.platform[Symbol.asyncDispose]();
      await harness[Symbol.asyncDispose]();
    });
  });
}

function inboundContract(open: () => Promise<PlatformHarness>): void {
  test("arrives in order, addressed, with an author and ids of its own", async () => {
    await using harness = await open();
    for (const text of ["one", "two", "three"]) await harness.say({ text });
    await harness.inbox.received(3);
    const ids = new Set<string>();
    for (const [index, event] of harness.inbox.events.entries()) {
      assert.equal(event.type, "message");
      assert.deepEqual(event.channel, { platform: harness.platform.name, name: harness.channel });
      assert.equal(event.text, ["one", "two", "three"][index]);
      assert.equal(event.addressed, true);
      assert.equal(event.author.isBot, false);
      assert.notEqual(event.author.name, "");
      assert.ok(!Number.isNaN(event.at.getTime()));
      assert.equal(harness.platform.capabilities.serves(event.channel), true);
      ids.add(event.id);
    }
    assert.equal(ids.size, 3);
  });

  for (const [what, text] of Object.entries(ODD_TEXTS)) {
    test(`${what} arrive unchanged`, async () => {
      await using harness = await open();
      await harness.say({ text });
      await harness.inbox.received(1);
      const [event] = harness.inbox.events;
      assert.equal(event?.type, "message");
      // A stream of bytes can't carry half a pair: it brings U+FFFD for it.
      assertSameText(event.text, harness.isScriptable ? text : text.toWellFormed());
    });
  }
}

function scriptableContract(open: () => Promise<PlatformHarness>): void {
  test("keeps its author, time, id and channel, and whether it is only listened to", async (t) => {
    await using harness = await open();
    if (!harness.isScriptable) return t.skip("people can't choose these here");
    const at = "2026-05-01T12:00:00.123Z";
    await harness.say({ text: "psst", author: "Zoë", id: "m-1", at, channel: "elsewhere", listen: true });
    await harness.inbox.received(1);
    assert.deepEqual(harness.inbox.events, [
      {
        type: "message",
        channel: { platform: harness.platform.name, name: "elsewhere" },
        kind: "channel",
        workspace: "",
        id: "m-1",
        author: { id: "Zoë", name: "Zoë", isBot: false },
        text: "psst",
        at: new Date(at),
        addressed: false,
      },
    ]);
  });

  test("edits and deletions arrive after the message that they name", async (t) => {
    await using harness = await open();
    if (harness.edit === undefined || harness.delete === undefined)
      return t.skip("people can't change what they said");
    await harness.say({ text: "a", id: "m-1" });
    await harness.edit("m-1", "b");
    await harness.delete("m-1");
    await harness.inbox.received(3);
    const events = harness.inbox.events.map(
      (event) => `${event.type} ${event.id} ${"text" in event ? event.text : ""}`,
    );
    assert.deepEqual(events, ["message m-1 a", "edit m-1 b", "deletion m-1 "]);
    assert.ok(
      harness.inbox.events.every(
        (event) => event.type === "message" || event.platform === harness.platform.name,
      ),
    );
  });

  test("a message that comes twice has the same id twice", async (t) => {
    await using harness = await open();
    if (!harness.isScriptable) return t.skip("people can't choose ids here");
    await harness.say({ text: "a", id: "m-1" });
    await harness.say({ text: "a", id: "m-1" });
    await harness.inbox.received(2);
    assert.deepEqual(
      harness.inbox.events.map(({ id }) => id),
      ["m-1", "m-1"],
    );
  });
}

function outboundContract(open: () => Promise<PlatformHarness>): void {
  test("is acknowledged with an id of its own", async () => {
    await using harness = await open();
    const first = await harness.platform.send(outbound(harness, { text: "one", idempotencyKey: "1" }));
    const second = await harness.platform.send(outbound(harness, { text: "two", idempotencyKey: "2" }));
    assert.notEqual(first, "");
    assert.notEqual(first, second);
    assert.deepEqual(await harness.shown(), ["one", "two"]);
  });

  test("is sent once a key, where the platform takes keys", async (t) => {
    await using harness = await open();
    if (!harness.platform.capabilities.takesIdempotencyKeys) return t.skip("it takes no keys");
    const message = outbound(harness, { text: "once", idempotencyKey: "schlüssel 1:2/3" });
    assert.equal(await harness.platform.send(message), await harness.platform.send(message));
    assert.deepEqual(await harness.shown(), ["once"]);
  });

  test("grows piece by piece, and ends as one message", async () => {
    await using harness = await open();
    const { platform } = harness;
    const id = await platform.send(outbound(harness, { text: "The ri", final: false }));
    await platform.edit(id, outbound(harness, { text: "The river ri", final: false }));
    await platform.edit(id, outbound(harness, { text: "The river rises." }));
    assert.deepEqual(await harness.shown(), ["The river rises."]);
  });

  test("stands there once when its final form is sent again as an edit", async () => {
    await using harness = await open();
    const message = outbound(harness, { text: "once" });
    const id = await harness.platform.send(message);
    await harness.platform.edit(id, message);
    assert.deepEqual(await harness.shown(), ["once"]);
  });

  for (const [what, text] of Object.entries(ODD_TEXTS)) {
    test(`${what} are shown, and not obeyed`, async (t) => {
      await using harness = await open();
      if (text.length > harness.platform.capabilities.maxTextLength)
        return t.skip("it is split before it comes here");
      await harness.platform.send(outbound(harness, { text }));
      const shown = await harness.shown();
      assert.equal(shown.length, 1);
      assertSameText(shown[0], harness.looks?.(text) ?? text);
    });
  }
}

function failureContract(open: () => Promise<PlatformHarness>): void {
  for (const how of ["unavailable", "gone", "rejected"] as const) {
    test(`a send that fails is told to be ${how}`, async (t) => {
      await using harness = await open();
      if (!harness.failures.includes(how)) return t.skip("it can't be brought about here");
      await harness.fail?.(how);
      await assert.rejects(harness.platform.send(outbound(harness, { text: "lost" })), (error) => {
        assert.ok(error instanceof PlatformError);
        assert.equal(error.kind, how);
        assert.equal(error.isMessageGone, false);
        assert.equal(error.platform, harness.platform.name);
        return true;
      });
    });
  }

  test("an edit of a message that somebody deleted says so, and a text with another key is posted", async (t) => {
    await using harness = await open();
    if (harness.moderate === undefined) return t.skip("nobody can delete it here");
    const { platform } = harness;
    const id = await platform.send(outbound(harness, { text: "The ri", final: false }));
    await harness.moderate(id);
    const whole = outbound(harness, { text: "The river rises." });
    await assert.rejects(platform.edit(id, whole), (error) => {
      assert.ok(error instanceof PlatformError);
      assert.equal(error.kind, "gone");
      assert.equal(error.isMessageGone, true);
      return true;
    });
    await platform.send({ ...whole, idempotencyKey: "key/anew" });
    assert.deepEqual(await harness.shown(), ["The river rises."]);
  });

  test("a text whose acknowledgement was lost is resent with its key, and stands there once", async (t) => {
    await using harness = await open();
    if (!harness.failures.includes("reset_after")) return t.skip("it can't be brought about here");
    await harness.fail?.("reset_after");
    const message = outbound(harness, { text: "once" });
    await assert.rejects(harness.platform.send(message), PlatformError);
    const id = await harness.platform.send(message);
    await harness.platform.edit(id, outbound(harness, { text: "once and for all" }));
    assert.deepEqual(await harness.shown(), ["once and for all"]);
  });
}

/** Says where two texts differ, without printing 100 kB of them. */
function assertSameText(actual: string | undefined, expected: string): void {
  if (actual === expected) return;
  let index = 0;
  while (actual?.[index] === expected[index]) index += 1;
  const around = (text = ""): string => JSON.stringify(text.slice(Math.max(0, index - 20), index + 20));
  assert.fail(`texts differ at ${index}: ${around(actual)} instead of ${around(expected)}`);
}

/** A final answer to nobody in particular, unless told otherwise. */
export function outbound(
  harness: { readonly platform: Pick<Platform, "name">; readonly channel: string },
  message: Partial<OutboundMessage> & { text: string },
): OutboundMessage {
  return {
    channel: { platform: harness.platform.name, name: harness.channel },
    idempotencyKey: "key",
    mayBeThere: false,
    final: true,
    inReplyTo: [],
    kind: "answer",
    ...message,
  };
}
