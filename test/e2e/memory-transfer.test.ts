// proves: src/cli/memory-transfer.ts, src/store/memory/memory-transfer.ts, src/store/store.ts
import assert from "node:assert/strict";
import { readFile, stat, writeFile } from "node:fs/promises";
import path from "node:path";
import { test } from "node:test";
import { agentId, type ChannelId, memoryId, turnId } from "../../src/core/ids.ts";
import type { ChannelKind } from "../../src/core/message.ts";
import type { OpenStore } from "../store/open-store.ts";
import { rememberIn } from "../store/remember.ts";
import { TEST_DIGESTER } from "../support/digester.ts";
import { openHomeWithStore } from "../support/home-with-store.ts";

const from = await openHomeWithStore();
const to = await openHomeWithStore();
const AT = new Date("2026-11-21T09:00:00Z");

interface Told {
  readonly kind?: ChannelKind;
  readonly shares?: boolean;
}

async function place(
  { open }: { open: OpenStore },
  name: string,
  { kind = "channel", shares = false }: Told = {},
): Promise<ChannelId> {
  return open.store.channels.open({
    address: { platform: "test", name },
    kind,
    workspace: "w",
    agent: agentId("main"),
    isPrivate: false,
    sharesMemory: shares,
  });
}

async function say(
  { open }: { open: OpenStore },
  channel: ChannelId,
  id: string,
  words: string,
): Promise<number> {
  return open.say(channel, words, { id, addressed: false, at: AT });
}

async function memories({ open }: { open: OpenStore }): Promise<unknown[]> {
  return open.sql(
    `select m.statement, m.scope, m.valid_to, m.imported_at is not null as imported, m.read_from, c.name,
            (select jsonb_agg(s.quote order by s.seq) from memory_sources s where s.memory_id = m.id) as quotes
       from memories m join channels c on c.id = m.channel_id order by m.statement`,
  );
}

/** The same messages stand in both logs, but for what only the first has. */
async function plant(): Promise<void> {
  const bear = async (channel: ChannelId, seq: number, statement: string, quote: string): Promise<number> =>
    rememberIn(from.open, channel, { statement, sources: [{ seq, quote }], at: AT });
  for (const [name, kind] of [
    ["mill", "channel"],
    ["dm", "dm"],
  ] as const) {
    const [here, there] = [await place(from, name, { kind }), await place(to, name, { kind, shares: true })];
    await say(to, there, `${name}-0`, "something that the other log has not");
    for (const side of [from, to])
      await say(
        side,
        side === from ? here : there,
        `${name}-1`,
        `I drink tea in the ${name}, 7 cups\u001b[2J`,
      );
    await bear(here, 1, `Ann drinks tea in the ${name}.`, `tea in the ${name}`);
  }
  const mill = await place(from, "mill");
  const only = await say(from, mill, "mill-only", "the geese are grey");
  await bear(mill, only, "The geese are grey.", "geese are grey");
  const elsewhere = await place(from, "elsewhere");
  await bear(
    elsewhere,
    await say(from, elsewhere, "e-1", "the oven is hot"),
    "The oven is hot.",
    "oven is hot",
  );
  const ended = await say(from, mill, "mill-2", "the wheel is old");
  await say(to, await place(to, "mill", { shares: true }), "mill-2", "the wheel is old");
  const id = await bear(mill, ended, "The wheel is old.", "wheel is old");
  await from.open.sql("update memories set valid_to = '2026-11-23' where id = $1", id);
}

/** Also to standard output, and never over a file. */
async function exportAll(file: string): Promise<void> {
  const written = await from.home.run("memories", "export", file);
  assert.deepEqual(
    [written.code, written.out],
    [0, [`5 memories written to ${file}. No deletion reaches this file.`]],
    written.stderr,
  );
  assert.equal((await stat(file)).mode & 0o777, 0o600);
  const again = await from.home.run("memories", "export", file);
  assert.equal(again.code, 1);
  assert.equal(again.stderr.trim(), `${file} is there already: name another file.`);
  const piped = await from.home.run("memories", "export", "-", "--channel", "test:dm");
  assert.equal(piped.out.length, 1);
  const [line = ""] = piped.out;
  assert.deepEqual(
    { ...Object(JSON.parse(line)), exportedAt: "" },
    {
      agent: "main",
      channel: "test:dm",
      scope: "dm",
      type: "fact",
      subject: "Ann",
      statement: "Ann drinks tea in the dm.",
      assertedBy: "Ann",
      importance: 0.5,
      at: AT.toISOString(),
      sources: [
        { message: "dm-1", author: "u-ann", name: "Ann", at: AT.toISOString(), quote: "tea in the dm" },
      ],
      exportedAt: "",
    },
  );
}

test("memories go into a file and out of it where their messages are, once, as far as they were seen", async () => {
  await plant();
  const file = path.join(to.home.folder, "memories.jsonl");
  await exportAll(file);
  const read = await to.home.run("memories", "import", file);
  assert.equal(read.code, 0, read.stderr);
  assert.deepEqual(read.out, [
    "3 memories added.",
    "1 refused: a message that proves it is not in the log, or was taken back (line 3)",
    "1 refused: no such channel (line 4)",
  ]);
  const expected = [
    {
      statement: "Ann drinks tea in the dm.",
      scope: "dm",
      validTo: null,
      name: "dm",
      quotes: ["tea in the dm"],
    },
    // The channel shares here what it did not share there.
    {
      statement: "Ann drinks tea in the mill.",
      scope: "channel",
      validTo: null,
      name: "mill",
      quotes: ["tea in the mill"],
    },
    {
      statement: "The wheel is old.",
      scope: "channel",
      validTo: new Date("2026-11-23"),
      name: "mill",
      quotes: ["wheel is old"],
    },
  ].map((one) => ({ ...one, imported: true, readFrom: 1 }));
  assert.deepEqual(await memories(to), expected);
  const twice = await to.home.run("memories", "import", file);
  assert.equal(twice.out[0], "0 memories added. 3 known already.");
  assert.deepEqual(await memories(to), expected);
  assert.match(
    (await to.home.run("memories", "--channel", "test:dm")).out.join("\n"),
    /importance 0\.50, imported\n/,
  );
});

test("what is taken back takes an imported memory that tells of it, and no file brings it back", async () => {
  const file = path.join(to.home.folder, "memories.jsonl");
  const mill = await place(to, "mill", { shares: true });
  await to.open.store.log.delete(mill, "mill-1", TEST_DIGESTER);
  assert.equal((await memories(to)).length, 2);
  const back = await to.home.run("memories", "import", file);
  assert.equal(back.out[0], "0 memories added. 2 known already.");
  assert.match(
    back.out.join("\n"),
    /2 refused: a message that proves it is not in the log, or was taken back \(lines 1, 3\)/,
  );
});

test("a file with a wrong line adds nothing, and says which line it is", async () => {
  const before = await memories(to);
  const file = path.join(to.home.folder, "wrong.jsonl");
  const good = (await readFile(path.join(to.home.folder, "memories.jsonl"), "utf8")).split("\n")[0] ?? "";
  await writeFile(file, `${good}\n\n{"agent":"main"}\nnonsense\n`);
  const { code, stderr } = await to.home.run("memories", "import", file);
  assert.equal(code, 1);
  assert.match(
    stderr,
    /^2 lines cannot be read as a memory, and nothing was added:\n.*wrong\.jsonl:3: .*channel.*\n.*wrong\.jsonl:4: this is no JSON$/m,
  );
  assert.deepEqual(await memories(to), before);
  const missing = await to.home.run("memories", "import", path.join(to.home.folder, "nothing.jsonl"));
  assert.equal(missing.code, 1);
  assert.match(missing.stderr, /nothing\.jsonl cannot be read: ENOENT/);
});

test("what another agent answers, or was told in private, comes into no other place", async () => {
  const file = path.join(to.home.folder, "moved.jsonl");
  const lines = (await readFile(path.join(to.home.folder, "memories.jsonl"), "utf8")).trim().split("\n");
  const dm = lines.map((one): Record<string, unknown> => JSON.parse(one)).find(({ scope }) => scope === "dm");
  assert.ok(dm);
  const changed = [
    { ...dm, agent: "other" },
    { ...dm, channel: "test:mill" },
    {
      ...dm,
      statement: "Ann drinks rum in the dm.",
      sources: [{ ...Object(Object(dm)["sources"][0]), author: "u-ben" }],
    },
  ];
  await writeFile(file, changed.map((one) => JSON.stringify(one)).join("\n"));
  const { out } = await to.home.run("memories", "import", file);
  assert.deepEqual(out, [
    "0 memories added.",
    "1 refused: another agent answers there (line 1)",
    "1 refused: it was told in private, and this channel is none (line 2)",
    "1 refused: a message that proves it is not in the log, or was taken back (line 3)",
  ]);
});

test("what no database can hold is refused as everything else is that the log has not", async () => {
  const file = path.join(to.home.folder, "bytes.jsonl");
  const lines = (await readFile(path.join(to.home.folder, "memories.jsonl"), "utf8")).trim().split("\n");
  const dm = lines.map((one): Record<string, unknown> => JSON.parse(one)).find(({ scope }) => scope === "dm");
  assert.ok(dm);
  const source: object = Object(Object(dm)["sources"][0]);
  const changed = [
    { ...dm, channel: "test:\0" },
    { ...dm, sources: [{ ...source, message: "dm-1\0" }] },
    { ...dm, sources: [{ ...source, author: "\ud800" }] },
    { ...dm, sources: [{ ...source, quote: "tea\0in the dm" }], statement: "Ann drinks tea." },
  ];
  await writeFile(file, changed.map((one) => JSON.stringify(one)).join("\n"));
  const { code, out, stderr } = await to.home.run("memories", "import", file);
  assert.equal(code, 0, stderr);
  assert.deepEqual(out, [
    "1 memory added.",
    "1 refused: no such channel (line 1)",
    "2 refused: a message that proves it is not in the log, or was taken back (lines 2, 3)",
  ]);
});

test("what a tool has seen comes back where its result is in the log", async () => {
  const channel = await place(from, "lock");
  const epoch = await from.open.store.channels.take(channel);
  const asked = await say(from, channel, "lock-1", "how is the lock?");
  const [turn] = await from.open.sql<{ id: number }>(
    "insert into turns (channel_id, epoch, from_seq, to_seq) values ($1, $2, $3, $3) returning id",
    channel,
    epoch,
    asked,
  );
  const of = { id: turnId(turn?.id ?? 0), after: asked };
  const call = { id: "c", name: "look_up", arguments: "{}" };
  const result = {
    callId: "c",
    tool: "look_up",
    text: "The lock has 4 gates.",
    references: [],
    memories: [],
  };
  await from.open.store.log.appendTurnEntries(
    { channel, epoch },
    of,
    [
      { kind: "tool_call", text: "", calls: [call] },
      { kind: "tool_result", ...result, isFinding: true },
    ],
    AT,
  );
  const id = await rememberIn(from.open, channel, {
    type: "observation",
    tool: "look_up",
    assertedBy: "look_up",
    subject: "the lock",
    statement: "The lock has 4 gates.",
    at: AT,
    sources: [{ seq: asked + 2, quote: "lock has 4 gates" }],
  });
  const file = path.join(from.home.folder, "lock.jsonl");
  assert.equal((await from.home.run("memories", "export", file, "--channel", "test:lock")).code, 0);
  assert.match(
    await readFile(file, "utf8"),
    /"tool":"look_up".*"name":"look_up".*"author":null,"message":null/,
  );
  await from.open.store.people.forgetMemory(channel, memoryId(id));
  assert.deepEqual((await from.home.run("memories", "import", file)).out, ["1 memory added."]);
  assert.deepEqual(await from.open.sql("select tool, scope from memories where channel_id = $1", channel), [
    { tool: "look_up", scope: "channel" },
  ]);
  await place(to, "lock");
  assert.match(
    (await to.home.run("memories", "import", file)).out.join(),
    /1 refused: a message that proves it/,
  );
});
