// proves: src/channel/due-work.ts, src/core/message.ts
// Work of Weir's own that comes due is answered once, as a message that no platform knows.
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { DueWorkDesk } from "../../../src/channel/due-work.ts";
import { createTestDatabase } from "../../support/database.ts";
import { text, toolCalls } from "../../support/model-behaviours.ts";
import { startModelServer } from "../../support/model-server.ts";
import { startWeir } from "../../support/weir.ts";

const database = await createTestDatabase();
after(async () => database[Symbol.asyncDispose]());

test("work that is due is answered once, replies to nothing, and cannot be reacted to", async () => {
  await using server = await startModelServer();
  server.respond(() => text("an answer"));
  await using weir = await startWeir({
    connection: database.connection,
    modelUrl: server.url,
    config: `[[agents]]\nid = "main"\nmodel = "test-model"\n`,
  });
  const { store, waker } = weir.daemon;
  await weir.say("hello");
  await weir.event("turn_settled");
  const channel = await store.channels.find({ platform: "test", name: "room" });
  assert.ok(channel !== undefined);
  server.reply(toolCalls([{ name: "react", arguments: { emoji: "👍" } }]), text("Time for the stand-up."));
  const desk = new DueWorkDesk(store, waker);
  const at = new Date("2026-11-21T14:05:00Z");
  const work = { id: "reminder/3/1", title: "reminder 3, set by Ann", text: "stand-up", at };
  const seqs = await Promise.all([desk.add(channel.id, work), desk.add(channel.id, work)]);
  await weir.platform.until(() => weir.platform.texts("room").length === 2);
  assert.equal(await desk.add(channel.id, work), seqs[0]);
  assert.deepEqual(weir.platform.texts("room"), ["an answer", "Time for the stand-up."]);
  const settled = weir.events.flatMap((event) =>
    event.type === "turn_settled" ? [event.inReplyTo.length] : [],
  );
  assert.deepEqual(settled, [1, 0]);
  assert.equal(seqs[0], seqs[1]);
  const asked = server.requests.at(-1)?.body.messages ?? [];
  const words = asked.map(({ content }) => content ?? "").join("\n");
  assert.match(words, /\[Weir: reminder 3, set by Ann\] stand-up/);
  assert.match(words, /There is no reaction/);
});
