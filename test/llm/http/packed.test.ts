// proves: src/llm/http/unpacked.ts, src/llm/http/node-fetch.ts
// Proxies pack what nobody asked them to, and some say so of what is not packed, or do not say it of what is.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { promisify } from "node:util";
import { brotliCompress, constants, createGzip, deflate, deflateRaw, gzip } from "node:zlib";
import { createChatModel } from "../../../src/llm/chat/chat-model.ts";
import { ask } from "../../support/model-calls.ts";
import { type Behaviour, startModelServer } from "../../support/model-server.ts";

const EVENTS = ["Hel", "lo"]
  .map((content) => `data: ${JSON.stringify({ choices: [{ delta: { content } }] })}\n\n`)
  .concat("data: [DONE]\n\n");
const STREAM = EVENTS.join("");
const BODY = JSON.stringify({ choices: [{ message: { content: "Hello" }, finish_reason: "stop" }] });
const REFUSAL = JSON.stringify({ error: { message: "no such thing", type: "invalid_request_error" } });

const packers: Readonly<Record<string, (text: string) => Promise<Buffer>>> = {
  gzip: async (text) => promisify(gzip)(text),
  br: async (text) => promisify(brotliCompress)(text),
  deflate: async (text) => promisify(deflate)(text),
  "bare deflate": async (text) => promisify(deflateRaw)(text),
  nothing: async (text) => Buffer.from(text),
};

function bytes(code: number, body: Buffer, headers: Record<string, string>): Behaviour {
  return ({ response }) => {
    response.writeHead(code, { "content-type": "text/event-stream", ...headers });
    // Byte by byte at the head, where it is decided what it is.
    for (let at = 0; at < 3; at++) response.write(body.subarray(at, at + 1));
    response.end(body.subarray(3));
  };
}

async function askWith(behaviour: Behaviour, onText: (text: string) => void = () => undefined) {
  await using server = await startModelServer();
  server.reply(behaviour);
  const timeouts = { firstTokenMs: 30_000, idleMs: 30_000, totalMs: 60_000 };
  const model = createChatModel({
    baseUrl: server.url,
    apiKey: undefined,
    isOpenAi: false,
    takesCacheKey: false,
    timeouts,
  });
  const asked = await ask({
    answer: async (request, options) => model.answer(request, { ...options, onText }),
  });
  return asked;
}

describe("a body that nobody asked to be packed is read", () => {
  const cases: readonly (readonly [packer: string, header: string | undefined])[] = [
    ["gzip", "gzip"],
    ["gzip", "x-gzip"],
    ["gzip", undefined],
    ["gzip", "identity"],
    ["br", "br"],
    ["deflate", "deflate"],
    ["bare deflate", "deflate"],
    ["nothing", "gzip"],
    ["nothing", "identity"],
  ];
  for (const [packer, header] of cases)
    test(`${packer}, with ${header === undefined ? "no header" : `"${header}"`}`, async () => {
      const pack = packers[packer];
      assert.ok(pack !== undefined);
      const headers: Record<string, string> = header === undefined ? {} : { "content-encoding": header };
      for (const body of [STREAM, BODY])
        assert.equal((await askWith(bytes(200, await pack(body), headers))).answer?.text, "Hello");
      const { failure } = await askWith(bytes(400, await pack(REFUSAL), headers));
      assert.equal(failure?.kind, "rejected");
      assert.match(failure.message, /no such thing/);
    });
});

test("a packed stream is shown as it comes", async () => {
  const shown = Promise.withResolvers<string>();
  const { answer } = await askWith(async ({ response }) => {
    response.writeHead(200, { "content-type": "text/event-stream", "content-encoding": "gzip" });
    const packer = createGzip({ flush: constants.Z_SYNC_FLUSH });
    packer.pipe(response);
    packer.write(EVENTS[0]);
    // The rest comes only once the first piece is shown.
    assert.equal(await shown.promise, "Hel");
    packer.end(EVENTS.slice(1).join(""));
  }, shown.resolve);
  assert.equal(answer?.text, "Hello");
});

test("a packed stream that breaks off is no answer", async () => {
  const whole = await packers["gzip"]?.(EVENTS.slice(0, 2).join(""));
  assert.ok(whole !== undefined);
  const { failure } = await askWith(({ response }) => {
    response.writeHead(200, { "content-encoding": "gzip", "content-length": whole.length + 10 });
    response.write(whole.subarray(0, whole.length - 6));
    setTimeout(() => response.destroy(), 20);
  });
  assert.equal(failure?.kind, "unavailable");
});

test("bytes that only look packed end the attempt, and not the process", async () => {
  const { failure } = await askWith(bytes(200, Buffer.from([0x1f, 0x8b, 1, 2, 3, 4, 5]), {}));
  assert.equal(failure?.kind, "unavailable");
});
