// proves: src/channel/turns/turn-attempts.ts, src/channel/actor.ts
/** What counts as an attempt at a turn: what it fails by itself, and no trouble of the world around it. */
// proves: src/channel/turns/turn-attempts.ts
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { openStore, type OpenStore } from "../../store/open-store.ts";
import { createTestDatabase } from "../../support/database.ts";
import { text } from "../../support/model-behaviours.ts";
import { startModelServer } from "../../support/model-server.ts";
import { startWeir } from "../../support/weir.ts";

const database = await createTestDatabase();
after(async () => database[Symbol.asyncDispose]());
const CONFIG = `[[agents]]\nid = "main"\nmodel = "test-model"\n`;

/** Lets the first settlements of turns fail with this SQLSTATE. A sequence remembers over the rollback of what drew from it. */
async function failSettlements(outside: OpenStore, times: number, code: string): Promise<AsyncDisposable> {
  await outside.db.script(`
    create sequence settlements;
    create function refuse_settlement() returns trigger language plpgsql as $$
    begin
      if nextval('settlements') <= ${times} then raise exception 'not now' using errcode = '${code}'; end if;
      return new;
    end $$;
    create trigger refuse_settlement before update of state on turns for each row execute function refuse_settlement()`);
  return {
    [Symbol.asyncDispose]: async () =>
      outside.db.script(
        "drop trigger refuse_settlement on turns; drop function refuse_settlement; drop sequence settlements",
      ),
  };
}

for (const [what, code] of [
  ["a full disk", "53100"],
  ["a database that is shut down", "57P01"],
  ["one that takes no writes", "25006"],
] as const) {
  test(`${what} uses up no attempt: the turn is answered when that is over`, async () => {
    await using server = await startModelServer();
    await using outside = openStore(database.connection);
    await using weir = await startWeir({
      connection: database.connection,
      modelUrl: server.url,
      config: CONFIG,
    });
    server.respond(() => text("here it is"));
    await using _ = await failSettlements(outside, 3, code);
    await weir.say("are you there?", { room: `away-${code}` });
    const { outcome } = await weir.event("turn_settled", ({ channel }) => channel === `test:away-${code}`);
    assert.equal(outcome, "answered");
    await weir.platform.until(() => weir.platform.texts(`away-${code}`).length > 0);
    assert.deepEqual(weir.platform.texts(`away-${code}`), ["here it is"]);
  });
}

test("a turn that fails by itself three times is settled with a plain sentence", async () => {
  await using server = await startModelServer();
  await using outside = openStore(database.connection);
  await using weir = await startWeir({
    connection: database.connection,
    modelUrl: server.url,
    config: CONFIG,
  });
  server.respond(() => text("never seen"));
  await using _ = await failSettlements(outside, 3, "P0001");
  await weir.say("poison", { room: "poison" });
  const { outcome, reason } = await weir.event("turn_settled", ({ channel }) => channel === "test:poison");
  assert.deepEqual([outcome, reason], ["failed", "gave up: it failed 3 times by itself"]);
  assert.equal(server.requests.length, 3);
  await weir.platform.until(() => weir.platform.texts("poison").length > 0);
  assert.match(weir.platform.texts("poison")[0] ?? "", /^Sorry, I tried several times/);
});

test("a turn that ten processes have ended over is settled with a plain sentence, and asks no model", async () => {
  await using server = await startModelServer();
  await using outside = openStore(database.connection);
  const { id, epoch } = await outside.channel("deadly");
  const seq = await outside.say(id, "what kills");
  const turn = await outside.store.turns.begin({ channel: id, epoch }, seq, seq);
  assert.ok(turn !== null);
  // The eleventh start finds out that the tenth has not settled, either.
  await outside.sql("update turns set attempts = 10, deaths = 9 where id = $1", turn.id);
  await using weir = await startWeir({
    connection: database.connection,
    modelUrl: server.url,
    config: CONFIG,
  });
  const { reason } = await weir.event("turn_settled", ({ channel }) => channel === "test:deadly");
  assert.equal(reason, "gave up: 10 processes ended over it");
  assert.equal(server.requests.length, 0);
});

test("a turn that several processes have ended over waits before it is begun again, and /stop does not", async () => {
  await using server = await startModelServer();
  await using outside = openStore(database.connection);
  const { id, epoch } = await outside.channel("resting");
  const seq = await outside.say(id, "what may kill");
  const turn = await outside.store.turns.begin({ channel: id, epoch }, seq, seq);
  assert.ok(turn !== null);
  await outside.sql("update turns set deaths = 8 where id = $1", turn.id);
  await using weir = await startWeir({
    connection: database.connection,
    modelUrl: server.url,
    config: CONFIG,
  });
  const actor = await weir.daemon.registry.get(id);
  await actor.idle();
  assert.equal(
    weir.events.some(({ type }) => type === "turn_started"),
    false,
    "it is not begun yet",
  );
  assert.equal(actor.isIdle, false, "nor forgotten");
  assert.equal(actor.stop(), true);
  const { outcome } = await weir.event("turn_settled", ({ channel }) => channel === "test:resting");
  assert.equal(outcome, "stopped");
  assert.equal(server.requests.length, 0);
});
