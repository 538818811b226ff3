// proves: src/router/storable-event.ts, src/store/database/errors.ts
/** Whose fault it is that a message is not stored decides whether it is left out, or comes later. */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { UnstorableError, WeirError } from "../../../src/core/errors.ts";
import { openStore } from "../../store/open-store.ts";
import { createTestDatabase } from "../../support/database.ts";
import { text } from "../../support/model-behaviours.ts";
import { startModelServer } from "../../support/model-server.ts";
import { startWeir } from "../../support/weir.ts";

const database = await createTestDatabase();
const outside = openStore(database.connection);
after(async () => {
  await outside[Symbol.asyncDispose]();
  await database[Symbol.asyncDispose]();
});

const REFUSALS = {
  "the log's own rules": "raise check_violation using table = 'entries'",
  "the kind of a value": "raise numeric_value_out_of_range",
  "the size of a value": "raise program_limit_exceeded",
};
const FAILURES = {
  "a fault in the database": "raise internal_error",
  "a schema that is not what it was": "raise undefined_column",
  "a rule of another table": "raise check_violation using table = 'turns'",
  "a right that was taken away": "raise insufficient_privilege",
  "what nobody knows": "raise exception 'oh' using errcode = 'ZZ999'",
};

async function fail(how: string): Promise<void> {
  await outside.sql(`create or replace function refuse() returns trigger language plpgsql as $$
    begin if new.text like 'guilty%' then ${how}; end if; return new; end $$`);
}
await fail("null");
await outside.sql("create trigger refuse before insert on entries for each row execute function refuse()");

await using model = await startModelServer();
model.respond(() => text("noted", { usage: "none" }));

for (const [why, how] of Object.entries(REFUSALS)) {
  test(`a message that ${why} refuses is refused for good`, async () => {
    await using weir = await startWeir({ connection: database.connection, modelUrl: model.url });
    await fail(how);
    await assert.rejects(weir.say("guilty"), (error) => {
      assert.ok(error instanceof UnstorableError);
      // By which rule; no word of what was said.
      assert.match(error.message, /^The database refuses a value of the message \([0-9A-Z]{5}\)\.$/);
      return true;
    });
  });
}

for (const [why, how] of Object.entries(FAILURES)) {
  test(`a message that fails by ${why} may come later, and does, and takes none beside it along`, async () => {
    await using weir = await startWeir({ connection: database.connection, modelUrl: model.url });
    await fail(how);
    const late = { room: why, id: why, addressed: false };
    const beside = Array.from({ length: 5 }, async (_, index) =>
      weir.say("innocent", { room: why, id: `${why} ${index}`, addressed: false }),
    );
    await assert.rejects(
      weir.say("guilty", late),
      (error) => error instanceof WeirError && !(error instanceof UnstorableError) && error.retryable,
    );
    for (const { outcome } of await Promise.all(beside)) assert.equal(outcome, "accepted");
    await fail("null");
    assert.equal((await weir.say("guilty", late)).outcome, "accepted");
  });
}

test("a channel that cannot be woken for a reason that nobody knows is woken when that is over", async () => {
  const failed = Promise.withResolvers<void>();
  await using weir = await startWeir({
    connection: database.connection,
    modelUrl: model.url,
    onLog: (line) => line.includes("wake_failed") && failed.resolve(),
  });
  await outside.sql("alter table deliveries rename to deliveries_away");
  await weir.say("hello", { room: "asleep", id: "asleep" });
  await failed.promise;
  await outside.sql("alter table deliveries_away rename to deliveries");
  await weir.event("turn_settled", ({ inReplyTo }) => inReplyTo.includes("asleep"));
});
