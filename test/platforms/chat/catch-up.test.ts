import assert from "node:assert/strict";
import { test } from "node:test";
import { type CaughtUp, catchUp } from "../../../src/platforms/chat/catch-up.ts";
import { RecordingInbox } from "../recording-inbox.ts";
import { gapAfter, HOUR_MS, open } from "./open-intake.ts";
import { ScriptedHistory } from "./scripted-history.ts";

test("what was missed is read a few at a time, in order, however much is handed in slowly", async () => {
  const { inbox, history, intake } = open({ pageSize: 100 });
  history.add(...Array.from({ length: 300 }, (_, index) => index + 1));
  inbox.gaps = [gapAfter(0)];
  let taken = 0;
  let mostAhead = 0;
  inbox.onEvent = () => {
    taken += 1;
    mostAhead = Math.max(mostAhead, history.read.length - taken);
  };
  intake.resume();
  await intake.idle();
  assert.equal(taken, 300);
  assert.ok(mostAhead <= 4, `${mostAhead} were read ahead`);
  assert.deepEqual(
    history.read,
    Array.from({ length: 300 }, (_, index) => String(index + 1)),
  );
});

test("where the newest messages are not to be had and more was said than is fetched, that is not the whole", async () => {
  const inbox = new RecordingInbox();
  const history = new ScriptedHistory(100);
  history.newest = async () => Promise.resolve({ messages: [], isAll: false });
  const parts = { inbox, history, now: () => new Date(), maxAgeMs: HOUR_MS };
  const caughtUp = async (): Promise<CaughtUp> =>
    catchUp({ ...parts, receive: async (event) => inbox.receive(event) }, gapAfter(0));
  history.add(...Array.from({ length: 999 }, (_, index) => index + 1));
  assert.deepEqual(await caughtUp(), { messages: 999, isWhole: true });
  history.add(1000, 1001);
  assert.deepEqual(await caughtUp(), { messages: 1000, isWhole: false });
});
