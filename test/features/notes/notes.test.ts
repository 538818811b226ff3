// proves: src/features/notes/turn-notes.ts, src/features/notes/note-sweeper.ts, src/features/notes/note-store.ts, src/admin/reports/channel-report.ts, src/features/notes/feature.ts
// What an agent notes of a channel is read in that channel alone, and tells nothing that was taken back.
import assert from "node:assert/strict";
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { type TestContext, test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import type { InboundMessage } from "../../../src/core/message.ts";
import { command } from "../../support/commands.ts";
import { openStore } from "../../store/open-store.ts";
import { rowsWith } from "../../store/rows-with.ts";
import { createTestDatabase, type TestDatabase } from "../../support/database.ts";
import { text, toolCalls } from "../../support/model-behaviours.ts";
import { type ModelServer, startModelServer } from "../../support/model-server.ts";
import { TestPlatform } from "../../support/test-platform.ts";
import { startWeir, type TestWeir } from "../../support/weir.ts";

interface World {
  readonly database: TestDatabase;
  readonly server: ModelServer;
  readonly agentsDir: string;
  readonly start: (more?: string) => Promise<TestWeir>;
  /** What stands in a file of the agent's folder; "": there is none. */
  readonly file: (name: string) => Promise<string>;
}

async function world(t: TestContext): Promise<World> {
  const database = await createTestDatabase();
  t.after(async () => database[Symbol.asyncDispose]());
  const server = await startModelServer();
  t.after(async () => server[Symbol.asyncDispose]());
  const agentsDir = await mkdtemp(path.join(tmpdir(), "weir-notes-"));
  t.after(async () => rm(agentsDir, { recursive: true, force: true }));
  await mkdir(path.join(agentsDir, "main"));
  return {
    database,
    server,
    agentsDir,
    start: async (more = "") =>
      startWeir({
        connection: database.connection,
        modelUrl: server.url,
        config: `[[agents]]\nid = "main"\nmodel = "test-model"\ncontext_window = 32768\n${more}`,
        agentsDir,
        platform: new TestPlatform({ serves: () => true }),
      }),
    file: async (name) => readFile(path.join(agentsDir, "main", name), "utf8").catch(() => ""),
  };
}

interface Asked {
  readonly weir: TestWeir;
  readonly server: ModelServer;
}

/** What the model wants noted, the first time that it is asked; then it says "noted". */
function wants(
  server: ModelServer,
  call: { readonly name: string; readonly arguments: Record<string, unknown> } | null,
  before: () => Promise<unknown> = async () => undefined,
): void {
  let isCalled = call === null;
  server.respond((request) => {
    if (isCalled || call === null || request.tools === undefined) return text("noted");
    isCalled = true;
    return async (exchange) => {
      await before();
      await toolCalls([call])(exchange);
    };
  });
}

/** Says something, waits for the answer. @returns the dynamic part of the first request and the last tool result */
async function ask(
  { weir, server }: Asked,
  room: string,
  words: string,
  more: Partial<InboundMessage> = {},
): Promise<{ dynamic: string; result: string; tools: string[]; system: string }> {
  const told = weir.platform.texts(room).length;
  const before = server.requests.length;
  await weir.say(words, { channel: { platform: "discord", name: room }, room, workspace: "w", ...more });
  await weir.platform.until(() => weir.platform.texts(room).length > told);
  const [first, ...others] = server.requests.slice(before).map(({ body }) => body);
  const messages = first?.messages ?? [];
  return {
    dynamic: messages.at(-1)?.content ?? "",
    system: messages[0]?.content ?? "",
    tools: (first?.tools ?? []).map((tool) => tool.function.name),
    result: others.at(-1)?.messages.findLast(({ role }) => role === "tool")?.content ?? "",
  };
}

const LIFT = { name: "memory_write", arguments: { text: "The lift is serviced in May." } };

test("what is noted in a channel is shown there and in its threads, and nowhere else", async (t) => {
  const { server, start, file } = await world(t);
  await using weir = await start();
  const scene = { weir, server };
  wants(server, LIFT);
  const asked = await ask(scene, "yard", "keep in mind: the lift is serviced in May");
  assert.equal(asked.result, "Noted, for this conversation alone.");
  assert.match(asked.system, /You may keep notes there/);
  assert.match(
    await file("channels/discord-yard/MEMORY.md"),
    /^- The lift is serviced in May\. <!-- note \d+ -->\n$/,
  );
  const shown = /Lasting notes that you have made[^\n]*:\n> - The lift is serviced in May\.\n/;
  assert.match((await ask(scene, "yard", "good morning")).dynamic, shown);
  assert.doesNotMatch((await ask(scene, "office", "what about the lift?")).dynamic, /serviced/);
  const dm = { kind: "dm", workspace: "" } as const;
  assert.doesNotMatch((await ask(scene, "ann", "what about the lift?", dm)).dynamic, /serviced/);
  const place = { workspace: "w", channel: "a thread", parent: { id: "yard", name: "yard" } };
  const thread = await ask(scene, "thread", "and here?", { kind: "thread", place });
  assert.match(thread.dynamic, shown);

  // What was noted of people's own words is no secret of the operator's.
  const shownTo = async (room: string): Promise<string> =>
    command(weir, room, "context detail memory:discord-yard", undefined, "discord");
  assert.match(await shownTo("yard"), /noted in this conversation[^]*\n- The lift is serviced in May\./);
  assert.match(await shownTo("office"), /for the owners|owner/);

  wants(server, { name: "note", arguments: { text: "Ann has told me a secret" } });
  await ask(scene, "ann", "psst", dm);
  for (const room of ["yard", "office"])
    assert.doesNotMatch(JSON.stringify(await ask(scene, room, "what did Ann tell you?")), /secret/, room);
  assert.match(
    (await ask(scene, "ann", "and?", dm)).dynamic,
    /noted today of this conversation[^\n]*:\n> - Ann has told/,
  );
});

test("a line takes another's place or goes, but not one that a person has edited or written", async (t) => {
  const { server, start, file, agentsDir } = await world(t);
  await using weir = await start();
  const scene = { weir, server };
  const MEMORY = "channels/discord-yard/MEMORY.md";
  const write = async (args: { text: string; replaces?: string }): Promise<string> => {
    wants(server, { name: "memory_write", arguments: args });
    return (await ask(scene, "yard", "please")).result;
  };
  await write({ text: "The crane is red." });
  await write({ text: "The crane is old." });
  assert.match(await write({ text: "The crane is old." }), /stands there already/);
  assert.match(await write({ text: "x", replaces: "The crane" }), /^Error: Several lines/);
  assert.match(await write({ text: "x", replaces: "The boat" }), /^Error: No line of yours/);
  assert.equal(await write({ text: "The crane is blue.", replaces: "is red" }), "Replaced.");
  assert.match(await file(MEMORY), /^- The crane is blue\. <!-- note 3 -->\n- The crane is old\. [^\n]*\n$/);
  const byHand = `# By hand\n- The key hangs by the door.\n${(await file(MEMORY)).replace("is old", "is from 1998")}`;
  await writeFile(path.join(agentsDir, "main", MEMORY), byHand);
  assert.match(await write({ text: "", replaces: "1998" }), /^Error: Somebody has edited that line/);
  assert.match(await write({ text: "x", replaces: "The key" }), /^Error: No line of yours/);
  assert.equal(await write({ text: "", replaces: "blue" }), "Removed.");
  assert.equal(
    await file(MEMORY),
    "# By hand\n- The key hangs by the door.\n- The crane is from 1998. <!-- note 2 -->\n",
  );
  assert.match(await write({ text: " \n " }), /^Error: Nothing was written: the note has no text/);
  assert.match(await write({ text: "x".repeat(501) }), /500 characters/);
  assert.match(await write({ text: "x".repeat(3000) }), /^Error: the arguments do not fit/);
});

test("a model that was asked before a deletion cannot note what was deleted", async (t) => {
  const { server, start, agentsDir, database } = await world(t);
  await using weir = await start();
  const scene = { weir, server };
  for (const change of ["deletion", "edit"] as const) {
    wants(server, null);
    await ask(scene, "yard", "the code is zxqpine", { id: change });
    const words = { type: change, platform: "discord", id: change, at: new Date() } as const;
    // Between the request and its answer; the turn itself begins again without the text.
    wants(server, { name: "memory_write", arguments: { text: "zxqpine" } }, async () =>
      weir.daemon.inbox.receive(
        words.type === "edit"
          ? { ...words, type: "edit", text: "never mind" }
          : { ...words, type: "deletion" },
      ),
    );
    await ask(scene, "yard", `and now, after the ${change}?`);
    assert.deepEqual(
      (await readdir(agentsDir, { recursive: true })).filter((name) => name.endsWith(".md")),
      [],
    );
  }
  await using open = openStore(database.connection);
  assert.deepEqual(await open.sql("select text from notes"), []);
});

test("a thread's turn that was shown a note of its channel begins again without it, and has called with none of its words", async (t) => {
  const { server, start, database } = await world(t);
  await using weir = await start();
  const scene = { weir, server };
  const yard = { channel: { platform: "discord", name: "yard" }, room: "yard" };
  await weir.say("the code is zxqpine", { ...yard, id: "secret", addressed: false });
  wants(server, { name: "memory_write", arguments: { text: "The code is zxqpine." } });
  await ask(scene, "yard", "keep it in mind");
  await using open = openStore(database.connection);
  const place = { workspace: "w", channel: "a thread", parent: { id: "yard", name: "yard" } };
  const before = server.requests.length;
  wants(server, { name: "search_history", arguments: { query: "zxqpine" } }, async () => {
    const deletion = { type: "deletion", platform: "discord", id: "secret", at: new Date() } as const;
    assert.equal((await weir.daemon.inbox.receive(deletion)).outcome, "accepted");
  });
  await ask(scene, "thread", "what do you know?", { kind: "thread", place });
  const [first, again] = server.requests.slice(before).map(({ body }) => JSON.stringify(body));
  assert.match(first ?? "", /zxqpine/);
  assert.doesNotMatch(again ?? "", /zxqpine/);
  assert.deepEqual(await rowsWith(open, "zxqpine"), []);
});

test("a line that is to go leaves its file at the next start, and is not shown before", async (t) => {
  const { server, start, file, database, agentsDir } = await world(t);
  {
    await using weir = await start();
    wants(server, LIFT);
    await ask({ weir, server }, "yard", "the lift is serviced in May");
  }
  await using open = openStore(database.connection);
  // As a deletion leaves it whose daemon dies before the file follows.
  await open.sql("update notes set text = '', gone_at = now()");
  const MEMORY = "channels/discord-yard/MEMORY.md";
  assert.match(await file(MEMORY), /serviced/);
  await using weir = await start();
  wants(server, null);
  assert.doesNotMatch((await ask({ weir, server }, "yard", "hello")).dynamic, /serviced/);
  while ((await file(MEMORY)) !== "") await delay(20);
  assert.ok((await readdir(agentsDir, { recursive: true })).includes(path.join("main", MEMORY)));
});

test("an agent without a folder, or that is to keep no notes, is not offered any", async (t) => {
  const { server, start, agentsDir } = await world(t);
  wants(server, null);
  const offered = async (more: string): Promise<string[]> => {
    await using weir = await start(more);
    const { tools, system } = await ask({ weir, server }, "yard", "hello");
    assert.equal(/You may keep notes/.test(system), tools.includes("note"));
    return tools.filter((name) => name === "note" || name === "memory_write");
  };
  assert.deepEqual(await offered(""), ["memory_write", "note"]);
  assert.deepEqual(await offered("notes = false\n"), []);
  await rm(path.join(agentsDir, "main"), { recursive: true });
  assert.deepEqual(await offered(""), []);
});

test("notes that cannot be written cost nobody an answer", async (t) => {
  const { server, start, agentsDir } = await world(t);
  await using weir = await start();
  await writeFile(path.join(agentsDir, "main/channels"), "a file in the folder's place");
  wants(server, LIFT);
  const { result } = await ask({ weir, server }, "yard", "the lift is serviced in May");
  assert.match(result, /^Error: The note could not be written/);
});
