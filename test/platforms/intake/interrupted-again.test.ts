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

test("a message that still waits when the connection is lost, and is deleted before the next one, is deleted", async () => {
  const { inbox, history, intake, got } = open();
  const rest = Promise.withResolvers<void>();
  history.add(1);
  inbox.gaps = [gapAfter(1)];
  const letGo = holdPage(history, rest.promise);
  intake.resume();
  inbox.gapOf = async () => Promise.resolve(gapAfter(3));
  const waiting = hand(intake, said(2), HOME);
  await delay(10);
  intake.interrupt();
  history.add(3);
  intake.resume();
  letGo();
  rest.resolve();
  await waiting;
  await until("deletion", () => got().includes("-2"));
  assert.deepEqual([...new Set(got())], ["+3", "+2", "-2"]);
  intake.close();
});
