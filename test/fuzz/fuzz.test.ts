import assert from "node:assert/strict";
import { after, before, suite, test } from "node:test";
import type { ModelMessage } from "../../src/core/context.ts";
import { findUnpaired } from "./checks/i5-pairs.ts";
import { INVARIANTS, MUTANTS } from "./mutants/mutants.ts";
import { type Outcome, runSchedule } from "./run-seed.ts";
import { parseOptions } from "./options.ts";
import { formatPlaces, parsePlaces } from "./step-places.ts";
import { makeSchedule } from "./composer.ts";
import { shrink } from "./shrink.ts";
import { createSimDatabase, SET_TIME } from "./sim/sim-database.ts";
import { addTally, newTally } from "./tally.ts";
import { WorkerPool } from "./worker-pool.ts";
import { World } from "./world.ts";
import { createTestDatabase, withClient } from "../support/database.ts";
import { UsageError } from "../support/usage.ts";

/** `npm run fuzz` does as much, and much more of it. */
const SEEDS = 4;
const STEPS = 150;

/** So many steps of a seed's schedule, of another part of it for each seed, and the last, behind which all must be settled. */
function placesOf(seed: number): number[] {
  const { length } = makeSchedule(seed, STEPS);
  const from = Math.round((seed - 1) * ((length - STEPS) / (SEEDS - 1)));
  return [...Array.from({ length: STEPS - 1 }, (_, index) => from + index), length - 1];
}

let pool: WorkerPool;
before(async () => {
  pool = await WorkerPool.open(2, false);
});
after(async () => pool[Symbol.asyncDispose]());

async function run(
  seed: number,
  mutant: string | null = null,
  keep: number[] | null = null,
): Promise<Outcome> {
  return pool.run({ seed, steps: STEPS, keep, mutant, isWild: false });
}

suite("a random schedule", () => {
  test("with crashes and a bad summariser breaks no invariant, and is the same when it is run again", async () => {
    const seeds = Array.from({ length: SEEDS }, (_, index) => index + 1);
    const ran = async (seed: number): Promise<Outcome> => run(seed, null, placesOf(seed));
    const [outcomes, again] = await Promise.all([Promise.all(seeds.map(ran)), Promise.all(seeds.map(ran))]);
    const sum = newTally();
    for (const [index, { violations, tally }] of outcomes.entries()) {
      assert.deepEqual(violations, [], `seed ${index + 1}`);
      addTally(sum, tally);
    }
    for (const [index, { simulation }] of again.entries())
      assert.equal(outcomes[index]?.simulation?.trace, simulation?.trace, `seed ${index + 1}`);
    const { commits, crashes, prompts, cuts } = sum;
    assert.ok(commits >= 50 && crashes >= 10 && prompts >= 200 && cuts >= 1, JSON.stringify(sum));
  });

  test("that something decides which no simulation knows of is not the same", async () => {
    const planted = "a decision by the machine's clock";
    const few = placesOf(1).slice(0, 50);
    // Two may decide alike by chance; that eight do is less likely than one in thousands.
    const traces = new Set<string | undefined>();
    for (let runs = 0; runs < 8 && traces.size < 2; runs += 2) {
      const outcomes = await Promise.all([run(1, planted, few), run(1, planted, few)]);
      for (const { simulation } of outcomes) traces.add(simulation?.trace);
    }
    assert.ok(traces.size > 1);
  });

  test("in real time breaks no invariant", async () => {
    const { violations, tally } = await runSchedule(1, makeSchedule(1, STEPS).slice(0, STEPS));
    assert.deepEqual(violations, []);
    assert.ok(tally.prompts >= 10, JSON.stringify(tally));
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

suite("the clock of a simulated database", () => {
  test("goes on, however often it is looked at in a moment, and whatever the simulation is at", async () => {
    await using database = await createSimDatabase(false);
    await withClient(database.connection, async (client) => {
      const setTo = async (ms: number): Promise<void> => void (await client.query(SET_TIME, [ms]));
      const look = async (times: number): Promise<number[]> => {
        const sql =
          "select (extract(epoch from clock_timestamp()) * 1000000)::float8 as us from generate_series(1, $1)";
        return (await client.query<{ us: number }>(sql, [times])).rows.map(({ us }) => us);
      };
      await setTo(5000);
      const looks = await look(2500);
      await setTo(5001);
      looks.push(...(await look(1)));
      await setTo(6000);
      looks.push(...(await look(1)));
      assert.deepEqual(looks.slice(0, 2), [5_000_001, 5_000_002]);
      assert.ok(looks.every((at, index) => index === 0 || at > (looks[index - 1] ?? 0)));
      assert.equal(looks.at(-1), 6_000_001);
    });
  });
});

suite("a place inside a function", () => {
  test("that a transaction has passed can be one to stop at again, without a wait for its end", async () => {
    await using database = await createSimDatabase(true);
    await withClient(database.connection, async (client) => {
      await client.query("begin");
      const { rows: passed } = await client.query<{ pid: number }>(
        "select pg_backend_pid() as pid where not sim_stop(7)",
      );
      await withClient(database.connection, async (side) => {
        const { rows } = await side.query("select pg_try_advisory_lock(7, $1) as free", [passed[0]?.pid]);
        assert.deepEqual(rows, [{ free: true }]);
      });
    });
  });
});

suite("a run that hangs", () => {
  test("lets go of its database, whatever holds its connections", { timeout: 120_000 }, async () => {
    await using database = await createTestDatabase();
    const world = new World(database.connection, 1, null);
    await world.open();
    const { promise: lent, resolve } = Promise.withResolvers<void>();
    const held = world.probe.session(async (client) => {
      resolve();
      return client.query("", "select pg_sleep(600)");
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
    assert.equal(parseOptions(["--keep", "0-2"]).seeds, 1);
    assert.equal(parseOptions(["--keep", "0-2", "--seeds", "5"]).seeds, 5);
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
