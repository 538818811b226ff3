import assert from "node:assert/strict";
import { test } from "node:test";
import { APIError } from "openai";
import { chatEvents } from "../../src/llm/chat-events.ts";

/** A response whose bytes come in these pieces. */
function response(...pieces: readonly (string | Uint8Array)[]): Response {
  const bytes = pieces.map((piece) => (typeof piece === "string" ? new TextEncoder().encode(piece) : piece));
  return new Response(ReadableStream.from(bytes));
}

async function eventsOf(...pieces: readonly (string | Uint8Array)[]): Promise<unknown[]> {
  return Array.fromAsync(chatEvents(response(...pieces)));
}

test("events are the same however their bytes are cut, whatever ends their lines", async () => {
  const text =
    'data: {"a":"é🚲"}\r\n\r\n: a comment\nid: 7\ndata:{"b":1}\n\ndata: {"c":\rdata: 2}\r\rdata: [DONE]\n\ndata: {"d":3}\n\n';
  const bytes = new TextEncoder().encode(text);
  for (let cut = 0; cut <= bytes.length; cut++) {
    const events = await eventsOf(bytes.subarray(0, cut), bytes.subarray(cut));
    assert.deepEqual(events, [{ a: "é🚲" }, { b: 1 }, { c: 2 }], `cut at ${cut}`);
  }
});

test("the last event counts without the empty line behind it", async () => {
  assert.deepEqual(await eventsOf('data: {"a":1}\n\ndata: {"b":2}'), [{ a: 1 }, { b: 2 }]);
  assert.deepEqual(await eventsOf(""), []);
});

test("an error inside the stream is thrown, in each of its forms", async () => {
  for (const data of ['{"error":{"message":"no room"}}', '{"error":"no room"}'])
    await assert.rejects(
      eventsOf(`data: ${data}\n\n`),
      (error) => error instanceof APIError && /no room/.test(error.message),
    );
  await assert.rejects(eventsOf('event: error\ndata: {"message":"no room"}\n\n'), /no room/);
  await assert.rejects(eventsOf("data: {not json\n\n"), SyntaxError);
});
