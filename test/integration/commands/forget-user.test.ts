// proves: src/cli/forget-user.ts, src/admin/requests/ask-daemon.ts, src/admin/requests/request-server.ts, src/features/notes/note-sweeper.ts
// The operator forgets a person: beside a running daemon, and without one.
import assert from "node:assert/strict";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { test } from "node:test";
import { nearestPeople, parsePerson } from "../../../src/cli/forget-user.ts";
import { agentId, type ChannelId } from "../../../src/core/ids.ts";
import { rememberIn } from "../../store/remember.ts";
import { rowsWith } from "../../store/rows-with.ts";
import { ANN, authorOf, BEN } from "../../support/commands.ts";
import { ask, checkFold, openScene, quiet, type Scene, script } from "../../support/compaction.ts";
import { OURS, SUMMARY, summariseAndNote, talk, THEIRS } from "../../support/forgotten-person.ts";
import { textsBelow } from "../../support/texts-below.ts";
import { inspect } from "../../support/inspectors.ts";
import { text } from "../../support/model-behaviours.ts";
import { connectionUrl, type TestWeir } from "../../support/weir.ts";

test("a person is named by platform and id, as a mention shows it, or by a name", () => {
  assert.deepEqual(parsePerson("discord:1234"), { platform: "discord", called: "1234" });
  for (const typed of ["<@1234>", "<@!1234>", " 1234 "])
    assert.deepEqual(parsePerson(typed), { platform: null, called: "1234" });
  assert.deepEqual(parsePerson("slack:<@U12|ann>"), { platform: "slack", called: "U12" });
  assert.deepEqual(parsePerson("terminal:Ann: the first"), {
    platform: "terminal",
    called: "Ann: the first",
  });
  assert.deepEqual(parsePerson("Ann Müller"), { platform: null, called: "Ann Müller" });
  assert.deepEqual(parsePerson("  "), { platform: null, called: "" });
});

test("who was probably meant is found by id and by name", () => {
  const person = (id: string, name: string) => ({ platform: "discord", id, name, messages: 1 });
  const people = [person("123456789", "Ann"), person("987654321", "Benjamin"), person("555", "Zoë")];
  const near = (typed: string): string[] => nearestPeople(typed, people).map(({ name }) => name);
  assert.deepEqual(near("123456780"), ["Ann"]);
  assert.deepEqual(near("benjamim"), ["Benjamin"]);
  assert.deepEqual(near("benj"), ["Benjamin"]);
  assert.deepEqual(near("nobody at all"), []);
});

interface World {
  readonly scene: Scene;
  readonly folder: string;
}

async function place({ open }: Scene, name: string, platform = "test"): Promise<ChannelId> {
  const agent = agentId("main");
  return open.store.channels.open({ address: { platform, name }, kind: "channel", workspace: "w", agent });
}

/** Ann and Ben talk in a channel that is summarised; Ann says something in another one, and the agent notes it. */
async function openWorld(use: (world: World) => Promise<void>): Promise<void> {
  await using scene = await openScene();
  const folder = await mkdtemp(path.join(tmpdir(), "weir-forget-user-"));
  try {
    await mkdir(path.join(folder, "agents", "main"), { recursive: true });
    await writeFile(
      path.join(folder, "config.toml"),
      '[[agents]]\nid = "main"\nname = "Weir"\nmodel = "test-model"\ncontext_window = 8192\n',
    );
    await talk(scene);
    const other = await place(scene, "other");
    for (const [who, word] of [
      [ANN, OURS],
      [BEN, THEIRS],
    ] as const) {
      const seq = await scene.open.say(other, `I like ${word} tea.`, {
        addressed: false,
        author: authorOf(who),
      });
      await rememberIn(scene.open, other, {
        statement: `${who.name} likes ${word} tea.`,
        assertedBy: who.name,
        sources: [{ seq, quote: `I like ${word} tea.` }],
      });
    }
    await scene.open.say(await place(scene, "foreign", "slack"), "a namesake", { addressed: false });
    await use({ scene, folder });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** What is planted with the help of a daemon: a summary and a note that tell of Ann's words. */
async function summarise(weir: TestWeir, { scene, folder }: World): Promise<void> {
  await summariseAndNote(scene, weir, folder);
  script(scene.server, () => text(SUMMARY));
}

/** The program beside the daemon. @returns all that it prints */
async function run({ scene, folder }: World, ...words: readonly string[]): Promise<string> {
  const env = { DATABASE_URL: connectionUrl(scene.connection), OPENAI_BASE_URL: scene.server.url };
  const { stdout, stderr } = await inspect(folder, env, [words]);
  return stdout + stderr;
}

async function checkGone({ scene, folder }: World): Promise<void> {
  assert.deepEqual(await rowsWith(scene.open, OURS), []);
  assert.doesNotMatch((await textsBelow(folder)).join("\n"), new RegExp(OURS));
  assert.notDeepEqual(await rowsWith(scene.open, THEIRS), []);
  const left = await scene.open.sql("select statement from memories");
  assert.deepEqual(left, [{ statement: "Ben likes zxqben tea." }]);
  assert.equal((await scene.open.sql("select from entries where text = 'a namesake'")).length, 1);
}

test("weir forget-user shows what would go, and takes it with --yes through the daemon that runs", async () => {
  await openWorld(async (world) => {
    const { scene, folder } = world;
    await using weir = await scene.start({ agentsDir: path.join(folder, "agents") });
    await summarise(weir, world);
    for (const typed of ["test:u-ann", "test:<@u-ann>", "test:Ann"]) {
      const shown = await run(world, "forget-user", typed);
      assert.match(
        shown,
        /^test:u-ann \(Ann\): \d+ messages in 2 channels\.\n {2}test:busy: \d+ messages\n {2}test:other: 1 message\n/,
      );
      assert.match(
        shown,
        /With them would go 1 memory that nobody else bears, 0 pictures, .*from what is left: 1\.\n/,
      );
      assert.match(shown, /To do it: `npm run -s weir -- forget-user test:u-ann --yes`\n$/);
    }
    assert.match(
      await run(world, "forget-user", "Ann"),
      /^Several people are Ann: test:u-ann \(Ann\), slack:u-ann \(Ann\)\./,
    );
    assert.match(
      await run(world, "forget-user", "test:u-anm"),
      /^Nobody is known as "test:u-anm"\. Did you mean test:u-ann \(Ann\)/,
    );
    for (const typed of ["test:Ann", "u-ben"])
      assert.match(
        await run(world, "forget-user", typed, "--yes"),
        /^Did you mean test:u-\w+ \(\w+\)\? --yes wants the platform and the id/,
      );
    const taken = await scene.open.sql("select from entries where deleted_at is not null");
    assert.deepEqual(taken, [], "nothing was done yet");

    const told = await run(world, "forget-user", "test:u-ann", "--yes");
    assert.match(
      told,
      /Forgotten: \d+ messages and 1 memory\. Nothing of test:u-ann \(Ann\) is left in the log\.\n/,
    );
    assert.doesNotMatch(told, /done here/);
    await checkGone(world);
    const asked = scene.server.requests.length;
    await ask(weir, scene.server, "busy", "and now?");
    for (const { body } of scene.server.requests.slice(asked))
      assert.ok(!JSON.stringify(body).includes(OURS));
    await quiet(weir, "busy");
    await checkFold(weir, "busy");
  });
});

test("weir forget-user does it itself where no daemon runs, in the notes' files, too", async () => {
  await openWorld(async (world) => {
    const { scene, folder } = world;
    {
      await using weir = await scene.start({ agentsDir: path.join(folder, "agents") });
      await summarise(weir, world);
    }
    // As of a text that is no longer kept, on another machine than this one.
    await scene.open.sql(
      `insert into entry_prints (channel_id, seq, key_id, said)
       select channel_id, min(seq), 'another', '' from entries where author_id = 'u-ann' group by channel_id limit 1`,
    );
    assert.match(
      await run(world, "forget-user", "test:u-ann", "--yes"),
      /Nothing is forgotten: the texts of 1 message are no longer kept.*bring its signing\.key into the data folder first\.\n$/,
    );
    assert.deepEqual(await scene.open.sql("select from entries where deleted_at is not null"), []);
    await scene.open.sql("delete from entry_prints");
    const told = await run(world, "forget-user", "test:u-ann", "--yes");
    assert.match(told, /It is done here\./);
    assert.match(
      told,
      /Forgotten: \d+ messages and 1 memory\. Nothing of test:u-ann \(Ann\) is left in the log\.\n/,
    );
    await checkGone(world);
    assert.match(
      await run(world, "forget-user", "test:u-ann", "--yes"),
      /^Nothing of test:u-ann \(Ann\) is in the log\.\n$/,
    );
  });
});
