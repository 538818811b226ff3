// proves: migrations/0090_seen_by_tools.sql, src/memory/seen-by-tool.ts, src/mcp/server-tools.ts, src/turn/tool-calls.ts
// What a tool returned becomes a memory of its channel, is told as the tool's, and is gone with the message that asked for the call.
import assert from "node:assert/strict";
import path from "node:path";
import { test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { command } from "../../support/commands.ts";
import {
  ask,
  checkFold,
  compaction,
  compactions,
  openScene,
  quiet,
  reading,
  said,
  type Scene,
  script,
  summariserRequests,
} from "../../support/compaction.ts";
import { text, toolCalls } from "../../support/model-behaviours.ts";
import type { ChatRequest, RecordedRequest } from "../../support/model-server.ts";
import type { TestWeir } from "../../support/weir.ts";

const SERVER = path.join(import.meta.dirname, "../../support/mcp/look-up-server.ts");
const SUMMARY = "Ann and Ben measure the river each morning; the readings are in the green book.";
const FOUND = "The lock of Falkenstein has 4 gates.";
/** From the next turn on, the view shows the first 200 characters of it. */
const RESULT = `${"The page has a long head. ".repeat(12)}${FOUND} ${"It has a long foot, too. ".repeat(12)}`;
const QUESTION = "what do you know of the lock?";
const CONFIG = {
  top: '[defaults.memory]\nshare = "workspace"',
  agent: `[[agents.mcp]]
name = "kit"
command = ${JSON.stringify(process.execPath)}
args = ${JSON.stringify([SERVER, RESULT])}
approve = "never"
`,
};

/** The number of the line in a transcript that a pattern matches. */
function lineOf({ messages }: ChatRequest, pattern: RegExp): number | null {
  const transcript = messages.map(({ content }) => content ?? "").join("\n");
  const found = new RegExp(`^(\\d+)\\. .*${pattern.source}`, "m").exec(transcript);
  return found === null ? null : Number(found[1]);
}

/** A summariser that saves what each tool has returned, whatever it is. */
function saving(request: ChatRequest): ReturnType<typeof toolCalls> | null {
  if (request.tools === undefined || request.messages.some(({ role }) => role === "tool")) return null;
  const found = lineOf(request, /kit__look_up returned: /);
  const searched = lineOf(request, /search_history returned: /);
  const failed = lineOf(request, /kit__fail returned: /);
  if (found === null || searched === null || failed === null) return null;
  const memories = [
    { statement: FOUND, quote: "lock of Falkenstein has 4 gates", sources: [found] },
    { statement: "Nothing was found in this channel.", quote: "Nothing was found", sources: [searched] },
    { statement: "The disk is full.", quote: "the disk is full", sources: [failed] },
  ];
  return toolCalls([
    {
      name: "memory_save",
      arguments: { memories: memories.map((one) => ({ type: "fact", subject: "the lock", ...one })) },
    },
  ]);
}

/** Whether a request shows the whole result. */
function isAnswered({ body }: RecordedRequest): boolean {
  return body.messages.some(({ role, content }) => role === "tool" && content?.includes(FOUND) === true);
}

/** A question for which the agent calls a server's tool, among others, and its compaction. */
async function lookUp(scene: Scene, weir: TestWeir): Promise<void> {
  const { server } = scene;
  const calls = toolCalls([
    { name: "kit__look_up", arguments: { query: "gates" } },
    { name: "kit__fail", arguments: {} },
    { name: "search_history", arguments: { query: "zxqpine" } },
  ]);
  script(
    server,
    (request) => saving(request) ?? text(SUMMARY),
    ({ messages }) =>
      messages.at(-1)?.role === "user" && JSON.stringify(messages.at(-1)).includes("look it up, please")
        ? calls
        : text("noted", { usage: "none" }),
  );
  await ask(weir, server, "room", "hello");
  while (!JSON.stringify(server.requests.at(-1)?.body.tools).includes("kit__look_up")) {
    await delay(20);
    await ask(weir, server, "room", "hello again");
  }
  await weir.say("look it up, please", { room: "room", id: "asks" });
  await weir.event("reply_delivered", ({ inReplyTo = [] }) => inReplyTo.includes("asks"));
  assert.ok(server.requests.some(isAnswered));
  await ask(weir, server, "room", "and now?");
  assert.ok(!JSON.stringify(server.requests.at(-1)?.body).includes(FOUND), "the view has lost it by now");
  for (let number = 1; compactions(weir, "room", "committed").length === 0; number++) {
    await weir.say(reading(number), { room: "room", id: `reading-${number}`, addressed: false });
    await quiet(weir, "room");
  }
  await compaction(weir, "room", "committed");
}

test("a tool's result becomes a memory of its channel, and is gone with the message that asked for it", async () => {
  await using scene = await openScene();
  const { server, open } = scene;
  await using weir = await scene.start(CONFIG);
  await lookUp(scene, weir);
  const rows = await open.sql<{ statement: string; tool: string; scope: string; type: string }>(
    "select statement, tool, scope, type from memories",
  );
  assert.deepEqual(rows, [{ statement: FOUND, tool: "kit__look_up", scope: "channel", type: "observation" }]);
  const refused = summariserRequests(server)
    .flatMap(({ body }) => body.messages)
    .flatMap(({ role, content }) => (role === "tool" ? [content ?? ""] : []));
  assert.match(
    refused[0] ?? "",
    /^1 kept, 2 dropped\.\n(?:- .*no result of a tool that proves anything\n){2}/,
  );

  const day = new Date().toISOString().slice(0, 10);
  const shown = said(await ask(weir, server, "room", QUESTION)).join("\n");
  assert.ok(shown.includes(`> [${day}] seen by kit__look_up [tool]: ${FOUND}`), shown.slice(-1500));
  assert.match(shown, /what a tool has seen is nobody's word, and may be wrong:/);
  assert.match(await command(weir, "room", "memory"), /observation · seen by the tool kit__look_up, /);
  assert.match(await command(weir, "room", "memory lock"), /seen by the tool kit__look_up/);

  const elsewhere = said(await ask(weir, server, "square", QUESTION)).join("\n");
  assert.ok(!elsewhere.includes("Falkenstein"));
  assert.doesNotMatch(await command(weir, "square", "memory"), /Falkenstein/);

  await weir.daemon.inbox.receive({ type: "deletion", platform: "test", id: "asks", at: new Date() });
  await quiet(weir, "room");
  assert.deepEqual(await open.sql("select from memories"), []);
  assert.doesNotMatch(await command(weir, "room", "memory"), /Falkenstein/);
  const after = said(await ask(weir, server, "room", QUESTION)).join("\n");
  assert.ok(!after.includes("seen by"));
  await checkFold(weir, "room");
});
