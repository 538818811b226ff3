import assert from "node:assert/strict";
import { createServer } from "node:http";
import { pipeline } from "node:stream";
import { test } from "node:test";
import { createGzip } from "node:zlib";
import { listModels } from "../../../src/llm/catalog/model-listing.ts";
import { ModelError } from "../../../src/llm/model.ts";
import { probeOllama } from "../../../src/llm/catalog/ollama.ts";
import { boundedText } from "../../../src/llm/http/bounded-body.ts";
import { nodeFetch } from "../../../src/llm/http/node-fetch.ts";
import { startListening } from "../../support/listening.ts";

const PIECE = Buffer.alloc(64_000, " ");
/** 320 MB: an end, so that what reads all of it fails by the count and not by the memory. */
const PIECES = 5000;

/** A server that answers everything with blanks. `sent`: pieces of the last answer that the client has taken. */
async function startBlankServer(packing: "gzip" | null = null) {
  const sent = { pieces: 0 };
  function* blanks(): Generator<Buffer> {
    for (sent.pieces = 0; sent.pieces < PIECES; sent.pieces++) yield PIECE;
  }
  const server = createServer((_, response) => {
    response.writeHead(200, {
      "content-type": "application/json",
      ...(packing !== null && { "content-encoding": packing }),
    });
    if (packing === null) pipeline(blanks, response, () => undefined);
    else pipeline(blanks, createGzip({ level: 1 }), response, () => undefined);
  });
  const listening = await startListening(server);
  return {
    sent,
    origin: listening.url,
    [Symbol.asyncDispose]: async () => listening[Symbol.asyncDispose](),
  };
}

test("a listing without an end is not read to it", async () => {
  await using server = await startBlankServer();
  const timeouts = { firstTokenMs: 1000, idleMs: 1000, totalMs: 1000 };
  const chat = { baseUrl: server.origin, apiKey: undefined, isOpenAi: false, takesCacheKey: false, timeouts };
  await assert.rejects(listModels(chat, new AbortController().signal), ModelError);
  assert.ok(server.sent.pieces < 1000, `${server.sent.pieces} pieces were taken`);
  assert.equal(await probeOllama(server.origin, 60_000), undefined);
  assert.ok(server.sent.pieces < 1000, `${server.sent.pieces} pieces were taken`);
});

test("a packed body is unpacked up to the limit alone", async () => {
  await using server = await startBlankServer("gzip");
  const text = await boundedText(await nodeFetch(server.origin, { method: "POST", body: "{}" }));
  assert.ok(text.length <= 4_000_000 && text.trim() === "", `${text.length} were unpacked`);
});
