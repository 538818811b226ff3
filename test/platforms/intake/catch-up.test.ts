import assert from "node:assert/strict";
import { test } from "node:test";
import { gapAfter, hand, open } from "./open-intake.ts";
import { HOME, said } from "./scripted-history.ts";

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
  assert.ok(mostAhead <= 4 + 25, `${mostAhead} were read ahead`);
  assert.deepEqual(
    history.read,
    Array.from({ length: 300 }, (_, index) => String(index + 1)),
  );
});

test("where the newest messages are not to be had, the gap is filled from its beginning on all the same", async () => {
  const { inbox, history, intake, got } = open({ pageSize: 100 });
  history.newest = async () => Promise.resolve({ messages: [], isAll: false });
  history.add(...Array.from({ length: 1001 }, (_, index) => index + 1));
  inbox.gaps = [gapAfter(0)];
  intake.resume();
  await intake.idle();
  assert.equal(new Set(got()).size, 1001);
  assert.deepEqual([inbox.closed, [...inbox.absences]], [["room"], []]);
});

test("what is fetched, or was said before the connection, is read late, and what is replayed or said since is not", async () => {
  const connected = new Date(1_000_000 + 5500);
  for (const sought of ["all", "recorded"] as const) {
    const { inbox, history, intake } = open({ now: () => connected });
    history.add(1, 2);
    history.messages.push({ message: said(3), editedAt: said(4).at });
    inbox.gaps = [gapAfter(1)];
    intake.resume(sought);
    const edit = (id: number) =>
      ({ type: "edit", platform: "chat", id: String(id), text: "new", at: said(id).at }) as const;
    for (const event of [said(4), edit(4), said(6), edit(6)]) await hand(intake, event, HOME);
    await intake.idle();
    const late = inbox.events.filter((event) => "isLate" in event).map(({ type, id }) => `${type} ${id}`);
    const expected = ["message 2", "message 3", "edit 3", "message 4", "edit 4"];
    assert.deepEqual(late, sought === "all" ? expected : []);
  }
});
