// proves: src/context/assemble.ts, src/context/render.ts
import assert from "node:assert/strict";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { after, test } from "node:test";
import { command } from "../../support/commands.ts";
import { createTestDatabase } from "../../support/database.ts";
import { text, toolCalls } from "../../support/model-behaviours.ts";
import { type ChatRequest, type ModelServer, startModelServer } from "../../support/model-server.ts";
import { piecesIn } from "../../support/request-pieces.ts";
import { startWeir, type TestWeir } from "../../support/weir.ts";

const database = await createTestDatabase();
after(async () => database[Symbol.asyncDispose]());
/** A window in which all of it fits: what an emergency omits breaks the prefix rightly. */
const CONFIG = `[[agents]]\nid = "main"\nmodel = "test-model"\ntime_zone = "UTC"\ncontext_window = 128000\n[agents.compaction]\nenabled = false\n`;

/** A turn's number is in the message that asks for it. */
const TURNS = 60;
/** Old tool results become stubs in steps of this many turns: there the prefix may break, and nowhere else. */
const STEP = 8;

function numberOf(request: ChatRequest): number {
  const asked =
    piecesIn(request).findLast(({ content }) => content?.includes("turn:") === true)?.content ?? "";
  return Number(/turn:(\d+)/.exec(asked)?.[1]);
}

/** What a template writes of a message. */
function templateText({ messages }: ChatRequest): string {
  return messages
    .map(({ role, content, tool_calls: calls = [] }) => `<${role}>${content ?? ""}${JSON.stringify(calls)}`)
    .join("");
}

/** System and history: all before the dynamic part. */
function stablePart(request: ChatRequest): string {
  const [stable = "", ...more] = templateText(request).split("\n[System: what is true just now");
  assert.equal(more.length, 1);
  return stable;
}

/** Where a request does not begin as the one before it did: a piece of both; null: it does. */
function breakOf(before: ChatRequest, now: ChatRequest): string | null {
  const [stable, whole] = [stablePart(before), templateText(now)];
  if (whole.startsWith(stable)) return null;
  let at = 0;
  while (stable[at] === whole[at]) at++;
  return `${stable.slice(at - 20, at + 80)} became ${whole.slice(at - 20, at + 80)}`;
}

function checkPairs({ messages }: ChatRequest): void {
  for (let index = 0; index < messages.length; index++) {
    const ids = (messages[index]?.tool_calls ?? []).map(({ id }) => id);
    const results = messages.slice(index + 1, index + 1 + ids.length).map(({ tool_call_id }) => tool_call_id);
    assert.deepEqual(results, ids, "each call is followed by its results");
    index += ids.length;
    assert.ok(ids.length > 0 || messages[index]?.role !== "tool", "a result without its call");
  }
}

/** Half of the turns call tools; some answers are long in coming, and people go on talking meanwhile. */
async function converse(weir: TestWeir, server: ModelServer, from: number, to: number): Promise<void> {
  const room = "prefix";
  for (let turn = from; turn <= to; turn++) {
    const gate = Promise.withResolvers<void>();
    const calls = [
      { name: "search_history", arguments: { query: `chatter ${turn}` } },
      { name: "no_such_tool", arguments: { turn } },
    ];
    if (turn % 2 === 0) server.reply(toolCalls(calls, { text: turn % 4 === 0 ? "One moment." : "" }));
    const sent = server.requests.length;
    server.reply(async (exchange) => {
      await gate.promise;
      await text(`answer ${turn} ${"lorem ".repeat(turn % 7)}`)(exchange);
    });
    await weir.say(`chatter ${turn} ${"x".repeat(500)}`, { room, id: `c-${turn}`, addressed: false });
    await weir.say(`turn:${turn}`, { room, id: `t-${turn}` });
    await server.received(sent + (turn % 2 === 0 ? 2 : 1));
    if (turn % 3 === 0) await weir.say(`meanwhile ${turn}`, { room, id: `w-${turn}`, addressed: false });
    if (turn % 5 === 0) {
      const channel = { platform: "test", name: room };
      const edit = {
        type: "edit",
        platform: "test",
        channel,
        id: `t-${turn - 1}`,
        text: `edited ${turn}`,
      } as const;
      if (turn > from) await weir.daemon.inbox.receive({ ...edit, at: new Date() });
    }
    gate.resolve();
    await weir.event("turn_settled", ({ inReplyTo }) => inReplyTo.includes(`t-${turn}`));
  }
}

test("over a long conversation with tools, edits and restarts each request begins with the one before it", async () => {
  await using server = await startModelServer();
  const options = { connection: database.connection, modelUrl: server.url, config: CONFIG };
  for (const [from, to] of [
    [1, 20],
    [21, 41],
    [42, TURNS],
  ] as const) {
    await using weir = await startWeir(options);
    await converse(weir, server, from, to);
    const row = await weir.daemon.store.channels.find({ platform: "test", name: "prefix" });
    assert.ok(row);
    const { history } = await weir.daemon.store.load(row.id);
    assert.deepEqual(weir.daemon.registry.loaded(row.id)?.history.current, history);
  }
  const broken = new Set<number>();
  let before: ChatRequest | undefined;
  for (const { body } of server.requests) {
    checkPairs(body);
    if (before !== undefined && breakOf(before, body) !== null) broken.add(numberOf(body));
    before = body;
  }
  assert.ok(broken.size <= TURNS / STEP, `broken at ${[...broken].join(", ")}`);
  assert.ok(
    [...broken].every((turn, index, all) => index === 0 || turn - (all[index - 1] ?? 0) >= STEP),
    `broken at ${[...broken].join(", ")}`,
  );
});

test("what changes with every turn, memories, notes and skills, leaves the prefix as it is", async (t) => {
  const agentsDir = await mkdtemp(path.join(tmpdir(), "weir-prefix-"));
  t.after(async () => rm(agentsDir, { recursive: true, force: true }));
  const write = async (file: string, words: string): Promise<void> => {
    await mkdir(path.dirname(path.join(agentsDir, file)), { recursive: true });
    await writeFile(path.join(agentsDir, file), words);
  };
  await write("main/SOUL.md", "You are calm.");
  await using server = await startModelServer();
  const noted = new Set<number>();
  let turn = 0;
  server.respond((request) => {
    // A summariser is offered other tools.
    if (request.tools?.some((tool) => tool.function.name === "note") !== true)
      return text("Ann counts turns.");
    if (noted.has(turn)) return text(`answer ${turn}`, { usage: "none" });
    noted.add(turn);
    return toolCalls([
      { name: "memory_write", arguments: { text: `Ann has counted to ${turn}.` } },
      { name: "note", arguments: { text: `it was turn ${turn}` } },
    ]);
  });
  await using fresh = await createTestDatabase();
  await using weir = await startWeir({
    connection: fresh.connection,
    modelUrl: server.url,
    config: CONFIG.replace("enabled = false", "keep_messages = 2"),
    agentsDir,
  });
  const shown = { memories: 0, notes: 0, skills: 0 };
  let before: ChatRequest | undefined;
  for (turn = 1; turn <= 40; turn++) {
    await write("main/MEMORY.md", `The operator has written ${turn} times.`);
    await write("main/skills/count/SKILL.md", `---\nname: count\ndescription: counts to ${turn}\n---\nx`);
    const id = `n-${turn}`;
    await command(weir, "notes", `remember Ann likes the number ${turn}, and to count turns`);
    const sent = server.requests.length;
    await weir.say(`turn:${turn} how far do we count turns, and what number does Ann like?`, {
      room: "notes",
      id,
    });
    await weir.event("turn_settled", ({ inReplyTo }) => inReplyTo.includes(id));
    for (const { body } of server.requests.slice(sent)) {
      checkPairs(body);
      assert.equal(before === undefined ? null : breakOf(before, body), null, `turn ${turn}`);
      before = body;
    }
    const dynamic = server.requests[sent]?.body.messages.at(-1)?.content ?? "";
    if (turn === 10) {
      // What is remembered is looked up where something has left the view; that may change the prefix.
      assert.match(await command(weir, "notes", "compact"), /summarised/i);
      before = undefined;
    }
    shown.memories += Number(dynamic.includes("Ann likes the number"));
    shown.notes += Number(
      dynamic.includes(`Ann has counted to ${turn - 1}.`) && dynamic.includes(`it was turn ${turn - 1}`),
    );
    shown.skills += Number(dynamic.includes("- count: counts to"));
  }
  assert.ok(shown.notes >= 35 && shown.skills >= 20 && shown.memories >= 20, JSON.stringify(shown));
});
