import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { until } from "../../support/patience.ts";
import type { RecordingInbox } from "../recording-inbox.ts";
import { gapAfter, hand, open } from "./open-intake.ts";
import { HOME, said, type ScriptedHistory } from "./scripted-history.ts";

/** What is on record of the room, as the database has it. */
function recordOf(inbox: RecordingInbox): () => string | null {
  let record: string | null = null;
  const [keep, close] = [inbox.keepGap.bind(inbox), inbox.closeGap.bind(inbox)];
  inbox.keepGap = async (gap) => {
    record = gap.afterId;
    await keep(gap);
  };
  inbox.closeGap = async (channel) => {
    record = null;
    await close(channel);
  };
  return () => record;
}

/** The next page is read now, and comes when it is let go; those after it wait for `rest`. */
function holdPage(history: ScriptedHistory, rest: Promise<void>): () => void {
  const { promise, resolve } = Promise.withResolvers<void>();
  const newest = history.newest.bind(history);
  history.newest = async (where, limit) => {
    history.newest = async (...again) => {
      await rest;
      return newest(...again);
    };
    const page = await newest(where, limit);
    await promise;
    return page;
  };
  return resolve;
}

test("a slow catch-up does not take off the record what was missed in an interruption since its page", async () => {
  const { inbox, history, intake, got } = open({ holdMs: 30 });
  const record = recordOf(inbox);
  const rest = Promise.withResolvers<void>();
  history.add(1, 2);
  const letGo = holdPage(history, rest.promise);
  inbox.gaps = [gapAfter(1)];
  intake.resume();
  await hand(intake, said(3), HOME);
  intake.interrupt();
  history.add(3, 4);
  intake.resume();
  await delay(10);
  // It waits again: what was missed may come in time.
  await hand(intake, said(5), HOME);
  assert.deepEqual([got(), record()], [["+3", "+5"], "1"]);
  letGo();
  while (!got().includes("+2")) await delay(1);
  await delay(20);
  // What a crash would find now.
  assert.deepEqual([got(), record()], [["+3", "+5", "+2"], "1"]);
  rest.resolve();
  await intake.idle();
  assert.deepEqual([[...new Set(got())], record()], [["+3", "+5", "+2", "+4"], null]);
  intake.close();
});

test("where it is over before the next event, what was missed since its page comes first", async () => {
  const { inbox, history, intake, got } = open({ holdMs: 30 });
  const letGo = holdPage(history, Promise.resolve());
  history.add(1, 2);
  inbox.gaps = [gapAfter(1)];
  intake.resume();
  await hand(intake, said(3), HOME);
  history.add(3, 4);
  intake.resume();
  await delay(10);
  const live = hand(intake, said(5), HOME);
  letGo();
  await live;
  assert.deepEqual([...new Set(got())], ["+3", "+2", "+4", "+5"]);
  intake.close();
});

/** A catch-up that is slow, and a connection that is lost meanwhile and has missed a deletion. */
function lostWhileWaiting(options: Parameters<typeof open>[0] = {}) {
  const opened = open(options);
  const { inbox, history, intake } = opened;
  const rest = Promise.withResolvers<void>();
  history.add(1);
  inbox.gaps = [gapAfter(1)];
  const letGo = holdPage(history, rest.promise);
  let looks = 0;
  inbox.gapOf = async () => {
    looks++;
    return Promise.resolve(gapAfter(3));
  };
  intake.resume();
  return {
    ...opened,
    looks: () => looks,
    reconnect: () => {
      intake.interrupt();
      history.add(3);
      intake.resume();
      letGo();
      rest.resolve();
    },
  };
}

test("a message that still waits when the connection is lost, and is deleted before the next one, is deleted", async () => {
  const { intake, got, reconnect } = lostWhileWaiting();
  const waiting = hand(intake, said(2), HOME);
  await delay(10);
  reconnect();
  await waiting;
  await until("deletion", () => got().includes("-2"));
  assert.deepEqual([...new Set(got())], ["+3", "+2", "-2"]);
  intake.close();
});

test("so is one that waits to be read", async () => {
  const { intake, got, reconnect } = lostWhileWaiting();
  const reading = Promise.withResolvers<void>();
  const waiting = intake.hand({
    lane: HOME.channel.name,
    read: async () => {
      await reading.promise;
      return [{ event: said(2), home: HOME }];
    },
    kind: "message",
    name: HOME.channel.name,
    where: async () => [HOME],
    isFetchedIfUnread: true,
  });
  await delay(10);
  reconnect();
  reading.resolve();
  await waiting;
  await until("deletion", () => got().includes("-2"));
  intake.close();
});

test("however many wait, the channel is looked at once more, and for none that leaves no trace", async () => {
  const { inbox, intake, looks, reconnect } = lostWhileWaiting();
  inbox.strangers.add("stranger");
  const author = { id: "stranger", name: "Eve", isBot: false };
  const many = Array.from({ length: 100 }, (_, index) => said(100 + index));
  const waiting = many.map(async (one) => hand(intake, one, HOME));
  const other = { ...HOME, channel: { platform: "chat", name: "other" } };
  const ignored = [HOME, other].map(async (home, index) => hand(intake, said(300 + index, { author }), home));
  await delay(10);
  reconnect();
  await Promise.all([...waiting, ...ignored]);
  await until("look", () => looks() > 0);
  await intake.idle();
  assert.equal(looks(), 1);
  intake.close();
});
