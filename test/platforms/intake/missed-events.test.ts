import assert from "node:assert/strict";
import { test } from "node:test";
import type { ChannelOnPlatform } from "../../../src/core/message.ts";
import { AwayError } from "./away-error.ts";
import { gapAfter, hand, open } from "./open-intake.ts";
import { HOME, said } from "./scripted-history.ts";

const OTHER: ChannelOnPlatform = { ...HOME, channel: { platform: "chat", name: "other" } };

test("an event that cannot be stored opens the gap of its channel alone, and no other waits for it", async () => {
  const { inbox, history, intake, got } = open();
  history.add(1);
  inbox.gaps = [gapAfter(1), { ...OTHER, afterId: "1" }];
  intake.resume();
  await intake.idle();
  assert.deepEqual(inbox.closed, ["room", "other"]);
  let looks = 0;
  inbox.openGaps = async () => {
    looks += 1;
    return Promise.resolve([]);
  };
  const { promise, resolve } = Promise.withResolvers<void>();
  const gapOf = inbox.gapOf.bind(inbox);
  inbox.gapOf = async (channel) => {
    await promise;
    return gapOf(channel);
  };
  inbox.failures.push(new AwayError("the database is away"));
  history.add(2);
  assert.equal(await hand(intake, said(2), HOME), undefined);
  await hand(intake, { ...said(4), ...OTHER }, OTHER);
  assert.deepEqual(got(), ["+4"]);
  resolve();
  await hand(intake, said(3), HOME);
  assert.deepEqual(got(), ["+4", "+2", "+3"]);
  assert.deepEqual(inbox.closed, ["room", "other", "room"]);
  assert.equal(looks, 0);
  intake.close();
});

test("its gap is found later, where the database is away for longer", async () => {
  const { inbox, history, intake, got } = open();
  intake.resume();
  await intake.idle();
  inbox.gaps = [gapAfter(1)];
  let asked = 0;
  const gapOf = inbox.gapOf.bind(inbox);
  inbox.gapOf = async (channel) => {
    asked += 1;
    if (asked < 3) throw new AwayError("the database is away");
    return gapOf(channel);
  };
  history.add(1, 2);
  intake.miss("room", () => assert.fail("it is in the log where that is"));
  await inbox.received(1);
  assert.deepEqual([asked, got()], [3, ["+2"]]);
  intake.close();
});

test("a later event of a channel that nobody can find just now tells where it is", async () => {
  const { inbox, history, intake, got } = open({ holdMs: 60_000 });
  intake.resume();
  await intake.idle();
  inbox.mark = said(0).at;
  history.add(1);
  intake.miss("room", async () => new Promise(() => undefined));
  await hand(intake, said(2), HOME);
  assert.deepEqual(got(), ["+1", "+2"]);
  intake.close();
});

test("of a channel of which very much is missing, what is missing is looked for once", async () => {
  const { inbox, intake } = open();
  inbox.mark = said(0).at;
  const { promise, resolve } = Promise.withResolvers<void>();
  inbox.gapOf = async () => {
    await promise;
    return null;
  };
  let asked = 0;
  const home = async (): Promise<readonly ChannelOnPlatform[]> => {
    asked += 1;
    return Promise.resolve([HOME]);
  };
  for (let index = 0; index < 1000; index++) intake.miss("room", home);
  resolve();
  while (inbox.closed.length < 1) await new Promise(setImmediate);
  await intake.idle();
  assert.equal(asked, 1);
  intake.miss("room", home);
  while (inbox.closed.length < 2) await new Promise(setImmediate);
  assert.equal(asked, 2);
  intake.close();
});

test("a message that cannot be read now is fetched before later messages, unless a fetch would fail as well", async () => {
  const { inbox, history, intake, got } = open();
  history.add(1);
  inbox.gaps = [gapAfter(1)];
  intake.resume();
  await intake.idle();
  const arrive = async (failure: Error, isFetchedIfUnread: boolean): Promise<void> =>
    assert.rejects(
      intake.hand({
        lane: "room",
        read: async () => Promise.reject(failure),
        kind: "message",
        name: "room",
        where: async () => Promise.resolve([HOME]),
        isFetchedIfUnread,
      }),
      failure,
    );
  await arrive(new AwayError("away"), false);
  await arrive(new Error("of an unknown kind"), true);
  await hand(intake, said(3), HOME);
  assert.deepEqual([got(), inbox.closed], [["+3"], ["room"]]);
  history.add(4);
  const read = arrive(new AwayError("away"), true);
  await Promise.all([read, hand(intake, said(5), HOME)]);
  assert.deepEqual(
    [got(), inbox.closed],
    [
      ["+3", "+4", "+5"],
      ["room", "room"],
    ],
  );
  intake.close();
});
