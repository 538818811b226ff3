// proves: src/turn/turn.ts, src/store/log/draft-rows.ts, src/store/log/entry-rows.ts
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { isOfStandIn } from "../../../src/core/history.ts";
import { createTestDatabase } from "../../support/database.ts";
import { text } from "../../support/model-behaviours.ts";
import { startModelServer } from "../../support/model-server.ts";
import { startWeir } from "../../support/weir.ts";

const database = await createTestDatabase();
after(async () => database[Symbol.asyncDispose]());

const { connection } = database;

test("a model is shown what people said to the stand-in, and nothing of the stand-in's", async () => {
  const room = { room: "stand-in" };
  {
    await using offline = await startWeir({ connection, modelUrl: "" });
    // It searches for this one before it answers.
    for (const said of [
      "The tide at the pier turns at five.",
      "Where do penguins sleep?",
      "When does the tide turn?",
    ]) {
      await offline.say(said, room);
      await offline.event(
        "turn_settled",
        () => offline.events.filter(({ type }) => type === "turn_settled").length > 0,
      );
      offline.events.length = 0;
    }
  }
  await using server = await startModelServer();
  server.respond(() => text("At five."));
  await using weir = await startWeir({ connection, modelUrl: server.url });
  await weir.say("And what of the tide?", room);
  await weir.event("turn_settled");
  const { messages } = server.requests.at(-1)?.body ?? {};
  const sent = JSON.stringify(messages);
  for (const said of ["turns at five", "penguins sleep", "When does the tide turn", "what of the tide"])
    assert.ok(sent.includes(said), said);
  assert.doesNotMatch(sent, /language model|This is noted/);
  assert.ok(
    messages?.every(({ role }) => role === "system" || role === "user"),
    sent,
  );
  const channel = await weir.daemon.store.channels.find({ platform: "test", name: room.room });
  assert.ok(channel !== undefined);
  const entries = await weir.daemon.store.log.read(channel.id, 1, 100);
  assert.deepEqual(
    entries.filter(isOfStandIn).map(({ kind }) => kind),
    ["assistant", "tool_call", "tool_result", "assistant", "assistant"],
  );
  const last = entries.findLast(({ kind }) => kind === "assistant");
  assert.ok(last !== undefined && !isOfStandIn(last));
});
