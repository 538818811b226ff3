import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { InboundMessage, OutboundMessage } from "../../src/core/message.ts";
import { type Gap, type Platform, PlatformError } from "../../src/platforms/platform.ts";
import { until } from "../support/patience.ts";
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

/** A command that somebody has given. */
export interface Asked {
  /** What they see of its answer, and nobody else does; null: nothing so far. */
  answer(): Promise<string | null>;
}

/** A platform with people at its other end. What is left out cannot be done, or seen, there. */
export interface PlatformHarness extends AsyncDisposable {
  readonly platform: Platform;
  readonly inbox: RecordingInbox;
  /** The name of the channel where people are. */
  readonly channel: string;
  say(said: Said): Promise<void>;
  /** The bot's messages as people see them now, oldest first. */
  shown(): Promise<string[]>;
  /** A moderator deletes one of the bot's messages. */
  moderate?(messageId: string): Promise<void>;
  /** People can choose ids, times, authors and channels. */
  readonly isScriptable?: true;
  /** The platform delivers the next message twice. */
  readonly deliverTwice?: () => void;
  /** Loses the connection, and has another one soon after `meanwhile`. What is done meanwhile is not delivered by itself. */
  readonly interrupt?: (meanwhile: () => Promise<void>) => Promise<void>;
  /** A person gives a command where the bot knows commands apart from messages. */
  readonly command?: (name: string, argument: string) => Promise<Asked>;
  /** A person presses a button of a message. @throws Error if it has none with the label */
  readonly press?: (messageId: string, label: string) => Promise<Asked>;
  /** Where people see that an answer is being made, and whether they do. */
  readonly sign?: () => Promise<{ readonly channel: string; readonly isShown: () => boolean }>;
  /** How many different emoji stand under a message. */
  readonly reactions?: (messageId: string) => number;
  readonly edit?: (id: string, text: string) => Promise<void>;
  readonly delete?: (id: string) => Promise<void>;
  /** The failures that can be brought about here. */
  readonly failures: readonly SendFailure[];
  fail?(how: SendFailure): Promise<void>;
  /** What a text looks like here; left out: as it is. */
  looks?(text: string): string;
}

/** Nothing that a model writes is longer, UTF-16 units. */
const LONG = 100_000;

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
    describe("a connection that is lost", () => {
      interruptionContract(open);
    });
    describe("commands", () => {
      commandContract(open);
      buttonContract(open);
    });
    describe("what the bot says", () => {
      outboundContract(open);
      failureContract(open);
      beyondTexts(open);
    });
    test("its harness sees whatever it does", async () => {
      await using harness = await open();
      const { platform } = harness;
      const unseen = [
        platform.capabilities.drawsActions === true && harness.press === undefined && "press",
        platform.react !== undefined && harness.reactions === undefined && "reactions",
        platform.showTyping !== undefined && harness.sign === undefined && "sign",
        platform.capabilities.takesIdempotencyKeys &&
          !harness.failures.includes("reset_after") &&
          "reset_after",
      ];
      assert.deepEqual(unseen.filter(Boolean), []);
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
    await harness.inbox.received(1);
    const id = harness.inbox.events[0]?.id ?? "";
    await harness.edit(id, "b");
    await harness.delete(id);
    await harness.inbox.received(3);
    const events = harness.inbox.events.map(
      (event) => `${event.type} ${event.id} ${"text" in event ? event.text : ""}`,
    );
    assert.deepEqual(events, [`message ${id} a`, `edit ${id} b`, `deletion ${id} `]);
    assert.ok(
      harness.inbox.events.every(
        (event) => event.type === "message" || event.platform === harness.platform.name,
      ),
    );
  });

  test("a message that comes twice has the same id twice, and the next one another", async (t) => {
    await using harness = await open();
    if (!harness.isScriptable && harness.deliverTwice === undefined) return t.skip("none comes twice here");
    harness.deliverTwice?.();
    await harness.say({ text: "a", id: "m-1" });
    if (harness.deliverTwice === undefined) await harness.say({ text: "a", id: "m-1" });
    await harness.say({ text: "b", id: "m-2" });
    await until("the next one", () => textsOf(harness).includes("b"));
    const ids = harness.inbox.events.map((event) => `${event.id} ${"text" in event ? event.text : ""}`);
    assert.equal(new Set(harness.inbox.events.map(({ id }) => id)).size, 2);
    // An adapter may tell the second one apart itself.
    assert.equal(new Set(ids).size, 2);
    assert.equal(textsOf(harness).at(-1), "b");
  });
}

/** Texts of the messages that came, in order. */
function textsOf({ inbox }: PlatformHarness): string[] {
  return inbox.events.flatMap((event) => (event.type === "message" ? [event.text] : []));
}

/** A person says something; nobody has said anything before. */
async function firstSaid(harness: PlatformHarness): Promise<InboundMessage> {
  await harness.say({ text: "hello" });
  await harness.inbox.received(1);
  const [said] = harness.inbox.events;
  assert.equal(said?.type, "message");
  return said;
}

/** As the log would say it: messages after the last one that came may be missing. */
function gapOf({ inbox, platform }: PlatformHarness): Gap {
  const last = inbox.events.findLast((event) => event.type === "message");
  assert.ok(last !== undefined);
  const { channel, kind, workspace, id: afterId } = last;
  assert.equal(channel.platform, platform.name);
  return { channel, kind, workspace, afterId };
}

function interruptionContract(open: () => Promise<PlatformHarness>): void {
  test("what was said meanwhile comes afterwards, in order, before what is newer", async (t) => {
    await using harness = await open();
    if (harness.interrupt === undefined) return t.skip("it has none");
    await harness.say({ text: "before" });
    await harness.inbox.received(1);
    harness.inbox.gaps = [gapOf(harness)];
    await harness.interrupt(async () => {
      for (const text of ["missed one", "missed two"]) await harness.say({ text });
    });
    await harness.say({ text: "after" });
    await until("the newest", () => textsOf(harness).includes("after"));
    // What comes twice has the same id: the log takes it once.
    assert.deepEqual([...new Set(textsOf(harness))], ["before", "missed one", "missed two", "after"]);
    assert.equal(new Set(harness.inbox.events.map(({ id }) => id)).size, 4);
  });

  test("edits and deletions of that time are found", async (t) => {
    await using harness = await open();
    const { interrupt, edit, delete: remove, inbox } = harness;
    if (interrupt === undefined || edit === undefined || remove === undefined)
      return t.skip("it has none, or people can't change what they said");
    for (const text of ["one", "two", "three"]) await harness.say({ text });
    await inbox.received(3);
    const [one = "", two = ""] = inbox.events.map(({ id }) => id);
    inbox.gaps = [gapOf(harness)];
    await interrupt(async () => {
      await edit(one, "one!");
      await remove(two);
    });
    await inbox.received(5);
    const changes = inbox.events
      .slice(3)
      .map((event) => `${event.type} ${event.id} ${"text" in event ? event.text : ""}`);
    assert.deepEqual(changes.toSorted(), [`deletion ${two} `, `edit ${one} one!`]);
  });
}

/** Waits for an answer. */
async function answerOf(asked: Asked): Promise<string> {
  let answer: string | null = null;
  await until("an answer", async () => {
    answer = await asked.answer();
    return answer !== null;
  });
  return answer ?? "";
}

function commandContract(open: () => Promise<PlatformHarness>): void {
  test("are run where they are given, for whoever gives them, and answered to them alone", async (t) => {
    await using harness = await open();
    const { platform, inbox, channel } = harness;
    if (harness.command === undefined) return t.skip("they are found in messages, or printed for all");
    const said = await firstSaid(harness);
    assert.equal(await answerOf(await harness.command("context", "list")), "did context");
    assert.equal(inbox.commands.length, 1);
    assert.partialDeepStrictEqual(inbox.commands[0], {
      channel: { platform: platform.name, name: channel },
      name: "context",
      argument: "list",
      asker: { id: said.author.id, name: said.author.name },
    });
    assert.deepEqual(await harness.shown(), []);
  });

  test("that fail say so, and nothing of why", async (t) => {
    await using harness = await open();
    if (harness.command === undefined) return t.skip("they are found in messages, or printed for all");
    harness.inbox.onCommand = () => {
      throw new Error("secret words");
    };
    const answer = await answerOf(await harness.command("status", ""));
    assert.match(answer, /did not work/);
    assert.doesNotMatch(answer, /secret/);
  });

  test("that are under way are answered before the intake stops, or left at the deadline", async (t) => {
    await using harness = await open();
    const { platform, inbox } = harness;
    if (harness.command === undefined) return t.skip("they are found in messages, or printed for all");
    const { promise, resolve } = Promise.withResolvers<string>();
    inbox.onCommand = async () => promise;
    const asked = await harness.command("status", "");
    await until("the command", () => inbox.commands.length === 1);
    await platform.stopIntake(AbortSignal.timeout(50));
    assert.equal(await asked.answer(), null);
    const stopping = platform.stopIntake(new AbortController().signal);
    resolve("at last");
    await stopping;
    assert.equal(await asked.answer(), "at last");
  });

  test("keep no adapter from being closed", async (t) => {
    await using harness = await open();
    const { platform, inbox } = harness;
    if (harness.command === undefined) return t.skip("they are found in messages, or printed for all");
    inbox.onCommand = async () => new Promise(() => undefined);
    await harness.command("status", "");
    await until("the command", () => inbox.commands.length === 1);
    await platform[Symbol.asyncDispose]();
  });
}

function buttonContract(open: () => Promise<PlatformHarness>): void {
  test("are what a button stands for, until it is taken away", async (t) => {
    await using harness = await open();
    const { platform, inbox, press, channel } = harness;
    if (platform.capabilities.drawsActions !== true || press === undefined) return t.skip("it draws none");
    const actions = [
      { label: "Yes", style: "primary", command: "context", argument: "list" },
      { label: "No", style: "danger", command: "status", argument: "" },
    ] as const;
    const question = outbound(harness, { text: "May I?", actions });
    const id = await platform.send(question);
    assert.equal(await answerOf(await press(id, "Yes")), "did context");
    assert.equal(await answerOf(await press(id, "No")), "did status");
    assert.deepEqual(
      inbox.commands.map((one) => [one.channel.name, one.name, one.argument]),
      [
        [channel, "context", "list"],
        [channel, "status", ""],
      ],
    );
    await platform.edit(id, { ...question, text: "It is decided.", actions: [] });
    await assert.rejects(press(id, "Yes"));
    assert.deepEqual(await harness.shown(), ["It is decided."]);
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

/** What is no text of an answer: signs, emoji, taking back. */
function beyondTexts(open: () => Promise<PlatformHarness>): void {
  test("a draft is taken back, once or twice, and cannot be edited any more", async (t) => {
    await using harness = await open();
    const { platform } = harness;
    if (platform.remove === undefined) return t.skip("it can't take back");
    const draft = outbound(harness, { text: "The ri", final: false });
    const id = await platform.send(draft);
    await platform.remove(draft.channel, id);
    await platform.remove(draft.channel, id);
    assert.deepEqual(await harness.shown(), []);
    await assert.rejects(platform.edit(id, { ...draft, text: "The river" }), (error) => {
      assert.ok(error instanceof PlatformError);
      return error.kind === "gone";
    });
  });

  test("an emoji is put under a message once, however often it is asked for", async (t) => {
    await using harness = await open();
    const { platform } = harness;
    if (platform.react === undefined) return t.skip("it has none");
    const { channel, id } = await firstSaid(harness);
    assert.equal(channel.platform, platform.name);
    for (const _ of ["once", "twice"]) await platform.react(channel, id, "👀");
    assert.equal(harness.reactions?.(id), 1);
  });

  test("people see that an answer is being made", async (t) => {
    await using harness = await open();
    const { platform, sign } = harness;
    if (platform.showTyping === undefined || sign === undefined) return t.skip("it shows no such sign");
    const { channel, isShown } = await sign();
    assert.equal(isShown(), false);
    platform.showTyping({ platform: platform.name, name: channel }, [], true);
    await until("the sign", isShown);
  });

  test("a person is told something in direct messages", async (t) => {
    await using harness = await open();
    const { platform } = harness;
    if (platform.directChannel === undefined) return t.skip("the bot can't begin any");
    const said = await firstSaid(harness);
    const channel = await platform.directChannel(said.author.id);
    assert.equal(channel.platform, platform.name);
    await platform.send({ ...outbound(harness, { text: "psst" }), channel });
    assert.deepEqual(await harness.shown(), ["psst"]);
  });

  test("a text as long as it may be is one message, and a longer one is cut or refused", async (t) => {
    await using harness = await open();
    const { platform } = harness;
    const { maxTextLength } = platform.capabilities;
    if (maxTextLength > LONG) return t.skip("no answer is so long");
    const longest = "a long word ".repeat(maxTextLength).slice(0, maxTextLength - 1) + "!";
    await platform.send(outbound(harness, { text: longest, idempotencyKey: "1" }));
    assertSameText((await harness.shown())[0], longest);
    const longer = outbound(harness, { text: `${longest} `.repeat(20), idempotencyKey: "2" });
    const isTaken = await platform.send(longer).then(
      () => true,
      (error: unknown) => {
        assert.ok(error instanceof PlatformError && !error.retryable, String(error));
        return false;
      },
    );
    assert.equal((await harness.shown()).length, isTaken ? 2 : 1);
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
