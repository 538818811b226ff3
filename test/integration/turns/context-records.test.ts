// proves: src/core/context.ts, src/channel/turns/context-record.ts, src/channel/turns/context-recorder.ts, src/admin/reports/turn-context.ts, src/cli/context.ts, src/admin/commands/why.ts, src/admin/reports/compaction-monitor.ts, src/store/turns/answer-provenance.ts
import assert from "node:assert/strict";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { after, test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { type ContextRecord, KEPT_RECORDS } from "../../../src/store/turns/context-records.ts";
import { type OpenStore, openStore } from "../../store/open-store.ts";
import { command } from "../../support/commands.ts";
import { createTestDatabase } from "../../support/database.ts";
import { inspect } from "../../support/inspectors.ts";
import { text } from "../../support/model-behaviours.ts";
import { type ModelServer, startModelServer } from "../../support/model-server.ts";
import { OWNED, OWNER } from "../../support/owners.ts";
import { TestPlatform } from "../../support/test-platform.ts";
import { connectionUrl, startWeir, type TestWeir } from "../../support/weir.ts";

const folder = await mkdtemp(path.join(tmpdir(), "weir-records-"));
after(async () => rm(folder, { recursive: true, force: true }));
const agentsDir = path.join(folder, "agents");
await mkdir(path.join(agentsDir, "main"), { recursive: true });
await writeFile(path.join(agentsDir, "main", "MEMORY.md"), "The crane in src/crane.ts was bought in 1998.");

const CONFIG = `
${OWNED}
[[agents]]
id = "main"
model = "test-model"
context_window = 32768
time_zone = "UTC"
`;
await writeFile(path.join(folder, "config.toml"), CONFIG);

interface World {
  readonly weir: TestWeir;
  readonly server: ModelServer;
  readonly beside: OpenStore;
  /** What `weir` prints of these words, and what it complains of. */
  run(...words: readonly string[]): Promise<{ readonly stdout: string; readonly stderr: string }>;
}

async function openWorld(use: (world: World) => Promise<void>): Promise<void> {
  await using database = await createTestDatabase();
  await using beside = openStore(database.connection);
  await using server = await startModelServer();
  server.respond(() => text("noted"));
  await using weir = await startWeir({
    connection: database.connection,
    modelUrl: server.url,
    config: CONFIG,
    agentsDir,
    platform: new TestPlatform({ serves: () => true }),
  });
  const env = { DATABASE_URL: connectionUrl(database.connection), OPENAI_BASE_URL: server.url };
  await use({
    weir,
    server,
    beside,
    run: async (...words) => inspect(folder, env, [words]),
  });
}

/** Says something, waits for the answer and the record of its turn. */
async function ask(
  { weir, beside }: World,
  words: string,
  id: string,
  platform = "test",
): Promise<ContextRecord> {
  const told = weir.platform.texts("yard").length;
  await weir.say(words, { channel: { platform, name: "yard" }, room: "yard", id });
  await weir.platform.until(() => weir.platform.texts("yard").length > told);
  for (;;) {
    const channel = await beside.store.channels.find({ platform, name: "yard" });
    assert.ok(channel !== undefined);
    const [turn] = await beside.sql<{ id: number }>("select id from turns order by id desc limit 1");
    const record = await beside.store.contextRecords.find(channel.id, null);
    if (record !== undefined && record.turn === turn?.id) return record;
    await delay(5);
  }
}

test("the context of each turn is kept: numbers, ranges, hashes and the sections, and whether a cache could hit", async () => {
  await openWorld(async (world) => {
    const first = await ask(world, "good morning", "yard-1");
    const second = await ask(world, "please fix src/crane.ts", "yard-2");
    assert.equal(first.prefix.continues, null);
    assert.equal(second.prefix.continues, true);
    assert.ok(second.prefix.messages > first.prefix.messages);
    assert.notEqual(second.prefix.sha256, first.prefix.sha256);
    assert.equal(second.model, "test-model");
    assert.equal(second.window, 32_768);
    assert.equal(
      second.tokens,
      second.segments.reduce((sum, { tokens }) => sum + tokens, 0),
    );
    assert.equal(second.pressure, "low");
    assert.deepEqual(second.raw, { fromSeq: 1, toSeq: 3, count: 3 });
    assert.deepEqual(second.focus.paths, ["src/crane.ts"]);
    assert.deepEqual(second.focus.signals, ["change"]);
    const section = second.sections.find(({ key }) => key === "memory");
    assert.deepEqual(section?.evidence, ["src/crane.ts"]);
    assert.match(section.sha256 ?? "", /^[0-9a-f]{64}$/);
    const of = (size: (one: { readonly tokens: { readonly after: number } }) => number): number =>
      second.sections.reduce((sum, one) => sum + size(one), 0);
    assert.equal(
      of(({ tokens }) => tokens.after),
      second.tokens,
      "the sections are all that was sent",
    );
    assert.doesNotMatch(JSON.stringify(second), /1998/, "no text of a section");
  });
});

test("the contexts of a burst of turns are written together, the newest of each channel, and what waits at the end is written", async () => {
  await using database = await createTestDatabase();
  await using beside = openStore(database.connection);
  const rooms = ["yard", "quay"];
  {
    await using server = await startModelServer();
    server.respond(() => text("noted"));
    const platform = new TestPlatform({ serves: () => true });
    await using weir = await startWeir({
      connection: database.connection,
      modelUrl: server.url,
      config: CONFIG,
      agentsDir,
      platform,
    });
    for (let turn = 1; turn <= KEPT_RECORDS + 5; turn++) {
      for (const room of rooms) await weir.say(`turn ${turn}`, { room, id: `${room}-${turn}` });
      await platform.until(() => rooms.every((room) => platform.texts(room).length >= turn));
    }
  }
  const kept = await beside.sql<{ turns: number; oldest: number; writes: number }>(`
    select count(*)::int as turns, count(distinct xmin::text)::int as writes,
           (select count(*)::int from turns t where t.channel_id = r.channel_id and t.id >= min(r.turn_id)) as oldest
      from context_records r group by channel_id`);
  for (const { turns, oldest, writes } of kept) {
    assert.equal(turns, KEPT_RECORDS);
    assert.equal(oldest, KEPT_RECORDS, "the newest");
    assert.ok(writes < KEPT_RECORDS, "several in one transaction");
  }
  assert.equal(kept.length, rooms.length);
});

test("a changed prefix is told from one that goes on", async () => {
  await openWorld(async (world) => {
    await ask(world, "good morning", "yard-1");
    const { weir } = world;
    const deletion = { type: "deletion", platform: "test", id: "yard-1", at: new Date() } as const;
    await weir.daemon.inbox.receive(deletion);
    const later = await ask(world, "good evening", "yard-2");
    assert.equal(later.prefix.continues, false);
  });
});

test("weir context --turn shows a turn's context, and with --text what was in view as it reads now", async () => {
  await openWorld(async (world) => {
    await world.weir.say("the gate is open", { room: "yard", id: "yard-0", addressed: false });
    const record = await ask(world, "please fix src/crane.ts", "yard-1");
    const { stdout: screen } = await world.run("context", "test:yard", "--turn", "last");
    assert.match(
      screen,
      new RegExp(`^test:yard · turn ${record.turn} · \\d{4}-.* · agent main · model test-model\\n`),
    );
    assert.match(screen, / {2}as it was said: 2 entries, 1–2\n/);
    assert.match(screen, / {4}memory +\d+ tokens {2}.*MEMORY\.md \(always; more so for src\/crane\.ts\)\n/);
    assert.match(screen, / {2}what it was about: "please fix src\/crane\.ts", src\/crane\.ts, change\n/);
    assert.match(screen, / {2}prefix: \d+ messages, sha256 [0-9a-f]{16}…; the first one since/);
    assert.doesNotMatch(screen, /the gate is open/);

    const { stdout: texts } = await world.run(
      "context",
      "test:yard",
      "--turn",
      String(record.turn),
      "--text",
    );
    assert.match(texts, /As it reads now, deletions and edits since then included:\n.*the gate is open/);
    const { stdout: json } = await world.run("context", "test:yard", "--turn", "last", "--text", "--json");
    const parsed: ContextRecord & { texts: { entries: { text: string }[] } } = JSON.parse(json);
    assert.equal(parsed.turn, record.turn);
    assert.deepEqual(
      parsed.texts.entries.map((entry) => entry.text),
      ["the gate is open", "please fix src/crane.ts"],
    );

    const unknown = await world.run("context", "test:yard", "--turn", "999999");
    assert.match(
      unknown.stderr,
      new RegExp(`Of turn 999999 of test:yard no context is kept\\. .* Kept are: ${record.turn} \\(`),
    );
    assert.match((await world.run("context", "test:yard", "--turn", "zzz")).stderr, /"zzz" is neither/);
    assert.match((await world.run("context", "test:yard", "--text")).stderr, /--text goes with --turn/);
  });
});

test("weir context --json says what is due, where the tiers begin and what sections may take", async () => {
  await openWorld(async (world) => {
    await ask(world, "please fix src/crane.ts", "yard-1");
    const { stdout } = await world.run("context", "test:yard", "--json");
    const report = JSON.parse(stdout);
    assert.equal(report.monitor.due, null);
    assert.equal(report.monitor.next.tier, "background");
    assert.ok(report.monitor.next.left > 0 && report.monitor.next.at > report.monitor.next.left);
    assert.equal(report.budget.each, Math.floor(report.usable * (2 / 15)));
    assert.deepEqual(report.truncated, []);
    assert.ok(report.characters > 0 && report.systemShare > 0 && report.systemShare < 1);
    const types: Record<string, number> = report.types;
    assert.equal(
      Object.values(types).reduce((sum, tokens) => sum + tokens, 0),
      report.tokens,
    );
    assert.ok((types["memory"] ?? 0) > 0);
  });
});

test("/why names the sections of the answer, those of the agent's folder to owners alone", async () => {
  await openWorld(async (world) => {
    await ask(world, "please fix src/crane.ts", "yard-1", "discord");
    const owner = await command(world.weir, "yard", "why", OWNER, "discord");
    assert.match(
      owner,
      /Sections of its context:\n- memory, .*MEMORY\.md \(always; more so for src\/crane\.ts\)/,
    );
    const anybody = await command(world.weir, "yard", "why", undefined, "discord");
    assert.doesNotMatch(anybody, /Sections|MEMORY/);
  });
});
