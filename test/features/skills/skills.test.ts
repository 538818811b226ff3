// proves: src/features/skills/use-skill.ts, src/features/skills/command.ts, src/features/skills/active-skill-store.ts, src/features/skills/feature.ts
// A skill that an agent has taken up stays in its prompt over compactions and restarts, until it is laid down.
import assert from "node:assert/strict";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { after, test } from "node:test";
import { openStore } from "../../store/open-store.ts";
import { command } from "../../support/commands.ts";
import { createTestDatabase } from "../../support/database.ts";
import { text, toolCalls } from "../../support/model-behaviours.ts";
import { type ModelServer, startModelServer } from "../../support/model-server.ts";
import { OWNED, OWNER } from "../../support/owners.ts";
import { until } from "../../support/patience.ts";
import { TestPlatform } from "../../support/test-platform.ts";
import { startWeir, type TestWeir } from "../../support/weir.ts";

const database = await createTestDatabase();
after(async () => database[Symbol.asyncDispose]());
const beside = openStore(database.connection);
after(async () => beside[Symbol.asyncDispose]());
const place = await mkdtemp(path.join(tmpdir(), "weir-skills-"));
after(async () => rm(place, { recursive: true, force: true }));
const agentsDir = path.join(place, "agents");

async function write(file: string, words: string): Promise<void> {
  await mkdir(path.dirname(path.join(agentsDir, file)), { recursive: true });
  await writeFile(path.join(agentsDir, file), words);
}

await write(
  "main/skills/sails/SKILL.md",
  "---\nname: sails\ndescription: mends sails\n---\nSew from the leech to the luff. See knots.md.",
);
await write("main/skills/sails/knots.md", "The bowline holds.");
await write(
  "main/skills/books/SKILL.md",
  `---\nname: books\ndescription: keeps books\n---\n${"Note each coin. ".repeat(2000)}`,
);

interface World {
  readonly server: ModelServer;
  readonly weir: TestWeir;
}

async function start(server: ModelServer): Promise<TestWeir> {
  return startWeir({
    connection: database.connection,
    modelUrl: server.url,
    config: `${OWNED}\n[[agents]]\nid = "main"\nmodel = "test-model"\ncontext_window = 16384\n`,
    agentsDir,
    platform: new TestPlatform({ serves: () => true }),
  });
}

interface Call {
  readonly name: string;
  readonly arguments: Record<string, unknown>;
}

/**
 * Says something, has the model make these calls one after the other, and waits for the answer.
 * @returns the system prompts of the turn's requests, and the results of its calls
 */
async function ask(
  { weir, server }: World,
  room: string,
  ...calls: readonly Call[]
): Promise<{ systems: string[]; results: string[]; dynamic: string }> {
  const told = weir.platform.texts(room).length;
  const before = server.requests.length;
  const left = [...calls];
  server.respond(({ tools }) => {
    const call = tools === undefined ? undefined : left.shift();
    return call === undefined ? text("done") : toolCalls([call]);
  });
  await weir.say(`go on: ${"the sail was torn by the wind in the night. ".repeat(20)}`, {
    channel: { platform: "discord", name: room },
    room,
    workspace: "w",
  });
  await weir.platform.until(() => weir.platform.texts(room).length > told);
  const sent = server.requests.slice(before).map(({ body }) => body.messages);
  return {
    systems: sent.map((messages) => messages[0]?.content ?? ""),
    results: (sent.at(-1) ?? [])
      .flatMap(({ role, content }) => (role === "tool" ? [content ?? ""] : []))
      .slice(-Math.max(1, calls.length)),
    dynamic: sent[0]?.at(-1)?.content ?? "",
  };
}

const TEXT = "Sew from the leech to the luff.";
const activate = (name: string): Call => ({ name: "activate_skill", arguments: { name } });

test("a skill is taken up by the agent, read on demand, and stays until it is laid down", async () => {
  await using server = await startModelServer();
  {
    await using weir = await start(server);
    const world = { server, weir };
    const first = await ask(
      world,
      "yard",
      { name: "read_skill_file", arguments: { name: "sails", file: "knots.md" } },
      activate("sails"),
      { name: "read_skill_file", arguments: { name: "sails", file: "knots.md" } },
      { name: "read_skill_file", arguments: { name: "sails", file: "../../SOUL.md" } },
    );
    assert.match(
      first.dynamic,
      /Skills that you have, by name:\n> - books: keeps books\n> - sails: mends sails\n/,
    );
    assert.deepEqual(
      first.systems.map((system) => system.includes(TEXT)),
      [false, false, true, true, true],
      "from the request behind its activation on",
    );
    assert.deepEqual(first.results, [
      'Error: "sails" is not active. Activate it before you read its files.',
      "Active: sails. Its instructions stand in your folder's part of the prompt now. Its files: knots.md.",
      "The bowline holds.",
      'Error: The skill has no file "../../SOUL.md". Its files: knots.md.',
    ]);
    const next = await ask(world, "yard", activate("sail"), activate("books"), activate("sails"));
    assert.ok(
      next.systems.every((system) => system === first.systems.at(-1)),
      "the prefix stays",
    );
    assert.match(next.results[0] ?? "", /There is no skill "sail"\. There are: books, sails\./);
    assert.match(
      next.results[1] ?? "",
      /"books" has about [\d,]+ tokens, and one skill may have [\d,]+ with this/,
    );
    assert.match(next.results[2] ?? "", /^Active: sails\./);
    assert.doesNotMatch(
      (await ask(world, "office")).systems[0] ?? "",
      new RegExp(TEXT),
      "of its channel alone",
    );
  }
  await using weir = await start(server);
  const world = { server, weir };
  assert.match((await ask(world, "yard")).systems[0] ?? "", new RegExp(TEXT), "after a restart");
  const down = await ask(
    world,
    "yard",
    { name: "deactivate_skill", arguments: { name: "sails" } },
    { name: "deactivate_skill", arguments: { name: "sails" } },
  );
  assert.deepEqual(
    down.systems.map((system) => system.includes(TEXT)),
    [true, false, false],
  );
  assert.deepEqual(down.results, ["Laid down: sails.", 'Error: "sails" is not active. Active: none.']);
});

test("a compaction leaves an active skill where it is, and /context tells of it", async () => {
  await using server = await startModelServer();
  await using weir = await start(server);
  const world = { server, weir };
  await ask(world, "shed", activate("sails"));
  for (let turn = 0; turn < 8; turn++) await ask(world, "shed");
  const asOwner = async (words: string): Promise<string> => command(weir, "shed", words, OWNER, "discord");
  assert.match(
    await asOwner("context detail skill:sails"),
    /priority 78, never cut; static part[^]*Sew from the leech/,
  );
  server.respond(() => text("They mended sails together, and said little of anything else."));
  await asOwner("compact");
  const covered = async (): Promise<boolean> =>
    (await beside.sql<{ n: number }>("select count(*)::int as n from summaries where kind = 'model'"))[0]
      ?.n === 1;
  await until("summary", covered);
  assert.match((await ask(world, "shed")).systems[0] ?? "", new RegExp(TEXT));
});

test("/skill lists, takes up and lays down; a reset lays down all; owners alone may", async () => {
  await using server = await startModelServer();
  await using weir = await start(server);
  const world = { server, weir };
  await ask(world, "loft");
  const asOwner = async (words: string): Promise<string> => command(weir, "loft", words, OWNER, "discord");
  assert.match(await asOwner("skill"), /\n- books: keeps books\n- sails: mends sails\n/);
  assert.match(await asOwner("skill on sails"), /^Active: sails\./);
  assert.match(await asOwner("skill"), /\n- sails \(active\): mends sails\n/);
  assert.match((await ask(world, "loft")).systems[0] ?? "", new RegExp(TEXT));
  assert.match(await asOwner("skill on masts"), /^There is no skill "masts"\. There are: books, sails\./);
  assert.match(await asOwner("skill up"), /^This is \/skill, \/skill on NAME or \/skill off \[NAME\]\.$/);
  assert.equal(await asOwner("skill off"), "Laid down: sails.");
  assert.equal(await asOwner("skill off"), "No skill was active here.");
  assert.doesNotMatch((await ask(world, "loft")).systems[0] ?? "", new RegExp(TEXT));
  await asOwner("skill on sails");
  await asOwner("reset");
  assert.doesNotMatch((await ask(world, "loft")).systems[0] ?? "", new RegExp(TEXT));
  assert.match(await command(weir, "loft", "skill off", undefined, "discord"), /owners/);
});

test("a name that no database holds is that of no skill", async () => {
  await using server = await startModelServer();
  await using weir = await start(server);
  const named = { name: "sails\0" };
  const calls = ["deactivate_skill", "activate_skill"].map((name) => ({ name, arguments: named }));
  const { results } = await ask({ server, weir }, "attic", ...calls);
  assert.match(results[0] ?? "", /is not active/);
  assert.match(results[1] ?? "", /There is no skill/);
});
