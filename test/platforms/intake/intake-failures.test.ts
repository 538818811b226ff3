import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { OperatorError, UnstorableError } from "../../../src/core/errors.ts";
import { type InboundMessage, reactionId } from "../../../src/core/message.ts";
import { RateLimiter } from "../../../src/platforms/shared/rate-limiter.ts";
import { PlatformError } from "../../../src/platforms/platform.ts";
import { AwayError } from "./away-error.ts";
import { gapAfter, hand, open } from "./open-intake.ts";
import { HOME, said } from "./scripted-history.ts";

describe("a gap that the platform does not fill in five attempts", () => {
  const down = (): PlatformError[] =>
    Array.from({ length: 5 }, () => new PlatformError("chat", "unavailable", "down"));

  test("is filled after the next connection", async () => {
    const { inbox, history, intake, got } = open();
    history.add(1, 2);
    history.failures.push(...down());
    inbox.gaps = [gapAfter(1)];
    intake.resume();
    await intake.idle();
    assert.deepEqual(got(), []);
    intake.resume();
    await intake.idle();
    assert.deepEqual(got(), ["+2"]);
    intake.close();
  });

  test("is filled later, also where the connection lasts", async () => {
    const { inbox, history, intake } = open();
    history.add(1, 2);
    history.failures.push(...down());
    inbox.gaps = [gapAfter(1)];
    intake.resume();
    await inbox.received(1);
    await intake.idle();
    assert.deepEqual(inbox.closed, ["room"]);
  });
});

test("a channel in which somebody speaks does not wait for the gaps of the others", async () => {
  const { inbox, history, intake } = open({ holdMs: 60_000 });
  const quiet = Promise.withResolvers<void>();
  history.pause = quiet.promise;
  inbox.gaps = Array.from({ length: 20 }, (_, index) => ({
    ...gapAfter(1),
    channel: { platform: "chat", name: `room-${index}` },
  }));
  intake.resume();
  while (history.calls.length < 4) await new Promise(setImmediate);
  history.pause = Promise.resolve();
  const home = { ...HOME, channel: { platform: "chat", name: "room-19" } };
  await hand(intake, { ...said(5), ...home }, home);
  assert.equal(history.calls.length, 5);
  assert.deepEqual(inbox.closed, ["room-19"]);
  quiet.resolve();
  await intake.idle();
  assert.equal(inbox.closed.length, 20);
});

test("gaps that nobody waits for are spaced where the platform wants that, after the first few", async () => {
  const { inbox, history, intake } = open();
  history.rateLimiter = new RateLimiter(40);
  inbox.gaps = Array.from({ length: 25 }, (_, index) => ({
    ...gapAfter(1),
    channel: { platform: "chat", name: `room-${index}` },
  }));
  const from = performance.now();
  intake.resume();
  await intake.idle();
  assert.ok(performance.now() - from >= 5 * 40 - 5);
});

test("the first few of them begin at once, also right after the start of the process", async () => {
  const { inbox, history, intake } = open();
  // Longer than any process has been running.
  history.rateLimiter = new RateLimiter(1e9);
  inbox.gaps = Array.from({ length: 20 }, (_, index) => ({
    ...gapAfter(1),
    channel: { platform: "chat", name: `room-${index}` },
  }));
  intake.resume();
  await intake.idle();
  assert.equal(inbox.closed.length, 20);
});

describe("a change that comes before its message", () => {
  test("takes it back: it is not taken in any more, neither live nor fetched", async () => {
    const { inbox, history, intake, got } = open();
    await hand(intake, { type: "deletion", platform: "chat", id: "7", at: new Date(0) }, HOME);
    await hand(intake, said(7), HOME);
    history.add(7, 8);
    inbox.gaps = [gapAfter(6)];
    intake.resume();
    await intake.idle();
    assert.deepEqual(got(), ["-7", "+8"]);
  });

  test("while it is being written takes it back all the same", async () => {
    const { inbox, intake, got } = open();
    const taken: Promise<unknown>[] = [];
    inbox.onEvent = ({ type }) => {
      const elsewhere = { ...HOME, channel: { platform: "chat", name: "other" } };
      if (type !== "message") return;
      taken.push(hand(intake, { type: "deletion", platform: "chat", id: "7", at: new Date(0) }, elsewhere));
    };
    await hand(intake, said(7), HOME);
    await Promise.all(taken);
    assert.deepEqual(new Set(got()), new Set(["+7", "-7"]));
    assert.equal(got().at(-1), "-7");
  });

  test("takes back a reaction that comes again later, and none that was given again since", async () => {
    const { intake, got } = open();
    const id = reactionId("7", "u", "tada");
    const given = (second: number): InboundMessage => said(second, { id, replyTo: "7" });
    const reactions = { messageId: "7", person: "u", emoji: "tada" };
    const { at } = said(9);
    await hand(intake, { type: "deletion", platform: "chat", id, at, reactions }, HOME);
    await hand(intake, given(8), HOME);
    assert.deepEqual(got(), [`-${id}`]);
    await hand(intake, given(10), HOME);
    assert.deepEqual(got(), [`-${id}`, `+${id}`]);
  });

  test("edits it: the newest edit follows the message", async () => {
    const { intake, inbox, got } = open();
    for (const second of [2, 1]) {
      const at = new Date(second * 1000);
      await hand(intake, { type: "edit", platform: "chat", id: "7", text: `edit ${second}`, at }, HOME);
    }
    await hand(intake, said(7), HOME);
    assert.deepEqual(got(), ["~7", "~7", "+7", "~7"]);
    const last = inbox.events.at(-1);
    assert.equal(last?.type === "edit" && last.text, "edit 2");
  });
});

test("what comes in is left to the next start where it is closed before it is known what came before", async () => {
  const { inbox, intake, got } = open({ backOff: { fromMs: 60_000, toMs: 60_000 } });
  const asked = Promise.withResolvers<void>();
  inbox.openGaps = async () => {
    asked.resolve();
    return Promise.reject(new AwayError("the database is away"));
  };
  intake.resume();
  const handed = hand(intake, said(9), HOME);
  await asked.promise;
  intake.close();
  assert.equal(await handed, undefined);
  assert.deepEqual(got(), []);
});

test("a gap that was opened while an older one went on record is waited for", async () => {
  const { inbox, history, intake, got } = open({ holdMs: 20 });
  const noting = Promise.withResolvers<void>();
  const noted = Promise.withResolvers<void>();
  const first = Promise.withResolvers<void>();
  const second = Promise.withResolvers<void>();
  inbox.keepGap = async ({ channel, afterId }) => {
    inbox.kept.set(channel.name, afterId);
    noting.resolve();
    await noted.promise;
  };
  history.add(1, 2);
  history.pause = first.promise;
  inbox.gaps = [gapAfter(1)];
  intake.resume();
  const live = hand(intake, said(5), HOME);
  await noting.promise;
  first.resolve();
  while (inbox.closed.length === 0) await new Promise(setImmediate);
  history.pause = second.promise;
  inbox.gaps = [gapAfter(2)];
  intake.resume();
  while (history.calls.length < 2) await new Promise(setImmediate);
  noted.resolve();
  await live;
  await hand(intake, said(7), HOME);
  assert.deepEqual([...inbox.kept], [["room", "2"]]);
  assert.deepEqual(got(), ["+2", "+5", "+7"]);
  second.resolve();
  intake.close();
});

test("whoever may not say anything waits for no gap, and puts none on record, nor does a change in a direct message", async () => {
  const { inbox, history, intake, got } = open({ holdMs: 20 });
  const dm = { ...HOME, kind: "dm" as const };
  inbox.strangers.add("s");
  inbox.gaps = [gapAfter(0)];
  const { promise, resolve } = Promise.withResolvers<void>();
  history.pause = promise;
  intake.resume();
  await hand(intake, said(5, { ...dm, author: { id: "s", name: "Sly", isBot: false } }), dm);
  await hand(intake, { type: "edit", platform: "chat", id: "5", text: "new", at: new Date(0) }, dm);
  assert.deepEqual([got(), [...inbox.kept]], [["+5", "~5"], []]);
  await hand(intake, said(6, dm), dm);
  assert.deepEqual([...inbox.kept], [["room", "0"]]);
  resolve();
  intake.close();
});

describe("a change that cannot be stored just now", () => {
  const deletion = { type: "deletion", platform: "chat", id: "1", at: new Date(0) } as const;

  test("is tried again until it is, and what is said behind it does not wait for that", async () => {
    const { inbox, intake, got } = open();
    await hand(intake, said(1), HOME);
    const receive = inbox.receive.bind(inbox);
    const back = Promise.withResolvers<void>();
    let isAway = true;
    inbox.receive = async (event) => {
      if (event.type !== "message" && isAway) throw new AwayError("the database is away");
      return receive(event);
    };
    const taken = hand(intake, deletion, HOME).finally(() => back.resolve());
    await hand(intake, said(2), HOME);
    assert.deepEqual(got(), ["+1", "+2"]);
    isAway = false;
    await back.promise;
    assert.deepEqual([got(), (await taken)?.outcome], [["+1", "+2", "-1"], "accepted"]);
    intake.close();
  });

  test("waits for nothing that is missing before it", async () => {
    const { inbox, intake, got } = open();
    inbox.gapOf = async () => Promise.reject(new PlatformError("chat", "rejected", "no"));
    intake.miss("room", async () => Promise.resolve([HOME]));
    assert.equal((await hand(intake, deletion, HOME))?.outcome, "unknown_message");
    assert.deepEqual(got(), ["-1"]);
    intake.close();
  });

  test("ends with the intake, and one that cannot be stored ever is left out", async () => {
    const { inbox, intake, got } = open({ backOff: { fromMs: 60_000, toMs: 60_000 } });
    const refused = new UnstorableError("its id has 5,000 bytes");
    inbox.failures.push(refused, refused);
    assert.equal(await hand(intake, deletion, HOME), undefined);
    const away = new AwayError("the database is away");
    inbox.failures.push(away, away);
    const taken = hand(intake, deletion, HOME);
    await delay(20);
    intake.close();
    assert.equal(await taken, undefined);
    assert.deepEqual([got(), inbox.failures], [[], []]);
  });
});

test("a change is tried again whatever it fails by, but for what the log refuses for good", async () => {
  const { inbox, intake, got } = open({ backOff: { fromMs: 1, toMs: 2 } });
  const failures = [
    new AwayError("the database is away"),
    new OperatorError("The database refuses us"),
    new Error("certificate has expired"),
    new PlatformError("chat", "rejected", "no"),
  ];
  const at = new Date(0);
  inbox.failures.push(...failures);
  await hand(intake, { type: "deletion", platform: "chat", id: "7", at }, HOME);
  inbox.failures.push(...failures);
  await hand(intake, { type: "edit", platform: "chat", id: "8", text: "new", at }, HOME);
  assert.deepEqual(got(), ["-7", "~8"]);
  const refusal = new UnstorableError("an id of 3000 bytes");
  inbox.failures.push(refusal, refusal);
  assert.equal(await hand(intake, { type: "deletion", platform: "chat", id: "9", at }, HOME), undefined);
  assert.deepEqual(got(), ["-7", "~8"]);
  intake.close();
});

test("one channel's flood leaves room for what is said in others", async () => {
  const { inbox, intake } = open();
  const gate = Promise.withResolvers<void>();
  const receive = inbox.receive.bind(inbox);
  inbox.receive = async (event) => {
    if (event.channel?.name === HOME.channel.name) await gate.promise;
    return await receive(event);
  };
  intake.resume();
  const quiet = { ...HOME, channel: { platform: "chat", name: "quiet" } };
  const flood = Array.from({ length: 10_000 }, async (_, id) => hand(intake, said(id), HOME));
  const receipt = await hand(intake, said(1, quiet), quiet);
  assert.equal(receipt?.outcome, "accepted");
  intake.close();
  gate.resolve();
  await Promise.all(flood);
});
