import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { pino } from "pino";
import { UnstorableError } from "../../../src/core/errors.ts";
import type { Intake } from "../../../src/platforms/intake/intake.ts";
import { PlatformError } from "../../../src/platforms/platform.ts";
import { AwayError } from "./away-error.ts";
import { HOUR_MS, gapAfter, hand, open } from "./open-intake.ts";
import { HOME, said } from "./scripted-history.ts";

describe("what was missed", () => {
  test("comes before what is live, in the platform's order", async () => {
    const { inbox, history, intake, got } = open();
    history.add(1, 2, 3, 4);
    inbox.gaps = [gapAfter(2)];
    intake.resume();
    await hand(intake, said(5), HOME);
    assert.deepEqual(got(), ["+3", "+4", "+5"]);
    assert.deepEqual(inbox.closed, ["room"]);
  });

  test("is fetched page by page where it is long, and whole", async () => {
    const { inbox, history, intake, got } = open({ pageSize: 10 });
    history.add(...Array.from({ length: 47 }, (_, index) => index + 1));
    inbox.gaps = [gapAfter(3)];
    intake.resume();
    await intake.idle();
    assert.deepEqual(
      got(),
      Array.from({ length: 44 }, (_, index) => `+${index + 4}`),
    );
  });

  test("is context, and not answered, where it is too old", async () => {
    const { inbox, history, intake, got } = open({ now: () => new Date(1_002_500 + HOUR_MS) });
    for (const id of [1, 2, 3, 4])
      history.messages.push({ message: said(id, { addressed: true }), editedAt: null });
    inbox.gaps = [gapAfter(1)];
    intake.resume();
    await intake.idle();
    assert.deepEqual(got(), ["+2", "*3", "*4"]);
  });

  test("brings what was changed and what was taken back meanwhile", async () => {
    const { inbox, history, intake, got } = open();
    for (const id of [1, 2, 3]) await hand(intake, said(id), HOME);
    history.add(1, 3, 4);
    history.messages[0] = { message: said(1, { text: "new" }), editedAt: new Date() };
    inbox.gaps = [gapAfter(3)];
    intake.resume();
    await intake.idle();
    assert.deepEqual(got(), ["+1", "+2", "+3", "+4", "~1", "-2"]);
  });

  test("takes nothing back that it cannot see", async () => {
    const { inbox, history, intake, got } = open({ pageSize: 2 });
    for (const id of [1, 2, 3, 4]) await hand(intake, said(id), HOME);
    history.add(1, 2, 3, 4);
    inbox.gaps = [gapAfter(4)];
    intake.resume();
    await intake.idle();
    assert.deepEqual(got(), ["+1", "+2", "+3", "+4"]);
  });
});

describe("a gap", () => {
  test("holds live events only so long, and its gap stays on record meanwhile", async () => {
    const { inbox, history, intake, got } = open({ holdMs: 30 });
    history.add(1, 2);
    const { promise, resolve } = Promise.withResolvers<void>();
    history.pause = promise;
    inbox.gaps = [gapAfter(1)];
    intake.resume();
    await hand(intake, said(3), HOME);
    assert.deepEqual(got(), ["+3"]);
    assert.equal(inbox.kept.get("room"), "1");
    assert.deepEqual(inbox.closed, []);
    resolve();
    await intake.idle();
    assert.deepEqual(got(), ["+3", "+2"]);
    assert.deepEqual(inbox.closed, ["room"]);
  });

  test("is asked for again where the platform does not answer", async () => {
    const { inbox, history, intake, got } = open();
    history.add(1, 2);
    history.failures.push(new PlatformError("chat", "unavailable", "down", { retryAfterMs: 5 }));
    inbox.gaps = [gapAfter(1)];
    intake.resume();
    await hand(intake, said(3), HOME);
    assert.deepEqual(got(), ["+2", "+3"]);
  });

  test("of a channel that was deleted is not asked for again, and does not stay on record", async () => {
    const { inbox, history, intake } = open();
    history.failures.push(new PlatformError("chat", "gone", "deleted"));
    inbox.gaps = [gapAfter(1)];
    intake.resume();
    await intake.idle();
    assert.deepEqual(history.calls, ["newest"]);
    assert.deepEqual(inbox.closed, ["room"]);
  });

  test("in a second interruption, while the first is being fetched, comes too", async () => {
    const { inbox, history, intake, got } = open();
    history.add(1, 2);
    const { promise, resolve } = Promise.withResolvers<void>();
    history.pause = promise;
    inbox.gaps = [gapAfter(1)];
    intake.resume();
    while (history.calls.length === 0) await new Promise(setImmediate);
    const read = intake.idle();
    intake.resume();
    while (inbox.gaps.length === 0) await new Promise(setImmediate);
    await new Promise(setImmediate);
    resolve();
    await read;
    history.add(3);
    intake.resume();
    await intake.idle();
    assert.deepEqual([...new Set(got())], ["+2", "+3"]);
    assert.ok(history.calls.filter((call) => call === "newest").length >= 3);
  });
});

for (const [why, error] of [
  ["the platform refuses for another reason", new PlatformError("chat", "rejected", "at most 100")],
  ["is of a channel that the bot may not see now", new PlatformError("chat", "gone", "it may not")],
] as const)
  test(`a gap that ${why} stays on record until the next connection`, async () => {
    const { inbox, history, intake, got } = open();
    history.add(1, 2);
    history.failures.push(error);
    inbox.gaps = [gapAfter(1)];
    intake.resume();
    await intake.idle();
    assert.deepEqual([history.calls, inbox.closed], [["newest"], []]);
    intake.resume();
    await intake.idle();
    assert.deepEqual([got(), inbox.closed], [["+2"], ["room"]]);
  });

test("the gap of a thread that is fetched apart is on record before its parent's is closed", async () => {
  const { inbox, history, intake } = open({ holdMs: 60_000 });
  const thread = { ...HOME, kind: "thread", channel: { platform: "chat", name: "thread" } } as const;
  history.parentOf = ({ name }) => (name === "thread" ? HOME.channel : null);
  for (const message of [said(1), said(3, { ...thread, addressed: true }), said(4)])
    history.messages.push({ message, editedAt: null });
  const newest = history.newest.bind(history);
  const [asked, parent] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  history.newest = async (where, limit) => {
    const isThread = where.channel.name === "thread";
    if (isThread) asked.resolve();
    // The thread's own answer does not come.
    await (isThread ? new Promise(() => undefined) : parent.promise);
    return newest(where, limit);
  };
  inbox.gaps = [gapAfter(1)];
  intake.resume();
  void hand(intake, said(5, thread), thread);
  await asked.promise;
  parent.resolve();
  while (inbox.closed.length === 0) await new Promise(setImmediate);
  assert.deepEqual([inbox.closed, [...inbox.kept]], [["room"], [["thread", "1"]]]);
  intake.close();
});

test("closing with catch-ups that wait ends them in silence", async () => {
  const { inbox, history, intake } = open();
  history.pause = new Promise(() => undefined);
  inbox.gaps = Array.from({ length: 20 }, (_, index) => ({
    ...gapAfter(1),
    channel: { platform: "chat", name: `room-${index}` },
  }));
  const rejections: unknown[] = [];
  const onRejection = (reason: unknown): void => void rejections.push(reason);
  process.on("unhandledRejection", onRejection);
  intake.resume();
  while (history.calls.length === 0) await new Promise(setImmediate);
  intake.close();
  await new Promise((resolve) => setTimeout(resolve, 20));
  process.off("unhandledRejection", onRejection);
  assert.deepEqual(rejections, []);
});

describe("what cannot be stored", () => {
  test("just now is fetched as soon as it can, before what comes later", async () => {
    const { inbox, history, intake, got } = open();
    history.add(1);
    await hand(intake, said(1), HOME);
    inbox.gaps = [gapAfter(1)];
    inbox.failures.push(new AwayError("the database is away"));
    history.add(2);
    assert.equal(await hand(intake, said(2), HOME), undefined);
    await hand(intake, said(3), HOME);
    assert.deepEqual(got(), ["+1", "+2", "+3"]);
  });

  test("for a reason that nobody knows is fetched again until it can, and put on record where that takes long", async () => {
    const { inbox, history, intake, got } = open({ holdMs: 20 });
    history.add(1);
    await hand(intake, said(1), HOME);
    inbox.gaps = [gapAfter(1)];
    const receive = inbox.receive.bind(inbox);
    let isMigrated = true;
    inbox.receive = async (event) => {
      if (isMigrated && event.id === "2") throw new Error("cached plan must not change result type");
      return receive(event);
    };
    history.add(2);
    assert.equal(await hand(intake, said(2), HOME), undefined);
    await hand(intake, said(3), HOME);
    assert.deepEqual([got(), [...inbox.kept]], [["+1", "+3"], [["room", "1"]]]);
    isMigrated = false;
    await inbox.received(3);
    await intake.idle();
    assert.deepEqual([got(), inbox.closed], [["+1", "+3", "+2"], ["room"]]);
    intake.close();
  });

  test("ever is left out with words, and the rest goes on", async () => {
    const lines: string[] = [];
    const log = pino({ level: "warn" }, { write: (line: string) => lines.push(line) });
    const { inbox, history, intake, got } = open({ log });
    inbox.failures.push(new UnstorableError("its id has 5,000 bytes"));
    await hand(intake, said(1), HOME);
    await hand(intake, said(2), HOME);
    assert.deepEqual(got(), ["+2"]);
    assert.equal(lines.filter((line) => /its id has 5,000 bytes.*event_refused/.test(line)).length, 1);
    // The same where it is fetched: what was said behind it is not held up by it.
    history.add(2, 3, 4);
    inbox.gaps = [gapAfter(2)];
    inbox.failures.push(new UnstorableError("its id has 5,000 bytes"));
    intake.resume();
    await intake.idle();
    assert.deepEqual([got(), inbox.closed, lines.length], [["+2", "+4"], ["room"], 2]);
    intake.close();
  });
});

describe("a channel that Weir has not seen before", () => {
  const fresh = { isBound: true, listens: true, answersAll: false, isKnown: false };

  test("begins with what was said there, as context, once", async () => {
    const { inbox, history, intake, got } = open();
    inbox.policy = () => fresh;
    for (const id of [1, 2])
      history.messages.push({ message: said(id, { addressed: true }), editedAt: null });
    await hand(intake, said(300, { addressed: true }), HOME);
    await hand(intake, said(301), HOME);
    assert.deepEqual(got(), ["+1", "+2", "*300", "+301"]);
    assert.deepEqual(history.calls, ["background"]);
  });

  test("is answered also where its past cannot be read", async () => {
    const { inbox, history, intake, got } = open();
    inbox.policy = () => fresh;
    history.failures.push(new PlatformError("chat", "rejected", "missing permission"));
    await hand(intake, said(3, { addressed: true }), HOME);
    assert.deepEqual(got(), ["*3"]);
  });

  test("is not read where nobody answers or listens", async () => {
    for (const standing of [
      { isBound: false, listens: false, answersAll: false, isKnown: false },
      { isBound: true, listens: false, answersAll: false, isKnown: false },
    ]) {
      const { inbox, history, intake } = open();
      inbox.policy = () => standing;
      await hand(intake, said(3), HOME);
      assert.deepEqual(history.calls, []);
    }
  });
});

test("events of one channel keep their order, and do not wait for another channel's gap", async () => {
  const { inbox, history, intake, got } = open();
  const { promise, resolve } = Promise.withResolvers<void>();
  history.pause = promise;
  inbox.gaps = [gapAfter(0)];
  intake.resume();
  const elsewhere = { ...HOME, channel: { platform: "chat", name: "other" } };
  const held = hand(intake, said(9), HOME);
  await Promise.all([1, 2, 3].map(async (id) => hand(intake, { ...said(id), ...elsewhere }, elsewhere)));
  assert.deepEqual(got(), ["+1", "+2", "+3"]);
  resolve();
  await held;
  assert.deepEqual(got(), ["+1", "+2", "+3", "+9"]);
});

test("events of a lane are read in order, and go on being read while the first waits to be stored", async () => {
  const { inbox, history, intake, got } = open();
  const { promise, resolve } = Promise.withResolvers<void>();
  history.pause = promise;
  inbox.gaps = [gapAfter(0)];
  intake.resume();
  const reading = Promise.withResolvers<void>();
  const read: number[] = [];
  const thread = { ...HOME, channel: { platform: "chat", name: "room/thread" } };
  const arrive = (id: number, home: typeof HOME, ready: Promise<void>): ReturnType<Intake["hand"]> =>
    intake.hand({
      lane: "room",
      read: async () => {
        await ready;
        read.push(id);
        return [{ event: said(id, home), home }];
      },
      kind: "message",
      name: home.channel.name,
      where: async () => Promise.resolve([home]),
      isFetchedIfUnread: true,
    });
  const first = arrive(1, HOME, Promise.resolve());
  const second = arrive(2, thread, reading.promise);
  const third = arrive(3, thread, Promise.resolve());
  await new Promise(setImmediate);
  assert.deepEqual(read, [1]);
  let isIdle = false;
  const idle = intake.idle().then(() => (isIdle = true));
  reading.resolve();
  await Promise.all([second, third]);
  assert.deepEqual(read, [1, 2, 3]);
  assert.deepEqual(got(), ["+2", "+3"]);
  assert.equal(isIdle, false);
  resolve();
  await Promise.all([first, idle]);
  assert.deepEqual(got(), ["+2", "+3", "+1"]);
});
