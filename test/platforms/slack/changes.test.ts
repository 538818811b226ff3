import assert from "node:assert/strict";
import { test } from "node:test";
import { AwayError } from "../intake/away-error.ts";
import { openSlackScene } from "./slack-harness.ts";

test("a deletion is acknowledged when it is stored; where it is delivered again meanwhile, it is stored once", async () => {
  const timing = { backOff: { fromMs: 300, toMs: 300 } };
  await using scene = await openSlackScene({
    server: { ackTimeoutMs: 100, retryDelaysMs: [0, 20, 20, 20] },
    timing,
  });
  const { slack, ana, general, inbox } = scene;
  const ts = slack.world.say(ana, general, "a secret");
  await inbox.received(1);
  await slack.deliveries.idle();
  const before = slack.journal.envelopes("events_api").length;
  const away = new AwayError("The database is away.");
  inbox.failures.push(away, away);
  slack.world.remove(general, ts);
  await slack.deliveries.idle();
  assert.deepEqual(
    inbox.events.map(({ type, id }) => [type, id]),
    [
      ["message", `${general.id}/${ts}`],
      ["deletion", `${general.id}/${ts}`],
    ],
  );
  assert.ok(slack.journal.envelopes("events_api").length > before + 1);
  assert.deepEqual(slack.journal.givenUp, []);
});

test("an edit of a message with a file is stored where the database does not tell how its channel stands", async () => {
  await using scene = await openSlackScene({ server: { ackTimeoutMs: 1000, retryDelaysMs: [] } });
  const { slack, ana, general, inbox } = scene;
  const files = [slack.world.addFile(ana, "notes.txt", "buy salt")];
  const ts = slack.world.say(ana, general, "the list", { files });
  await inbox.received(1);
  inbox.policy = () => {
    throw new AwayError("The database is away.");
  };
  slack.world.edit(general, ts, "the new list");
  await inbox.received(2);
  const edit = inbox.events[1];
  assert.match(edit?.type === "edit" ? edit.text : "", /the new list/);
});
