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

const part = z.looseObject({ text: z.string(), cache_control: z.unknown() });
const bodySchema = z.looseObject({
  messages: z.array(
    z.looseObject({ role: z.string(), content: z.union([z.string(), z.array(part)]).nullish() }),
  ),
});

/** The messages of a request by their texts, and how many of them the last marker ends. */
function read({ raw }: RecordedRequest): { readonly lines: string[]; readonly marked: number } {
  const { messages } = bodySchema.parse(JSON.parse(raw));
  const lines = messages.map(({ role, content }) => {
    const shown = Array.isArray(content) ? content.map((one) => one.text).join("") : (content ?? "");
    return `${role}: ${shown}`;
  });
  const last = messages.findLastIndex(
    ({ content }) => Array.isArray(content) && content.some((one) => one.cache_control !== undefined),
  );
  return { lines, marked: last + 1 };
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
  for (const [index, { lines, marked }] of requests.entries()) {
    assert.ok(marked >= 3, `request ${index} is marked behind its messages`);
    assert.match(lines[marked - 1] ?? "", /question/, "the newest message to answer");
    const next = requests[index + 1];
    if (next !== undefined) assert.deepEqual(next.lines.slice(0, marked), lines.slice(0, marked));
    assert.ok((server.requests[index]?.raw.match(/cache_control/g)?.length ?? 0) <= 4);
  }
});
