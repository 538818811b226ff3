// proves: src/turn/turn.ts, src/core/context.ts, src/llm/chat/chat-request.ts
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { z } from "zod";
import { createTestDatabase } from "../../support/database.ts";
import { text, toolCalls } from "../../support/model-behaviours.ts";
import { type RecordedRequest, startModelServer } from "../../support/model-server.ts";
import { startWeir } from "../../support/weir.ts";

const database = await createTestDatabase();
after(async () => database[Symbol.asyncDispose]());
const CONFIG = `
[[agents]]
id = "main"
model = "behind-a-gateway"
time_zone = "UTC"
[models."behind-a-gateway"]
cache_markers = true
`;

const part = z.looseObject({ text: z.string(), cache_control: z.unknown().optional() });
const bodySchema = z.looseObject({
  messages: z.array(
    z.looseObject({ role: z.string(), content: z.union([z.string(), z.array(part)]).nullish() }),
  ),
});

/** The text of a request as a template writes it, and what of it the last marker ends. */
function read({ raw }: RecordedRequest): { readonly whole: string; readonly marked: string } {
  const { messages } = bodySchema.parse(JSON.parse(raw));
  let whole = "";
  let marked = "";
  for (const { role, content } of messages) {
    whole += `<${role}>`;
    for (const one of Array.isArray(content) ? content : [{ text: content ?? "" }]) {
      whole += one.text;
      if ("cache_control" in one && one.cache_control !== undefined) marked = whole;
    }
  }
  return { whole, marked };
}

test("each request is marked up to where the next one is the same, also between tool calls", async () => {
  await using server = await startModelServer();
  await using weir = await startWeir({
    connection: database.connection,
    modelUrl: server.url,
    config: CONFIG,
  });
  server.respond(() => text("noted"));
  for (let turn = 1; turn <= 6; turn++) {
    if (turn % 3 === 0)
      server.reply(toolCalls([{ name: "search_history", arguments: { query: `weather ${turn}` } }]));
    await weir.say(`chatter ${turn} 🌧️`, { addressed: false });
    await weir.say(`question ${turn}`, { id: `q-${turn}` });
    await weir.event("turn_settled", ({ inReplyTo }) => inReplyTo.includes(`q-${turn}`));
  }
  assert.equal(server.requests.length, 8);
  const requests = server.requests.map(read);
  for (const [index, { marked }] of requests.entries()) {
    assert.match(marked, /question \d$/, "up to the newest message to answer");
    const next = requests[index + 1];
    if (next !== undefined) assert.ok(next.whole.startsWith(marked), `request ${index + 1} begins otherwise`);
    assert.ok((server.requests[index]?.raw.match(/cache_control/g)?.length ?? 0) <= 4);
  }
});
