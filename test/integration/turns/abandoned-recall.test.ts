// proves: src/channel/turns/turn-recall.ts, src/store/database/look-ups.ts
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { LOOKED_UP_WITHIN_MS } from "../../../src/channel/turns/turn-recall.ts";
import { openStore, type OpenStore } from "../../store/open-store.ts";
import { createTestDatabase } from "../../support/database.ts";
import { text, toolCalls } from "../../support/model-behaviours.ts";
import { startModelServer } from "../../support/model-server.ts";
import { LOOK_UP_WITHIN_MS, startWeir } from "../../support/weir.ts";

const database = await createTestDatabase();
after(async () => database[Symbol.asyncDispose]());
const CONFIG = `[[agents]]\nid = "main"\nmodel = "test-model"\n`;
/** More than the daemon has connections. */
const ROOMS = Array.from({ length: 16 }, (_, index) => `room-${index}`);
const LOOK_UPS = `pg_stat_activity where datname = current_database() and state = 'active' and pid <> pg_backend_pid()
                  and application_name = 'weir recall'`;

/**
 * A daemon whose rooms have something to recall, while every look-up of entries takes for ever, until `release`.
 * @param lookUpWithinMs longest wait of a turn for what it looks up, ms
 */
async function openScene(rooms: readonly string[], lookUpWithinMs = LOOKED_UP_WITHIN_MS) {
  await using stack = new AsyncDisposableStack();
  const outside = stack.use(openStore(database.connection));
  for (const room of rooms) {
    const { id } = await outside.channel(room);
    for (const said of ["the parrot is called Archibald", "and it talks", "so it does"])
      await outside.say(id, said, { addressed: false, id: `${room}-${said}` });
    await outside.sql("update channels set omitted_to = 2 where id = $1", id);
    await outside.store.search.indexAll([id], 100);
  }
  const server = stack.use(await startModelServer());
  const weir = stack.use(
    await startWeir({
      connection: database.connection,
      modelUrl: server.url,
      config: CONFIG,
      lookUpWithinMs,
    }),
  );
  const isHeld = Promise.withResolvers<void>();
  const isOver = Promise.withResolvers<void>();
  const lock = outside.db.transaction(async (client) => {
    await client.query("", "lock table entry_search in access exclusive mode");
    isHeld.resolve();
    await isOver.promise;
  });
  const release = async (): Promise<void> => {
    isOver.resolve();
    await lock;
  };
  stack.defer(release);
  await isHeld.promise;
  const kept = stack.move();
  return {
    outside,
    server,
    weir,
    release,
    [Symbol.asyncDispose]: async () => kept.disposeAsync(),
  };
}

/** Resolves when no look-up of entries is left on the server. */
async function untilIdle(outside: OpenStore): Promise<void> {
  while ((await outside.sql(`select pid from ${LOOK_UPS}`)).length > 0) await delay(5);
}

test("recalls that never end keep no channel from its answer, and end with their turns", async () => {
  await using scene = await openScene(ROOMS);
  const { weir, outside } = scene;
  scene.server.respond(() => text("no idea"));
  await Promise.all(ROOMS.map(async (room) => weir.say("what is the parrot called?", { room })));
  await weir.platform.until(() => ROOMS.every((room) => weir.platform.texts(room).length === 1));
  for (const { body } of scene.server.requests)
    assert.doesNotMatch(JSON.stringify(body), /Looked up: nothing/, "it was not looked up to the end");
  await untilIdle(outside);
});

test("who may wait longer is told what is found late", async () => {
  await using scene = await openScene(["patient"], LOOK_UP_WITHIN_MS);
  const { weir, server } = scene;
  server.respond(() => text("Archibald"));
  const question = "what is the parrot called?";
  const asked = (): string[] =>
    server.requests.map(({ body }) => JSON.stringify(body)).filter((body) => body.includes(question));
  await weir.say(question, { room: "patient" });
  await delay(2 * LOOKED_UP_WITHIN_MS);
  assert.deepEqual(asked(), []);
  await scene.release();
  await weir.platform.until(() => weir.platform.texts("patient").length === 1);
  assert.match(asked().join(), /the parrot is called Archibald/);
});

test("a model that asks for many searches at once is served two at a time, and /stop ends them on the server", async () => {
  await using scene = await openScene(["greedy"]);
  const { weir, outside } = scene;
  const calls = Array.from({ length: 16 }, (_, index) => ({
    name: "search_history",
    arguments: { query: `parrot ${index}` },
  }));
  scene.server.respond(() => toolCalls(calls));
  await weir.say("what is the parrot called?", { room: "greedy" });
  let most = 0;
  let looks = 0;
  // Some looks more, so that a third one would have had the time to come.
  while (most < 2 || looks < 20) {
    const running = await outside.sql(`select pid from ${LOOK_UPS}`);
    most = Math.max(most, running.length);
    if (most >= 2) looks++;
    await delay(5);
  }
  assert.equal(most, 2);
  await weir.daemon.inbox.command({
    channel: { platform: "test", name: "greedy" },
    name: "stop",
    argument: "",
    asker: { id: "u-ann", name: "Ann", roles: [] },
  });
  await untilIdle(outside);
  const settled = await weir.event("turn_settled", ({ channel }) => channel === "test:greedy");
  assert.equal(settled.outcome, "stopped");
});
