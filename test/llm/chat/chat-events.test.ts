// proves: src/llm/chat/answer-accumulator.ts
import assert from "node:assert/strict";
import { test } from "node:test";
import { APIError } from "openai";
import { chatEvents } from "../../../src/llm/chat/chat-events.ts";
import { cpuMsOf } from "../../support/cpu-time.ts";

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

/** A response that goes on for ever with the same piece, and how many of them were taken. */
function endless(head: string, piece: string) {
  const taken = { pieces: 0 };
  async function* bytes(): AsyncGenerator<Uint8Array> {
    yield Buffer.from(head);
    for (const chunk = Buffer.from(piece); taken.pieces < 10_000; taken.pieces++) yield chunk;
  }
  return { taken, response: new Response(ReadableStream.from(bytes())) };
}

test("an event without an end is given up before it fills the memory", async () => {
  const line = `data: ${"x".repeat(64_000)}\n`;
  for (const [head, piece] of [
    ["", line],
    ["data: ", "x".repeat(64_000)],
    [": ", "x".repeat(64_000)],
  ] as const) {
    const { taken, response: answer } = endless(head, piece);
    await assert.rejects(Array.fromAsync(chatEvents(answer)), /does not end within/, piece.slice(0, 10));
    assert.ok(taken.pieces < 200, `${taken.pieces} pieces were read`);
  }
});

test("a long event that comes in small pieces is searched once", async () => {
  const text = "x".repeat(4_000_000);
  const bytes = Buffer.from(`data: {"a":"${text}"}\n\n`);
  // Over and over, this would be a hundred gigabytes.
  const pieces = (function* cut(): Generator<Uint8Array> {
    for (let at = 0; at < bytes.length; at += 64) yield bytes.subarray(at, at + 64);
  })();
  const ms = await cpuMsOf(async () => {
    assert.deepEqual(await Array.fromAsync(chatEvents(new Response(ReadableStream.from(pieces)))), [
      { a: text },
    ]);
  });
  assert.ok(ms < 10_000, `${ms} ms`);
});
