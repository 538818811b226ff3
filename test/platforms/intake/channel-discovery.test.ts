import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { ChannelOnPlatform } from "../../../src/core/message.ts";
import { PlatformError } from "../../../src/platforms/platform.ts";
import { AwayError } from "./away-error.ts";
import { HOUR_MS, gapAfter, hand, open } from "./open-intake.ts";
import { HOME, said } from "./scripted-history.ts";

const FRESH = { isBound: true, answersAll: false, listens: true, isKnown: false };
/** The time of a message. */
const timeOf = (id: number): Date => said(id).at;
const room = (index: number): ChannelOnPlatform => ({
  ...HOME,
  channel: { platform: "chat", name: `room-${index}` },
});
const never = async (): Promise<readonly ChannelOnPlatform[]> => new Promise(() => undefined);

describe("a channel that was never heard of", () => {
  test("is asked for what was said since everything was heard, before what is live", async () => {
    const { inbox, history, intake, got } = open();
    inbox.mark = timeOf(2);
    inbox.policy = () => ({ ...FRESH, isKnown: true });
    for (const id of [1, 2, 3, 4])
      history.messages.push({ message: said(id, { addressed: true }), editedAt: null });
    intake.resume();
    intake.search(async (since) => {
      assert.deepEqual(since, timeOf(2));
      return Promise.resolve([HOME]);
    });
    await hand(intake, said(5, { addressed: true }), HOME);
    assert.deepEqual(got(), ["*3", "*4", "*5"]);
    assert.deepEqual(inbox.closed, ["room"]);
    intake.close();
  });

  test("begins with its past, and what was missed follows it", async () => {
    const { inbox, history, intake, got } = open();
    inbox.mark = timeOf(2);
    inbox.policy = () => FRESH;
    for (const id of [1, 2, 3])
      history.messages.push({ message: said(id, { addressed: true }), editedAt: null });
    intake.resume();
    intake.search(async () => Promise.resolve([HOME]));
    await hand(intake, said(4), HOME);
    assert.deepEqual(got(), ["+1", "+2", "*3", "+4"]);
    intake.close();
  });

  test("is left alone on the first connection ever, where nobody answers it, and where its own gap is open", async () => {
    const first = open();
    first.intake.resume();
    first.intake.search(() => assert.fail("nothing can have been missed"));
    await hand(first.intake, said(1), HOME);
    assert.deepEqual(first.inbox.mark, new Date(1_000_000 + HOUR_MS));
    first.intake.close();
    const { inbox, history, intake } = open();
    inbox.mark = timeOf(0);
    inbox.gaps = [gapAfter(1)];
    inbox.policy = ({ channel }) => ({ ...FRESH, isBound: channel.name !== "room-1" });
    intake.resume();
    intake.search(async () => Promise.resolve([room(1), HOME]));
    await hand(intake, said(9), HOME);
    assert.deepEqual(history.calls, ["newest"]);
    intake.close();
  });

  test("is looked into no further back than messages are answered", async () => {
    const { inbox, history, intake, got } = open({ now: () => new Date(timeOf(3).getTime() + HOUR_MS) });
    inbox.mark = timeOf(1);
    history.add(1, 2, 3, 4, 5);
    intake.resume();
    intake.search(async () => Promise.resolve([HOME]));
    await hand(intake, said(6), HOME);
    assert.deepEqual(got(), ["+4", "+5", "+6"]);
    intake.close();
  });
});

test("what is missing of a channel that begins now, and takes long to be fetched, is no background of it", async () => {
  const { inbox, history, intake, got } = open({ holdMs: 20 });
  inbox.mark = timeOf(2);
  inbox.policy = () => ({ ...FRESH, isKnown: inbox.events.length > 0 });
  for (const id of [1, 2, 3, 4])
    history.messages.push({ message: said(id, { addressed: true }), editedAt: null });
  const { promise, resolve } = Promise.withResolvers<void>();
  history.pause = promise;
  intake.resume();
  intake.search(async () => Promise.resolve([HOME]));
  while (history.calls.length === 0) await new Promise(setImmediate);
  history.pause = Promise.resolve();
  await hand(intake, said(4, { addressed: true }), HOME);
  assert.deepEqual(got(), ["+1", "+2", "*4"]);
  resolve();
  await intake.idle();
  assert.deepEqual(got(), ["+1", "+2", "*4", "*3", "*4"]);
  intake.close();
});

test("what may be missing of it is no background either, where an event has not waited for the search", async () => {
  const { inbox, history, intake, got } = open({ holdMs: 20 });
  inbox.mark = timeOf(2);
  inbox.policy = () => ({ ...FRESH, isKnown: inbox.events.length > 0 });
  for (const id of [1, 2, 3, 4])
    history.messages.push({ message: said(id, { addressed: true }), editedAt: null });
  const { promise, resolve } = Promise.withResolvers<void>();
  intake.resume();
  intake.search(async () => {
    await promise;
    return [HOME];
  });
  await hand(intake, said(4, { addressed: true }), HOME);
  assert.deepEqual(got(), ["+1", "+2", "*4"]);
  resolve();
  while (inbox.closed.length === 0) await new Promise(setImmediate);
  assert.deepEqual(got(), ["+1", "+2", "*4", "*3", "*4"]);
  intake.close();
});

test("a thread is fetched from where it may be missing something, also where its parent's gap begins later", async () => {
  const { inbox, history, intake, got } = open({ holdMs: 20 });
  const thread: ChannelOnPlatform = {
    ...HOME,
    kind: "thread",
    channel: { platform: "chat", name: "thread" },
  };
  history.parentOf = ({ name }) => (name === "thread" ? HOME.channel : null);
  history.messages.push({ message: said(3, thread), editedAt: null });
  inbox.mark = timeOf(2);
  inbox.gaps = [gapAfter(4)];
  const { promise, resolve } = Promise.withResolvers<void>();
  history.pause = promise;
  intake.resume();
  intake.search(never);
  await hand(intake, said(5, thread), thread);
  assert.deepEqual([...inbox.kept], [["thread", "2"]]);
  resolve();
  while (!inbox.closed.includes("thread")) await new Promise(setImmediate);
  assert.deepEqual(got(), ["+5", "+3"]);
  intake.close();
});

test("where a clock that was ahead has noted what was heard, what is still answered is asked for", async () => {
  const { inbox, history, intake, got } = open({ now: () => new Date(timeOf(3).getTime() + HOUR_MS) });
  inbox.mark = new Date(timeOf(9).getTime() + HOUR_MS);
  history.add(1, 2, 3, 4, 5);
  intake.resume();
  intake.search(async () => Promise.resolve([HOME]));
  await hand(intake, said(6), HOME);
  assert.deepEqual(got(), ["+4", "+5", "+6"]);
  intake.close();
});

describe("the search for channels", () => {
  test("is waited for by the events of one that Weir does not know, but not long: then what may be missing is on record", async () => {
    const { inbox, intake, got } = open({ holdMs: 30 });
    inbox.mark = timeOf(2);
    intake.resume();
    intake.search(never);
    const began = performance.now();
    await hand(intake, said(5), HOME);
    await hand(intake, said(6), HOME);
    assert.ok(performance.now() - began >= 24);
    assert.deepEqual(got(), ["+5", "+6"]);
    assert.deepEqual([...inbox.kept], [["room", "2"]]);
    intake.close();
  });

  test("holds up no channel that Weir knows", async () => {
    const { inbox, intake, got } = open({ holdMs: 60_000 });
    inbox.mark = timeOf(2);
    inbox.gaps = [gapAfter(4)];
    intake.resume();
    intake.search(never);
    await hand(intake, said(5), HOME);
    assert.deepEqual(got(), ["+5"]);
    intake.close();
  });
});

describe("channels that were spoken in", () => {
  test("are all looked into, however many there are: what is too much at once is on record, and is worked off", async () => {
    const { inbox, history, intake, got } = open();
    inbox.mark = timeOf(2);
    for (let index = 0; index < 400; index++)
      history.messages.push({
        message: said(3 + index, { ...room(index), addressed: true }),
        editedAt: null,
      });
    history.newest = async ({ channel }) => {
      const messages = history.messages.filter(({ message }) => message.channel.name === channel.name);
      history.calls.push(channel.name);
      const read = messages.map(({ message }) => ({
        id: message.id,
        editedAt: null,
        read: async () => Promise.resolve(message),
      }));
      return Promise.resolve({ messages: read, isAll: true });
    };
    intake.resume();
    intake.search(async () => Promise.resolve(Array.from({ length: 400 }, (_, index) => room(index))));
    while (inbox.closed.length < 400) await new Promise(setImmediate);
    await intake.idle();
    assert.deepEqual(new Set(got()), new Set(Array.from({ length: 400 }, (_, index) => `*${index + 3}`)));
    assert.deepEqual(
      inbox.kept,
      new Map(Array.from({ length: 100 }, (_, index) => [`room-${index + 300}`, "2"])),
    );
    intake.close();
  });

  test("come first where everything that is said is a question", async () => {
    const { inbox, history, intake } = open();
    inbox.mark = timeOf(2);
    inbox.policy = ({ channel }) => ({ ...FRESH, answersAll: channel.name === "room-9" });
    const asked: string[] = [];
    history.newest = async ({ channel }) => {
      asked.push(channel.name);
      return Promise.resolve({ messages: [], isAll: true });
    };
    intake.resume();
    intake.search(async () => Promise.resolve(Array.from({ length: 10 }, (_, index) => room(index))));
    while (inbox.closed.length < 10) await new Promise(setImmediate);
    assert.equal(asked[0], "room-9");
    intake.close();
  });
});

describe("the search for channels, where the platform is away", () => {
  test("begins again where the platform does not answer", async () => {
    const { inbox, history, intake, got } = open();
    inbox.mark = timeOf(0);
    history.add(1);
    let asked = 0;
    intake.resume();
    intake.search(async () => {
      asked += 1;
      if (asked === 1) throw new PlatformError("chat", "unavailable", "down", { retryAfterMs: 5 });
      return Promise.resolve([HOME]);
    });
    await hand(intake, said(2), HOME);
    assert.deepEqual(got(), ["+1", "+2"]);
    intake.close();
  });
});

test("what cannot be stored just now is fetched later, also where nothing of its channel is in the log", async () => {
  const { inbox, history, intake, got } = open();
  intake.resume();
  await intake.idle();
  inbox.mark = timeOf(0);
  inbox.failures.push(new AwayError("the database is away"));
  history.add(1);
  assert.equal(await hand(intake, said(1), HOME), undefined);
  await hand(intake, said(2), HOME);
  assert.deepEqual(got(), ["+1", "+2"]);
  intake.close();
});

describe("a channel of which the log has only what was asked", () => {
  const sparse = { ...gapAfter(1), isSparse: true } as const;

  test("is asked for what was said since everything was heard, and not since it was asked something", async () => {
    const { inbox, history, intake, got } = open();
    inbox.mark = timeOf(5);
    history.add(1, 2, 3, 4, 5, 6, 7);
    inbox.gaps = [sparse];
    intake.resume();
    await intake.idle();
    assert.deepEqual(got(), ["+6", "+7"]);
    intake.close();
  });

  test("has its gap on record before the mark says for the first time that all was heard", async () => {
    const { inbox, history, intake, got } = open();
    const keptAtMark: unknown[] = [];
    const moveWatermark = inbox.moveWatermark.bind(inbox);
    inbox.moveWatermark = async (...args) => {
      keptAtMark.push(...inbox.kept);
      return moveWatermark(...args);
    };
    history.add(1, 2, 3);
    inbox.gaps = [sparse];
    intake.resume();
    await intake.idle();
    assert.deepEqual(keptAtMark, [["room", "1"]]);
    assert.deepEqual(got(), ["+2", "+3"]);
    intake.close();
  });
});

test("the mark does not move on while a gap is neither filled nor on record", async () => {
  const now = { ms: 1_000_000 + HOUR_MS };
  const { inbox, history, intake } = open({ now: () => new Date(now.ms), watermarkEveryMs: 2 });
  inbox.mark = timeOf(5);
  history.add(1, 2, 3);
  inbox.gaps = [gapAfter(1)];
  const held = Promise.withResolvers<void>();
  history.pause = held.promise;
  const marks: Date[] = [];
  const moveWatermark = inbox.moveWatermark.bind(inbox);
  inbox.moveWatermark = async (...args) => {
    marks.push(args[2]);
    return moveWatermark(...args);
  };
  intake.resume();
  while (history.calls.length === 0) await new Promise(setImmediate);
  for (let look = 0; look < 20; look++) await new Promise((resolve) => setTimeout(resolve, 2));
  assert.deepEqual(marks, []);
  held.resolve();
  while (marks.length === 0) await new Promise(setImmediate);
  assert.deepEqual(inbox.closed, ["room"]);
  intake.close();
});
