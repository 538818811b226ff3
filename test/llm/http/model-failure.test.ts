import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { createChatModel } from "../../../src/llm/chat/chat-model.ts";
import type { Model } from "../../../src/llm/model.ts";
import { retryAfterMs } from "../../../src/llm/http/retry-after.ts";
import {
  cutStream,
  rateLimited,
  rawStream,
  resetBefore,
  resetMidStream,
  stalledStream,
  status,
  streamError,
  text,
} from "../../support/model-behaviours.ts";
import { ask } from "../../support/model-calls.ts";
import { contextLengthError, type RefusalDialect } from "../../support/model-refusals.ts";
import { startModelServer, type Behaviour } from "../../support/model-server.ts";
import { cpuMsOf } from "../../support/cpu-time.ts";

const KEY = "sk-a-secret-key";

/** Patient, where it is not patience that is tested: the machine may be busy. */
const PATIENT = { firstTokenMs: 10_000, idleMs: 10_000, totalMs: 20_000 };
const IMPATIENT = { firstTokenMs: 200, idleMs: 200, totalMs: 500 };

function modelAt(baseUrl: string, timeouts = PATIENT): Model {
  return createChatModel({ baseUrl, apiKey: KEY, isOpenAi: false, takesCacheKey: false, timeouts });
}

async function failureOf(behaviour: Behaviour, timeouts = PATIENT) {
  await using server = await startModelServer();
  server.reply(behaviour);
  const { failure, records } = await ask(modelAt(server.url, timeouts));
  assert.equal(server.requests.length, 1, "one attempt, no retry");
  assert.deepEqual(
    records.map(({ outcome }) => outcome),
    [failure?.kind],
  );
  return failure;
}

const error = (message: string, more: object = {}): object => ({ error: { message, ...more } });

describe("a failure is classified by what happened", () => {
  const cases: readonly (readonly [name: string, behaviour: Behaviour, kind: string])[] = [
    ["500", status(500, error("boom")), "unavailable"],
    ["502 with a page of HTML", status(502, "<html>Bad gateway</html>"), "unavailable"],
    ["529 (overloaded)", status(529, error("overloaded")), "unavailable"],
    ["408", status(408), "unavailable"],
    ["409", status(409), "unavailable"],
    ["401", status(401, error(`Incorrect API key provided: ${KEY}`)), "unauthorized"],
    ["403", status(403, error("no")), "unauthorized"],
    ["404, an unknown model", status(404, error("The model does not exist")), "rejected"],
    ["402, no credits", status(402, error("Insufficient credits", { code: 402 })), "rejected"],
    ["400", status(400, error("messages: bad")), "rejected"],
    ["413", status(413, error("Payload too large")), "context_length"],
    ["429", rateLimited(3), "rate_limited"],
    [
      "429 for no money",
      status(429, error("You exceeded your quota", { code: "insufficient_quota" })),
      "rejected",
    ],
    ["a socket reset before the answer", resetBefore(), "unavailable"],
    ["a socket reset in mid-stream", resetMidStream("half"), "unavailable"],
    ["a stream that ends cleanly without finish_reason", cutStream("half of it"), "unavailable"],
    ["a stream that stalls before the first token", stalledStream(""), "timeout"],
    ["a stream that stalls in the middle", stalledStream("half"), "timeout"],
    ["a server that never answers", stalledStream(), "timeout"],
    ["an error object in the stream", streamError({ message: "upstream", code: 502 }, "half"), "unavailable"],
    ["a rate limit in the stream", streamError({ message: "slow down", code: 429 }), "rate_limited"],
    [
      "a named error in the stream",
      streamError({ message: "no", type: "invalid_request_error" }),
      "rejected",
    ],
    ["vLLM's error in the stream", rawStream('data: {"object":"error","message":"died"}\n\n'), "unavailable"],
    ["broken JSON in the stream", rawStream('data: {"choices": [\n\n'), "unavailable"],
    ["JSON that is no chat completion", rawStream('data: {"choices": 7}\n\n'), "unavailable"],
    ["a web page with status 200", status(200, "<html>a page</html>"), "unavailable"],
    ["an error as the finish reason", text("half", { finish: "error" }), "unavailable"],
  ];
  for (const [name, behaviour, kind] of cases) {
    test(`${name}: ${kind}`, async () => {
      const failure = await failureOf(behaviour, kind === "timeout" ? IMPATIENT : PATIENT);
      assert.equal(failure?.kind, kind);
      assert.doesNotMatch(failure.message, new RegExp(KEY), "the key stays out of the log");
    });
  }
});

describe("a failure says what happened", () => {
  test("a refused connection says where and why", async () => {
    const server = await startModelServer();
    await server[Symbol.asyncDispose]();
    const { failure } = await ask(modelAt(server.url));
    assert.equal(failure?.kind, "unavailable");
    assert.match(failure.message, /ECONNREFUSED/);
  });

  test("a stream that only ever thinks ends at the total limit", async () => {
    await using server = await startModelServer();
    const thinking = 'data: {"choices":[{"delta":{"reasoning":"hm"}}]}\n\n';
    server.reply(async ({ response, signal }) => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      const timer = setInterval(() => response.write(thinking), 30);
      signal.addEventListener("abort", () => clearInterval(timer));
    });
    const { failure } = await ask(modelAt(server.url, IMPATIENT));
    assert.equal(failure?.kind, "timeout");
    assert.match(failure.message, /500 ms/);
    assert.equal(await server.requests[0]?.done, "aborted");
  });

  test("a stalled error body does not hold the call up", async () => {
    const failure = await failureOf(({ response }) => {
      response.writeHead(500, { "content-type": "application/json", "content-length": "100" });
      response.flushHeaders();
    }, IMPATIENT);
    assert.equal(failure?.kind, "timeout");
  });

  test("a stream over a base URL without /v1 says what to check", async () => {
    const failure = await failureOf(status(200, "Ollama is running"));
    assert.match(failure?.message ?? "", /base_url/);
  });
});

describe("a request larger than the window", () => {
  const dialects: readonly RefusalDialect[] = [
    "openai",
    "vllm",
    "llama.cpp",
    "ollama",
    "openrouter",
    "anthropic",
    "gemini",
    "mistral",
    "sglang",
  ];
  for (const dialect of dialects) {
    test(`is recognised in the words of ${dialect}`, async () => {
      const failure = await failureOf(contextLengthError(dialect, 8192));
      assert.equal(failure?.kind, "context_length");
      assert.equal(failure.window, dialect === "ollama" ? undefined : 8192);
    });
  }

  const wordings: readonly (readonly [message: string, window: number | undefined])[] = [
    ["request (36216 tokens) exceeds the available context size (32768 tokens), try increasing it", 32_768],
    [
      "Input tokens exceed the configured limit of 272,000 tokens. Your messages resulted in 300,000 tokens.",
      272_000,
    ],
    ["This model's maximum prompt length is 131072 but the request contains 537812 tokens", 131_072],
    [
      "'max_tokens' or 'max_completion_tokens' is too large: 9000. This model's maximum context length is 4096 tokens and your request has 100 input tokens",
      4096,
    ],
    ["Your input exceeds the context window of this model.", undefined],
    [
      "Request too large for gpt-x in organization o on tokens per min (TPM): Limit 30000, Requested 40000.",
      30_000,
    ],
  ];
  for (const [message, window] of wordings) {
    test(`is recognised: ${message.slice(0, 50)}…`, async () => {
      const failure = await failureOf(status(400, { error: { message } }));
      assert.equal(failure?.kind, "context_length");
      assert.equal(failure.window, window);
    });
  }
});

describe("the words of a refusal that stand in the request", () => {
  const quote = "This model's maximum context length is 50 tokens";

  async function failureOfQuote(code: number, told: object) {
    await using server = await startModelServer();
    server.reply(status(code, { error: told }));
    const messages = [{ role: "user", text: `Ann: what does "${quote}" mean?` }] as const;
    const { failure } = await ask(modelAt(server.url), { messages });
    return failure;
  }

  test("are the person's, and not the server's", async () => {
    const message = `Blocked by our policy: ${quote}`;
    assert.equal((await failureOfQuote(400, { message }))?.kind, "rejected");
    assert.equal((await failureOfQuote(500, { message }))?.kind, "unavailable");
  });

  test("name no window, where the server says by a code that it is too small", async () => {
    const failure = await failureOfQuote(400, { message: quote, code: "context_length_exceeded" });
    assert.equal(failure?.kind, "context_length");
    assert.equal(failure.window, undefined);
  });
});

describe("a long error message", () => {
  // All of it, read once for each place where a wording may begin, would take minutes.
  const message = "input exceeds request too large for input token count ".repeat(40_000);
  for (const [name, behaviour] of [
    ["of a refusal", status(400, { error: { message } })],
    ["in the stream", streamError({ message, type: "invalid_request_error" })],
  ] as const) {
    test(`${name} is not read to its end`, async () => {
      const ms = await cpuMsOf(async () => {
        assert.equal((await failureOf(behaviour))?.kind, "rejected");
      });
      assert.ok(ms < 10_000, `${ms} ms`);
    });
  }
});

describe("Retry-After", () => {
  const now = new Date("2026-11-21T12:00:00Z");
  const read = (headers: Record<string, string>): number | undefined =>
    retryAfterMs(new Headers(headers), now);

  test("is read in seconds, as a date, and in milliseconds first", () => {
    assert.equal(read({ "retry-after": "120" }), 120_000);
    assert.equal(read({ "retry-after": "0.5" }), 500);
    assert.equal(read({ "retry-after": "Sat, 21 Nov 2026 12:00:30 GMT" }), 30_000);
    assert.equal(read({ "retry-after": "Sat, 21 Nov 2026 11:00:00 GMT" }), 0);
    assert.equal(read({ "retry-after": "9", "retry-after-ms": "250" }), 250);
    assert.equal(read({ "retry-after": "soon" }), undefined);
    assert.equal(read({}), undefined);
  });

  test("reaches the failure", async () => {
    assert.equal((await failureOf(rateLimited(120)))?.retryAfterMs, 120_000);
    assert.equal((await failureOf(status(503, {}, { "retry-after": "2" })))?.retryAfterMs, 2000);
  });
});
