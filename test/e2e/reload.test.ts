// proves: src/daemon/reloader.ts, src/cli/reload.ts, src/cli/shared/configuration-source.ts, src/admin/requests/reload-answer.ts, migrations/baseline/23_requests.sql
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdir, readFile, rename, truncate, writeFile } from "node:fs/promises";
import path from "node:path";
import { after, test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { openStore } from "../store/open-store.ts";
import { createTestDatabase } from "../support/database.ts";
import { assertWhole, type Home, openHome, openSeed } from "../support/e2e.ts";
import { type LoopbackWorld, openLoopbackWorld } from "../support/e2e-loopback.ts";
import { echo } from "../support/e2e-model.ts";
import { type ModelServer, startModelServer } from "../support/model-server.ts";
import { until } from "../support/patience.ts";
import type { TestProcess } from "../support/process.ts";
import { connectionUrl } from "../support/weir.ts";

const seed = await openSeed();
after(async () => seed[Symbol.asyncDispose]());

interface Scene extends AsyncDisposable {
  readonly model: ModelServer;
  readonly world: LoopbackWorld;
  readonly home: Home;
  readonly daemon: TestProcess;
  /** Saves a config.toml as an editor does. */
  save(more: string): Promise<void>;
  /** The system prompt of the newest request. */
  prompt(): string;
}

async function openScene(): Promise<Scene> {
  await using stack = new AsyncDisposableStack();
  const model = stack.use(await startModelServer());
  const world = stack.use(await openLoopbackWorld());
  const home = stack.use(await openHome({ modelUrl: model.url, config: world.config, seed }));
  const daemon = home.start("start");
  await daemon.line("ready");
  model.respond(echo);
  const kept = stack.move();
  return {
    model,
    world,
    home,
    daemon,
    async save(more) {
      const file = path.join(home.folder, "config.toml");
      await writeFile(`${file}.new`, world.config + more);
      await rename(`${file}.new`, file);
    },
    prompt: () => model.requests.at(-1)?.body.messages.find(({ role }) => role === "system")?.content ?? "",
    [Symbol.asyncDispose]: async () => kept.disposeAsync(),
  };
}

function instructed(words: string): string {
  return `[[agents]]\nid = "main"\ninstructions = "${words}"\n`;
}

test("what is saved takes effect by itself, and a reload says what has changed and what waits", async () => {
  await using scene = await openScene();
  const { home, world, daemon } = scene;
  await scene.save(instructed("Speak of mills."));
  await daemon.errorLine('"configuration_reloaded"');
  await world.say("room", "first", "hello");
  await world.untilAnswered();
  assert.match(scene.prompt(), /Speak of mills\./);

  const nothing = await home.run("reload");
  assert.equal(nothing.code, 0, nothing.stderr);
  assert.match(
    nothing.out.join("\n"),
    /^Nothing has changed since the reload .+ ago, which took up: agents.*$/,
  );
  await writeFile(path.join(home.folder, ".env"), "DISCORD_TOKEN=planted-token-123456\n");
  await daemon.errorLine('"configuration_waits: takes effect at the next start"');
  await scene.save(`[log]\nlevel = "debug"\n${instructed("Speak of boats.")}`);
  const answer = await home.run("reload");
  assert.equal(answer.code, 0, answer.stderr);
  assert.match(
    answer.out.join("\n"),
    /(?:^Reloaded: .*|^Nothing has changed since .*)\nTakes effect at the next start: platforms\.discord\.token$/,
  );
  await world.say("room", "second", "hello again");
  await world.untilAnswered();
  assert.match(scene.prompt(), /Speak of boats\./);
  await daemon.errorLine('"reply_delivered"');
  assert.match(
    (await home.run("status")).out.join("\n"),
    /\nconfig {7}reloaded at .*\n {13}takes effect at the next start: platforms\.discord\.token\n/,
  );
  assert.doesNotMatch(daemon.stderr, /planted-token/);
  await world.assertAnsweredOnce();
});

test("a broken save changes nothing, says where it is broken, and is over when it is mended", async () => {
  await using scene = await openScene();
  const { home, world, daemon } = scene;
  await scene.save(instructed("Speak of mills."));
  await daemon.errorLine('"configuration_reloaded"');
  await scene.save(`${instructed("Speak of boats.")}modle = "x"\n`);
  const line = await daemon.errorLine("configuration_refused");
  assert.match(line, /config\.toml:\d+:1.*modle.*did you mean `model`\?/);
  await world.say("room", "first", "hello");
  await world.untilAnswered();
  assert.match(scene.prompt(), /Speak of mills\./);
  const refused = await home.run("reload");
  assert.equal(refused.code, 78);
  assert.match(refused.stderr, /did you mean `model`\?/);

  // It is empty for a moment, as while it is saved in place.
  const emptyFrom = performance.now();
  await truncate(path.join(home.folder, "config.toml"));
  await delay(50);
  await scene.save(instructed("Speak of trains."));
  const emptyMs = performance.now() - emptyFrom;
  await daemon.errorLine('"configuration_mended"');
  // On a machine that has made a second of it, it is rightly told.
  if (emptyMs < 900) assert.equal(daemon.stderr.split("is empty").length, 1, daemon.stderr);
  await world.say("room", "second", "and now?");
  await world.untilAnswered();
  assert.match(scene.prompt(), /Speak of trains\./);

  // Nobody would ever write into it.
  execFileSync("mkfifo", [path.join(home.folder, "pipe")]);
  await rename(path.join(home.folder, "pipe"), path.join(home.folder, "config.toml"));
  await daemon.errorLine("is a pipe, not a file");
  assert.match((await home.run("reload")).stderr, /config\.toml\n +is a pipe, not a file/);
  await world.say("room", "third", "still there?");
  await world.untilAnswered();
  await world.assertAnsweredOnce();
});

test("while git has put the shipped file in place of one's own, that stays in force, and `npm run -s weir -- reload --force` takes what is there", async () => {
  await using scene = await openScene();
  const { home, world, daemon } = scene;
  const git = (...args: string[]): string =>
    execFileSync("git", ["-c", "user.name=op", "-c", "user.email=op@example.org", ...args], {
      cwd: home.folder,
      encoding: "utf8",
    });
  const file = path.join(home.folder, "config.toml");
  const own = world.config + instructed("Speak of mills.");
  git("init", "--quiet");
  await writeFile(file, await readFile(path.join(import.meta.dirname, "../../config.toml"), "utf8"));
  git("add", "config.toml");
  git("commit", "--quiet", "--message", "as it is shipped");
  await writeFile(file, own);
  await daemon.errorLine('"configuration_reloaded"');

  git("stash", "--quiet");
  // A daemon that looks while git writes it says so first.
  assert.match(await daemon.errorLine("config.toml says nothing any more"), /configuration_held_back/);
  const held = await home.run("reload");
  assert.equal(held.code, 1);
  assert.match(held.stderr, /config\.toml says nothing any more.*`npm run -s weir -- reload --force`/s);
  assert.match(
    (await home.run("status")).out.join("\n"),
    /held back since .*: config\.toml says nothing any more/,
  );
  await world.say("room", "first", "hello");
  await world.untilAnswered();
  assert.match(scene.prompt(), /Speak of mills\./);

  git("stash", "pop", "--quiet");
  await daemon.errorLine('"configuration_mended"');
  assert.equal(await readFile(file, "utf8"), own);
  await writeFile(path.join(home.folder, ".git", "MERGE_HEAD"), "");
  await scene.save(instructed("Speak of boats."));
  await daemon.errorLine("MERGE_HEAD");
  const forced = await home.run("reload", "--force");
  assert.equal(forced.code, 0, forced.stderr);
  assert.match(forced.out.join("\n"), /^Reloaded: agents/);
  await world.say("room", "second", "hello again");
  await world.untilAnswered();
  assert.match(scene.prompt(), /Speak of boats\./);
  await world.assertAnsweredOnce();
});

test("a template of one's own takes effect when it is saved, what the folder lacks is Weir's, and so does an agent's new folder", async () => {
  await using scene = await openScene();
  const { home, world, daemon } = scene;
  const own = path.join(home.folder, "own");
  await mkdir(own);
  const shipped = await readFile(path.join(import.meta.dirname, "../../prompts/en/system.md.j2"), "utf8");
  await writeFile(path.join(own, "system.md.j2"), `${shipped}\nSpeak of mills.\n`);
  await scene.save('[prompts]\ndir = "own"\n');
  await daemon.errorLine("templates_of_weir");
  await daemon.errorLine('"changed":["prompts.dir"],"prompts":true');
  await writeFile(path.join(own, "system.md.j2"), `${shipped}\nSpeak of boats.\n`);
  await daemon.errorLine('"changed":[],"prompts":true');
  await world.say("room", "first", "hello");
  await world.untilAnswered();
  assert.match(scene.prompt(), /Speak of boats\./);
  await writeFile(path.join(own, "system.md.j2"), "{{ nothing }}");
  assert.match(await daemon.errorLine("configuration_refused"), /system\.md\.j2:1: unknown variable/);
  await writeFile(path.join(own, "system.md.j2"), `${shipped}\nSpeak of trains.\n`);
  await daemon.errorLine("configuration_mended");

  const skill = path.join(home.folder, "agents/main/skills/milling");
  // One after the other: what was saved before is in force by then.
  assert.equal((await home.run("reload")).code, 0);
  const seen = daemon.stderr.split('"prompts":true').length;
  await mkdir(skill, { recursive: true });
  await writeFile(path.join(skill, "SKILL.md"), "---\nname: milling\ndescription: how to mill\n---\nMill.\n");
  await daemon.until("the folder is seen", () => daemon.stderr.split('"prompts":true').length > seen);
  await world.say("room", "second", "hello again");
  await world.untilAnswered();
  assert.match(scene.prompt(), /Speak of trains\./);
  const tools = scene.model.requests.at(-1)?.body.tools?.map((tool) => tool.function.name);
  assert.ok(tools?.includes("activate_skill"), tools?.join(" "));
  await world.assertAnsweredOnce();
});

test("many reloads while people talk lose nothing and repeat nothing, and so does a kill in the middle", async () => {
  await using scene = await openScene();
  const { home, world, daemon } = scene;
  const rooms = ["one", "two", "three"];
  const talk = async (prefix: string, count: number, everyMs: number): Promise<void> => {
    for (let said = 0; said < count; said++) {
      const room = rooms[said % rooms.length] ?? "one";
      await world.say(room, `${prefix}-${said}`, `question ${said}?`);
      await delay(everyMs);
    }
  };
  const talking = talk("calm", 25, 60);
  for (let count = 1; count <= 40; count++) {
    await scene.save(
      `${instructed(`Speak of ${count}.`)}[agents.compaction]\nbackground_threshold = 0.${70 + (count % 9)}\n`,
    );
    daemon.signal("SIGHUP");
    await delay(30);
  }
  await talking;
  await world.untilAnswered();
  // It is answered once what was saved last is in force.
  assert.equal((await home.run("reload")).code, 0);
  await world.say("one", "last", "the last one?");
  await world.untilAnswered();
  assert.match(scene.prompt(), /Speak of 40\./);
  await world.assertAnsweredOnce();

  const more = talk("wild", 12, 40);
  await scene.save(instructed("Speak of death."));
  daemon.signal("SIGHUP");
  await delay(15);
  daemon.signal("SIGKILL");
  await daemon.ended;
  const heir = home.start("start");
  await heir.line("ready");
  await more;
  await world.untilAnswered();
  await world.assertAnsweredOnce();
  heir.signal("SIGTERM");
  assert.equal((await heir.ended).code, 0);
  for (const room of rooms) assertWhole(await home.log(`loopback:${room}`), world.said.get(room) ?? []);
});

test("a start with a broken file says why first, and ends with a code of its own", async () => {
  await using home = await openHome({
    modelUrl: "http://127.0.0.1:9/v1",
    config: "[log]\nlevel = 3\n",
    seed,
  });
  const { code, stderr, out } = await home.run("start");
  assert.equal(code, 78);
  assert.deepEqual(out, []);
  assert.match(stderr, /^The configuration has 1 problem:\n\n {2}config\.toml:2/);
});

test("what is saved, and asked for, while the daemon still starts is in force soon after it", async () => {
  await using database = await createTestDatabase();
  await using model = await startModelServer();
  model.respond(echo);
  await using world = await openLoopbackWorld();
  const config = `${world.config}[database]\nurl = "env:RELOAD_TEST_URL"\n`;
  await using home = await openHome({ modelUrl: model.url, config });
  await using outside = openStore(database.connection);
  const [locked, held] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const holding = outside.db.transaction(async (client) => {
    await client.query("", "lock table schema_migrations in access exclusive mode");
    locked.resolve();
    await held.promise;
  });
  await locked.promise;
  const daemon = home.startWith({ RELOAD_TEST_URL: connectionUrl(database.connection) }, "start");
  await until("it reads which schema there is", async () => {
    const waiting =
      "select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'";
    return (await outside.sql(waiting)).length > 0;
  });
  await writeFile(path.join(home.folder, "config.toml"), config + instructed("Speak of mills."));
  // It ends nothing: somebody is there who remembers it.
  daemon.signal("SIGHUP");
  held.resolve();
  await holding;
  await daemon.line("ready");
  await daemon.errorLine('"configuration_reloaded"');
  await world.say("room", "first", "hello");
  await world.untilAnswered();
  assert.match(
    model.requests.at(-1)?.body.messages.find(({ role }) => role === "system")?.content ?? "",
    /Speak of mills\./,
  );
  daemon.signal("SIGTERM");
  assert.equal((await daemon.ended).code, 0);
});
