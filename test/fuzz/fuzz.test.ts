import assert from "node:assert/strict";
import { suite, test } from "node:test";
import type { ModelMessage } from "../../src/core/context.ts";
import { findUnpaired } from "./checks/i5-pairs.ts";
import { INVARIANTS, MUTANTS } from "./mutants/mutants.ts";
import { type Outcome, runSchedule } from "./run-seed.ts";
import { parseOptions } from "./options.ts";
import { formatPlaces, parsePlaces } from "./step-places.ts";
import { makeSchedule } from "./composer.ts";
import { shrink } from "./shrink.ts";
import { World } from "./world.ts";
import { createTestDatabase } from "../support/database.ts";
import { UsageError } from "../support/usage.ts";

/** `npm run fuzz` does as much, and much more of it. */
const STEPS = 150;

async function run(seed: number, mutantName: string | null = null): Promise<Outcome> {
  const mutant = MUTANTS.find(({ name }) => name === mutantName) ?? null;
  return runSchedule(seed, makeSchedule(seed, STEPS), mutant);
}

suite("a random schedule", () => {
  test("with crashes and a bad summariser breaks no invariant", async () => {
    const { violations, tally } = await run(1);
    assert.deepEqual(violations, []);
    assert.ok(tally.commits >= 5 && tally.crashes >= 1 && tally.prompts >= 30, JSON.stringify(tally));
    assert.ok(tally.cuts >= 1, JSON.stringify(tally));
  });

  test("is the same for the same seed", () => {
    assert.deepEqual(makeSchedule(3, 500), makeSchedule(3, 500));
    assert.notDeepEqual(makeSchedule(3, 500), makeSchedule(4, 500));
  });
});

suite("a Weir that is wrong", () => {
  for (const [name, invariants] of [
    ["replace all", ["I2", "I4"]],
    ["memory apart from its summary", ["I11"]],
  ] as const) {
    test(`is found out: ${name}`, async () => {
      const { violations } = await run(1, name);
      const found = violations.map(({ invariant }) => invariant);
      assert.ok(
        found.some((one) => invariants.some((wanted) => wanted === one)),
        `found: ${found.join(", ")}`,
      );
    });
  }
});

suite("a run that hangs", () => {
  test("lets go of its database, whatever holds its connections", { timeout: 120_000 }, async () => {
    await using database = await createTestDatabase();
    const world = new World(database.connection, 1, null);
    await world.open();
    const { promise: lent, resolve } = Promise.withResolvers<void>();
    const held = world.probe.session(async (client) => {
      resolve();
      return client.query({ name: "", text: "select pg_sleep(600)" });
    });
    const cut = assert.rejects(held);
    await lent;
    await world[Symbol.asyncDispose]();
    await database[Symbol.asyncDispose]();
    await cut;
  });
});

suite("a look at a history", () => {
  test("ends where the incarnation dies over a change of it", { timeout: 120_000 }, async () => {
    await using database = await createTestDatabase();
    await using world = new World(database.connection, 1, null);
    await world.open();
    const [room] = world.rooms;
    assert(room !== undefined);
    const incarnation = await world.start();
    const { history } = await incarnation.channels.registry.get(room.id);
    incarnation.arm({ at: "database", statement: "", when: "before", nth: 1 });
    void history.reload();
    assert.equal(incarnation.isDead, false);
    await world.compareMemory(room);
    assert.equal(incarnation.isDead, true);
  });
});

suite("the mutants", () => {
  test("break each invariant", () => {
    const broken = new Set(MUTANTS.flatMap(({ breaks }) => breaks));
    assert.deepEqual(broken.difference(new Set(INVARIANTS)), new Set());
    assert.deepEqual(
      INVARIANTS.filter((invariant) => !broken.has(invariant)),
      [],
    );
  });
});

suite("a failing schedule", () => {
  test("shrinks to the steps that make it fail", async () => {
    const places = Array.from({ length: 100 }, (_, index) => index);
    const fails = async (kept: readonly number[]): Promise<number | null> =>
      kept.includes(17) && kept.includes(71) ? kept.indexOf(71) : null;
    assert.deepEqual(await shrink(places, fails, 10_000), [17, 71]);
  });

  test("is named by its places", () => {
    for (const places of [[0], [0, 1, 2, 5], [3, 4, 9, 11, 12]])
      assert.deepEqual(parsePlaces(formatPlaces(places), 13), places);
    assert.equal(formatPlaces([0, 1, 2, 5, 7, 8]), "0-2,5,7-8");
  });

  test("of which nothing would be run is refused, and not called a success", () => {
    for (const keep of ["5-2", "1-2-3", "99999", "0-99999999999", "x", ""])
      assert.throws(() => parseOptions(["--keep", keep]), UsageError, keep);
    assert.throws(() => parseOptions(["--mutants", "--keep", "0-4"]), UsageError);
    assert.deepEqual(parseOptions(["--keep", "0-2,9"]).keep, [0, 1, 2, 9]);
  });
});

suite("a prompt", () => {
  const call = (id: string): ModelMessage => ({
    role: "assistant",
    text: "",
    calls: [{ id, name: "search_history", arguments: "{}" }],
  });
  const result = (callId: string): ModelMessage => ({ role: "tool", callId, text: "found" });
  const user: ModelMessage = { role: "user", text: "hello" };

  test("has each call directly followed by its results", () => {
    assert.deepEqual(findUnpaired([user, call("a"), result("a"), user]), []);
    for (const messages of [
      [call("a"), user, result("a")],
      [result("a")],
      [call("a")],
      [call("a"), result("b")],
    ]) {
      assert.notDeepEqual(findUnpaired(messages), []);
    }
  });
});
