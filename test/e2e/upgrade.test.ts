// proves: src/store/database/migrate.ts, src/store/database/database.ts
/**
 * A newer version beside an older one, and in its place. The newer one is a copy of this checkout with one more migration, which
 * is additive as all migrations are: it changes what statements return that the older one has prepared on its connections.
 */
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import path from "node:path";
import { after, before, test } from "node:test";
import { readKnownVersion } from "../../src/store/database/migrate.ts";
import { assertWhole, type Home, openHome, openSeed, parseLog } from "../support/e2e.ts";
import { type LoopbackWorld, openLoopbackWorld } from "../support/e2e-loopback.ts";
import { echo } from "../support/e2e-model.ts";
import { makeNextVersion, type NextVersion } from "../support/next-version.ts";
import { createTestDatabase } from "../support/database.ts";
import { type ModelServer, startModelServer } from "../support/model-server.ts";
import type { TestProcess } from "../support/process.ts";
import { connectionUrl } from "../support/weir.ts";

const OLD = await readKnownVersion();

let version: NextVersion;
let next: string;
let seed: Home;
let model: ModelServer;
before(async () => {
  version = await makeNextVersion();
  next = version.main;
  seed = await openSeed();
  model = await startModelServer();
  model.respond(echo);
});
after(async () => {
  await model[Symbol.asyncDispose]();
  await seed[Symbol.asyncDispose]();
  await version[Symbol.asyncDispose]();
});

const ROOMS = ["one", "two", "three"] as const;

/** People say something in every room, and are answered. */
class Talk {
  readonly #world: LoopbackWorld;
  #count = 0;

  constructor(world: LoopbackWorld) {
    this.#world = world;
  }

  async say(): Promise<void> {
    const count = ++this.#count;
    for (const room of ROOMS) await this.#world.say(room, `${room}-${count}`, `question ${count} of ${room}`);
  }

  async answered(): Promise<void> {
    await this.say();
    await this.#world.untilAnswered();
  }
}

function assertNothingLeftOut(...daemons: readonly TestProcess[]): void {
  for (const { stderr } of daemons) assert.doesNotMatch(stderr, /left out|event_refused|cached plan/);
}

test("a newer version's commands beside an older daemon change nothing, nor lose it anything when they are forced to", async () => {
  await using world = await openLoopbackWorld();
  await using home = await openHome({ modelUrl: model.url, config: world.config, seed });
  const run = async (...args: readonly string[]) => {
    const started = home.startVersion(next, ...args);
    return {
      ...(await started.finish()),
      out: started.out,
      text: `${started.out.join("\n")}\n${started.stderr}`,
    };
  };
  const daemon = home.start("start");
  await daemon.line("ready");
  const talk = new Talk(world);
  await talk.answered();

  const behind = `The database is at ${OLD}, this Weir knows ${OLD + 1}: run \`weir migrate\`, or start it.`;
  for (const args of [["context", "loopback:one"], ["memories"], ["compact", "loopback:one"]]) {
    const { code, text } = await run(...args);
    assert.deepEqual([code, text.trim()], [1, behind], args[0]);
    await talk.answered();
  }
  const doctor = await run("doctor");
  assert.deepEqual([doctor.code, doctor.text.includes(`? database: ${behind}`)], [0, true], doctor.text);
  const refused = await run("migrate");
  assert.equal(refused.code, 1);
  assert.match(
    refused.text,
    new RegExp(`^\\s*Another Weir \\(process ${daemon.pid}\\) runs on this database\\. .*--force`),
  );
  // Of the older version all that looks still looks: nothing has changed.
  assert.equal((await home.run("memories")).code, 0);
  await talk.answered();

  const forced = await run("migrate", "--force");
  assert.equal(forced.code, 0, forced.text);
  for (let round = 0; round < 3; round++) await talk.answered();
  assert.match(daemon.stderr, /database_asked_again/);
  assertNothingLeftOut(daemon);
  daemon.signal("SIGTERM");
  assert.equal((await daemon.ended).code, 0);

  await talk.say();
  const heir = home.startVersion(next, "start");
  await heir.line("ready");
  await world.untilAnswered();
  await talk.answered();
  assertNothingLeftOut(heir);
  await world.assertAnsweredOnce();
  for (const room of ROOMS) {
    const { code, out } = await run("log", `loopback:${room}`, "--json");
    assert.equal(code, 0);
    assertWhole(parseLog(out), world.said.get(room) ?? []);
  }
  // The older one's place is taken: it says so.
  const older = await home.run("memories");
  assert.match(older.stderr, /used by a newer Weir/);
  heir.signal("SIGTERM");
  assert.equal((await heir.ended).code, 0);
});

test("a rolling restart on one server, from the older version to the newer, loses nothing and answers once", async () => {
  await using database = await createTestDatabase();
  await using world = await openLoopbackWorld();
  await using home = await openHome({ modelUrl: model.url, config: world.config });
  await writeFile(path.join(home.folder, ".env"), `DATABASE_URL=${connectionUrl(database.connection)}\n`);
  const old = home.start("start");
  await old.line("ready");
  const talk = new Talk(world);
  await talk.answered();
  const young = home.startVersion(next, "start");
  // While it migrates, and when it has.
  while (!young.out.some((line) => line.includes("ready"))) {
    assert.ok(!young.isOver, young.stderr);
    await talk.answered();
  }
  await talk.answered();
  await talk.say();
  old.signal("SIGTERM");
  await talk.say();
  assert.equal((await old.ended).code, 0);
  await talk.answered();
  assertNothingLeftOut(old, young);
  await world.assertAnsweredOnce();
  young.signal("SIGTERM");
  assert.equal((await young.ended).code, 0);
});
