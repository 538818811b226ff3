// proves: src/router/turn-roles.ts, src/router/turn-rate-limit.ts, src/router/router.ts
import assert from "node:assert/strict";
import { after, test } from "node:test";
import fc from "fast-check";
import { createTestDatabase } from "../../support/database.ts";
import { type Held, hold } from "../../support/compaction.ts";
import { text } from "../../support/model-behaviours.ts";
import { type ChatRequest, type ModelServer, startModelServer } from "../../support/model-server.ts";
import { until } from "../../support/patience.ts";
import { startWeir, type TestWeir } from "../../support/weir.ts";

const database = await createTestDatabase();
after(async () => database[Symbol.asyncDispose]());
const CONFIG = `[[agents]]\nid = "main"\nmodel = "test-model"\n`;
const LIMIT = 3;

/** A room in which each answer is written when the test says so. */
interface Room {
  say(words: string): Promise<boolean>;
  /** Lets the answer that is being written end. @returns false: none is, and none will be */
  answer(): Promise<boolean>;
  /** Says something, and waits until it is being answered. */
  begin(): Promise<void>;
  readonly turns: number;
}

let rooms = 0;

/** Of each room: the answers that a model has begun. By room, for a turn of another one must not count here. */
const begunIn = new Map<string, Held[]>();

function roomOf(request: ChatRequest): string {
  const [room] = /\brate-\d+\b/.exec(JSON.stringify(request.messages)) ?? [];
  return room ?? assert.fail("a request of no room");
}

function openRoom(weir: TestWeir): Room {
  const room = `rate-${++rooms}`;
  const author = { id: `u-${room}`, name: "Ann", isBot: false };
  const held: Held[] = [];
  begunIn.set(room, held);
  let answered = 0;
  const { channels, log } = weir.daemon.store;
  const channelId = async () => (await channels.find({ platform: "test", name: room }))?.id ?? assert.fail();
  const ends = (): number =>
    weir.events.filter((event) => event.type === "turn_settled" && event.channel === `test:${room}`).length;
  const say = async (words: string): Promise<boolean> => {
    const receipt = await weir.say(`${room}: ${words}`, { room, author });
    if (receipt.outcome !== "accepted") throw new Error(receipt.outcome);
    const [entry] = await log.read(await channelId(), receipt.seq, receipt.seq);
    return entry?.kind === "user" && entry.addressed;
  };
  return {
    say,
    async begin() {
      // A channel that is only being loaded can't say what waits in it.
      assert.ok(await say("first"));
      await until("first turn", () => held.length > 0);
    },
    async answer() {
      const id = await channelId();
      // By the log, which knows of a turn to come before the channel in memory does.
      let isQuiet = false;
      await until("turn, nor a channel without work", async () => {
        isQuiet = held.length === answered && (await channels.unfinished(id)) === null;
        return isQuiet || held.length > answered;
      });
      if (isQuiet) return false;
      const settledBefore = ends();
      held[answered++]?.release(text("an answer"));
      await until("end of the turn", () => ends() > settledBefore);
      return true;
    },
    get turns() {
      return held.length;
    },
  };
}

async function start(server: ModelServer): Promise<TestWeir> {
  server.respond((request) => {
    const next = hold();
    begunIn.get(roomOf(request))?.push(next);
    return next.behaviour;
  });
  return startWeir({
    connection: database.connection,
    modelUrl: server.url,
    config: CONFIG,
    binding: { rateLimit: LIMIT },
  });
}

test("who talks on while answers are written causes no more turns than the limit says", async () => {
  await using server = await startModelServer();
  await using weir = await start(server);
  const room = openRoom(weir);
  await room.begin();
  for (let turn = 0; turn < 33; turn++) {
    await room.say(`on and on ${turn}`);
    await room.say(`and on ${turn}`);
    await room.answer();
  }
  assert.equal(room.turns, LIMIT);
});

test("what waits behind a running turn is answered together, and counts as one", async () => {
  await using server = await startModelServer();
  await using weir = await start(server);
  const room = openRoom(weir);
  await room.begin();
  for (let more = 0; more < 10; more++) assert.ok(await room.say(`more ${more}`));
  while (await room.answer());
  assert.equal(room.turns, 2);
  assert.ok(await room.say("the third"));
  while (await room.answer());
  assert.equal(await room.say("the fourth"), false);
  assert.equal(room.turns, 3);
});

test("what comes while the channel is being loaded waits with the first message, and costs nothing", async () => {
  await using server = await startModelServer();
  await using weir = await start(server);
  const room = openRoom(weir);
  // Each is said as soon as the one before is in the log: much sooner than the channel is in memory.
  for (const words of ["one", "two", "three", "four", "five"]) assert.ok(await room.say(words), words);
  while (await room.answer());
  const first = room.turns;
  assert.ok(first <= 2, `${first} turns`);
  while (room.turns <= LIMIT + 1 && (await room.say("one more"))) {
    while (await room.answer());
  }
  // A first turn that began before all five were in the log leaves a second one, of which nobody knew whether it counts.
  assert.ok(
    room.turns === LIMIT || (first === 2 && room.turns === LIMIT + 1),
    `${room.turns} turns, first ${first}`,
  );
});

test("however messages and answers come, a minute has no more turns of a person than the limit, but for one race", async () => {
  await using server = await startModelServer();
  await using weir = await start(server);
  const step = fc.oneof(
    fc.record({ kind: fc.constant("say" as const), count: fc.integer({ min: 1, max: 4 }) }),
    fc.record({ kind: fc.constant("answer and say" as const), count: fc.integer({ min: 1, max: 4 }) }),
    fc.record({ kind: fc.constant("answer" as const), count: fc.constant(1) }),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 25 }), async (steps) => {
      const room = openRoom(weir);
      await room.begin();
      for (const { kind, count } of steps) {
        // Messages that come at once with the end of a turn may be too late for the one that was to take them.
        const answering = kind === "say" ? null : room.answer();
        if (kind !== "answer")
          await Promise.all(Array.from({ length: count }, async (_, index) => room.say(`words ${index}`)));
        await answering;
      }
      while (await room.answer());
      assert.ok(room.turns <= LIMIT + 1, `${room.turns} turns`);
    }),
    { numRuns: 15, endOnFailure: true },
  );
});
