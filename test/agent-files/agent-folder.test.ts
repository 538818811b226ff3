import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { type TestContext, test } from "node:test";
import { AgentFolder } from "../../src/agent-files/agent-folder.ts";
import { NO_FILES } from "../../src/context/sections/section.ts";

interface World {
  readonly root: string;
  readonly folder: AgentFolder;
  readonly problems: string[];
  write(file: string, text: string | Uint8Array): Promise<void>;
  /** A second passes, and somebody looks. */
  look(): Promise<void>;
  refuse: string | null;
}

async function world(t: TestContext): Promise<World> {
  const place = await mkdtemp(path.join(tmpdir(), "weir-agents-"));
  t.after(async () => rm(place, { recursive: true, force: true }));
  const root = path.join(place, "agents");
  await mkdir(root);
  const problems: string[] = [];
  let now = 0;
  const made: World = {
    root,
    problems,
    refuse: null,
    folder: new AgentFolder({
      root,
      shownAs: "agents",
      id: "main",
      today: () => "2026-11-24",
      clock: () => now,
      refusalOf: () => made.refuse,
      onProblem: (problem) => problems.push(problem),
    }),
    async write(file, text) {
      await mkdir(path.dirname(path.join(root, file)), { recursive: true });
      await writeFile(path.join(root, file), text);
    },
    async look() {
      now += 1000;
      await made.folder.refresh();
    },
  };
  return made;
}

function read({ folder }: World): string[] {
  return folder.current.files.map(({ kind, path: file, text }) => `${kind} ${file}: ${text.trim()}`);
}

test("a folder that is not there is nothing", async (t) => {
  const made = await world(t);
  await rm(made.root, { recursive: true });
  await made.look();
  assert.equal(made.folder.current, NO_FILES);
  assert.deepEqual(made.problems, []);
});

test("each file is what its name says", async (t) => {
  const made = await world(t);
  await made.write("POLICY.md", "no gossip");
  await made.write("main/SOUL.md", "\ufeffcalm\n");
  await made.write("main/WORKSPACE.md", " \n");
  await made.write("main/memory/2026-11-24.md", "today");
  await made.write("main/memory/2026-11-23.md", "yesterday");
  await made.write(
    "main/rules/ops.md",
    '---\nchannels: "discord:5/#ops*"\npaths: [src/**]\n---\nname the ticket',
  );
  await made.write("main/channels/discord-7.md", "everybody");
  await made.write("main/users/discord-1.md", "tea");
  await made.write("main/skills/sails/SKILL.md", "---\nname: sails\ndescription: mends sails\n---\nlong");
  await made.write("main/rules/README.txt", "not a rule");
  await made.write("other/SOUL.md", "another agent");
  await made.look();
  assert.deepEqual(read(made), [
    "policy agents/POLICY.md: no gossip",
    "soul agents/main/SOUL.md: calm",
    "note agents/main/memory/2026-11-24.md: today",
    "rule agents/main/rules/ops.md: name the ticket",
    "channel agents/main/channels/discord-7.md: everybody",
    "user agents/main/users/discord-1.md: tea",
    "skills agents/main/skills/sails/SKILL.md: long",
  ]);
  const rule = made.folder.current.files.find(({ kind }) => kind === "rule");
  assert.deepEqual(
    ["discord:5/#ops-eu", "discord:6/#ops-eu", "discord:5/#general"].map((name) => rule?.channels?.(name)),
    [true, false, false],
  );
  assert.deepEqual(
    ["src/a/b.ts", "docs/a.md"].map((name) => rule?.paths?.(name)),
    [true, false],
  );
  assert.deepEqual(made.problems, []);
});

test("a change is seen a second later, and without one the same object stays", async (t) => {
  const made = await world(t);
  await made.write("main/SOUL.md", "calm");
  await made.look();
  const before = made.folder.current;
  await made.look();
  assert.equal(made.folder.current, before);
  await made.write("main/SOUL.md", "lively");
  assert.equal(made.folder.refresh(), null, "it has just looked");
  await made.look();
  assert.deepEqual(read(made), ["soul agents/main/SOUL.md: lively"]);
  await rm(path.join(made.root, "main"), { recursive: true });
  await made.look();
  assert.equal(made.folder.current, NO_FILES);
});

test("what cannot be used is told once with file and line, and the rest is read", async (t) => {
  const made = await world(t);
  await made.write("main/SOUL.md", "calm");
  await made.write("main/WORKSPACE.md", Buffer.from("fine\nbroken \xff\n", "latin1"));
  await made.write("main/MEMORY.md", "x".repeat(2_000_000));
  await made.write("main/rules/a.md", "---\nchannels: [\n---\nx");
  await made.write("main/rules/b.md", "---\nchannels: 7\n---\nx");
  await made.write("main/rules/stars.md", "---\npaths: '*a*a*a*a*b'\n---\nx");
  await using socket = createServer();
  await once(socket.listen(path.join(made.root, "main/rules/pipe.md")), "listening");
  await made.write("main/skills/c/SKILL.md", "no front matter");
  await mkdir(path.join(made.root, "main/rules/folder.md"));
  await symlink("loop.md", path.join(made.root, "main/rules/loop.md"));
  await made.look();
  await made.look();
  assert.deepEqual(read(made), ["soul agents/main/SOUL.md: calm"]);
  const told = made.problems.toSorted();
  assert.equal(told.length, 9, told.join("\n"));
  for (const [index, pattern] of [
    /^agents\/main\/MEMORY\.md: is 2000000 bytes long/,
    /^agents\/main\/WORKSPACE\.md:2: is not valid UTF-8/,
    /^agents\/main\/rules\/a\.md:\d: /,
    /^agents\/main\/rules\/b\.md:1: channels and paths are to be globs/,
    /^agents\/main\/rules\/folder\.md: is no ordinary file/,
    /^agents\/main\/rules\/loop\.md: .*ELOOP/,
    /^agents\/main\/rules\/pipe\.md: is no ordinary file/,
    /^agents\/main\/rules\/stars\.md:1: channels and paths are to be globs/,
    /^agents\/main\/skills\/c\/SKILL\.md:1: a skill needs a name$/,
  ].entries())
    assert.match(told[index] ?? "", pattern);
});

test("what may not be used leaves in use what was read before, and says why once", async (t) => {
  const made = await world(t);
  await made.write("main/SOUL.md", "calm");
  await made.look();
  made.refuse = "too long";
  await made.write("main/SOUL.md", "very long");
  await made.look();
  await made.look();
  assert.deepEqual(read(made), ["soul agents/main/SOUL.md: calm"]);
  assert.equal(made.folder.refusal, "too long");
  assert.deepEqual(made.problems, ["too long"]);
  made.refuse = null;
  await made.write("main/SOUL.md", "short");
  await made.look();
  assert.deepEqual(read(made), ["soul agents/main/SOUL.md: short"]);
  assert.equal(made.folder.refusal, null);
});

test("skills for all agents lie in .agents/skills, and an agent's own goes first", async (t) => {
  const made = await world(t);
  const skill = (name: string, description: string): string =>
    `---\nname: ${name}\ndescription: ${description}\n---\n${description}, at length`;
  await made.write("main/skills/sails/SKILL.md", skill("sails", "our own"));
  await made.write("../.agents/skills/sails/SKILL.md", skill("sails", "anybody's"));
  await made.write("../.agents/skills/ropes/SKILL.md", skill("ropes", "knots"));
  await made.write("../.agents/skills/ropes/lists/knots.md", "bowline");
  await made.look();
  assert.deepEqual(read(made), [
    "skills agents/main/skills/sails/SKILL.md: our own, at length",
    "skills .agents/skills/ropes/SKILL.md: knots, at length",
  ]);
  const ropes = made.folder.current.files[1] ?? assert.fail();
  assert.deepEqual(await made.folder.skillFiles(ropes), ["lists/knots.md"]);
  assert.equal(await made.folder.readSkillFile(ropes, "lists/knots.md"), "bowline");
  assert.deepEqual(made.problems, []);
});

test("a skill that is not as its folder says is told with file and line", async (t) => {
  const made = await world(t);
  const bad: Readonly<Record<string, [text: string, told: RegExp]>> = {
    a: ["---\ndescription: x\nname: b\n---\n", /a\/SKILL\.md:3: name must be that of the folder, a$/],
    Big: [
      "---\nname: Big\ndescription: x\n---\n",
      /Big\/SKILL\.md:2: name must be 1 to 64 of a–z, 0–9 and -/,
    ],
    mute: ["---\nname: mute\n---\n", /mute\/SKILL\.md:1: a skill needs a description$/],
    long: [
      `---\nname: long\ndescription: ${"x".repeat(1025)}\n---\n`,
      /long\/SKILL\.md:3: description may have 1024/,
    ],
    list: ["---\nname: [list]\ndescription: x\n---\n", /list\/SKILL\.md:2: name must be a text$/],
  };
  for (const [name, [text]] of Object.entries(bad)) await made.write(`main/skills/${name}/SKILL.md`, text);
  await made.look();
  assert.deepEqual(read(made), []);
  for (const [, told] of Object.values(bad))
    assert.ok(
      made.problems.some((problem) => told.test(problem)),
      `${told}: ${made.problems.join("\n")}`,
    );
});
