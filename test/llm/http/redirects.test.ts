// proves: src/llm/http/chat-fetch.ts, src/text/redirect.ts
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { lookAtModels } from "../../../src/cli/doctor/look-at-models.ts";
import { loadConfig } from "../../../src/config/load.ts";
import { OllamaWindows, probeOllama } from "../../../src/llm/catalog/ollama.ts";
import { listModels } from "../../../src/llm/catalog/model-listing.ts";
import { createChatModel } from "../../../src/llm/chat/chat-model.ts";
import type { ChatServer } from "../../../src/llm/chat/chat-request.ts";
import { createEmbeddings } from "../../../src/llm/embeddings.ts";
import { ModelError } from "../../../src/llm/model.ts";
import { openModels } from "../../../src/llm/model-provider.ts";
import { createRetryingModel } from "../../../src/llm/retrying-model.ts";
import { failureKind } from "../../../src/turn/outcome.ts";
import { llm } from "../../support/llm-config.ts";
import { status, text } from "../../support/model-behaviours.ts";
import { ask } from "../../support/model-calls.ts";
import { startModelServer } from "../../support/model-server.ts";
import {
  type RedirectingServer,
  REDIRECTS,
  startRedirectingServer,
} from "../../support/redirecting-server.ts";

const KEY = "sk-Secret-Key";

function serverAt(origin: string): ChatServer {
  const timeouts = { firstTokenMs: 10_000, idleMs: 10_000, totalMs: 20_000 };
  return { baseUrl: `${origin}/v1`, apiKey: KEY, isOpenAi: false, takesCacheKey: false, timeouts };
}

const patience = (): AbortSignal => AbortSignal.timeout(10_000);

async function failureOf(work: Promise<unknown>): Promise<ModelError> {
  const failure = await work.then(
    () => undefined,
    (error: unknown) => error,
  );
  assert.ok(failure instanceof ModelError, String(failure));
  return failure;
}

/** Each call that carries a key or somebody's words. */
const CALLS: Readonly<Record<string, (origin: string) => Promise<unknown>>> = {
  "a chat": async (origin) => {
    const { failure } = await ask(createChatModel(serverAt(origin)));
    if (failure !== undefined) throw failure;
  },
  embeddings: async (origin) =>
    createEmbeddings({
      model: "words",
      sentAs: "words",
      serverHeaders: {},
      dimensions: 0,
      baseUrl: `${origin}/v1`,
      apiKey: KEY,
    }).embed(["my words"], patience()),
  "a listing of models": async (origin) => listModels(serverAt(origin), patience()),
};

function sentence({ origin }: RedirectingServer, to: string, code: number): string {
  return (
    `${origin} redirects to ${to} (HTTP ${code}), and Weir follows no redirect: ` +
    "set base_url to an address of your server that answers without one"
  );
}

for (const [name, call] of Object.entries(CALLS)) {
  describe(`${name} follows no redirect`, () => {
    for (const code of REDIRECTS)
      test(`${code} to another server, which sees nothing`, async () => {
        await using server = await startRedirectingServer();
        server.status = code;
        const failure = await failureOf(call(server.origin));
        assert.deepEqual(server.followed, []);
        assert.equal(server.asked.length, 1, "it is asked once");
        assert.equal(failure.message, sentence(server, server.elsewhere, code));
        assert.deepEqual([failure.kind, failure.status, failure.retryable], ["redirected", code, false]);
      });

    test("nor one to the same server, nor one without a readable address", async () => {
      await using server = await startRedirectingServer();
      const places: readonly (readonly [location: string | null, to: string])[] = [
        ["/elsewhere", server.origin],
        [`${server.origin}/v2`, server.origin],
        ["", server.origin],
        [null, "no readable address"],
        ["http://", "no readable address"],
        ["file:///etc/passwd", "no readable address"],
        ["javascript:alert(1)", "no readable address"],
        [`https://user:password@b.example/path?key=secret#secret`, "https://b.example"],
        [`https://${KEY}.example/v1`, "https://[key].example"],
        [`https://timed-out.example:8443/v1`, "https://timed-out.example:8443"],
        [`https://reasoning_effort.example`, "https://reasoning_effort.example"],
      ];
      for (const [location, to] of places) {
        server.location = location;
        const asked = server.asked.length;
        const { message, kind } = await failureOf(call(server.origin));
        assert.deepEqual([kind, message], ["redirected", sentence(server, to, 307)]);
        assert.equal(server.asked.length, asked + 1, `${location} is asked once`);
      }
      assert.deepEqual(server.followed, []);
    });

    test("whose address has no end", async () => {
      await using server = await startRedirectingServer();
      server.location = `https://${"a.".repeat(4000)}example/`;
      const { message } = await failureOf(call(server.origin));
      assert.match(message, /…? \(HTTP 307\), and Weir follows no redirect: set base_url to an address/);
    });
  });
}

test("`weir doctor` and the probe of `weir init` say it", async () => {
  await using server = await startRedirectingServer();
  const config = loadConfig({ cwd: import.meta.dirname, env: {} });
  const baseUrl = `${server.origin}/v1`;
  const agents = config.agents.map((agent) => ({ ...agent, model: "auto", compactorModel: "small" }));
  const asked = { ...config, llm: llm({ baseUrl, apiKey: KEY }), agents };
  const findings = await lookAtModels({ stderr: { write: () => true } }, asked);
  const said = sentence(server, server.elsewhere, 307);
  assert.deepEqual(
    findings.map(({ what, state, detail }) => ({ what, state, isSaid: detail.endsWith(said) })),
    ["model auto", "model small"].map((what) => ({ what, state: "wrong", isSaid: true })),
  );
  assert.deepEqual(server.followed, []);
});

test("people are told that the bot is not set up correctly", () => {
  assert.equal(failureKind(new ModelError("redirected", "m", "")), "misconfigured");
});

test("a redirect is not tried again, also where it comes in place of a second answer", async () => {
  await using elsewhere = await startRedirectingServer();
  await using server = await startModelServer();
  server.reply(
    status(503),
    status(308, "", { location: `${elsewhere.origin}/v1/chat/completions` }),
    text("not asked for"),
  );
  const model = createRetryingModel(createChatModel(serverAt(server.origin)), { firstDelayMs: 1 });
  const { failure } = await ask(model);
  assert.equal(failure?.kind, "redirected");
  assert.equal(server.requests.length, 2);
  assert.deepEqual(elsewhere.asked, []);
});

test("a redirect whose body does not end holds nobody up", async () => {
  await using server = await startModelServer();
  server.reply(({ response }) => {
    response.writeHead(302, { location: "https://elsewhere.example/" });
    response.write("for ever");
  });
  const { failure } = await ask(createChatModel(serverAt(server.origin)));
  assert.equal(failure?.kind, "redirected");
  assert.equal(await server.requests[0]?.done, "aborted");
});

test("304 is no redirect, and no answer either", async () => {
  await using server = await startModelServer();
  server.reply(status(304, ""));
  assert.equal((await ask(createChatModel(serverAt(server.origin)))).failure?.kind, "rejected");
});

describe("an Ollama", () => {
  test("that redirects is none", async () => {
    await using server = await startRedirectingServer();
    for (const code of REDIRECTS) {
      server.status = code;
      assert.equal(await probeOllama(server.origin, 10_000), undefined);
      const windows = new OllamaWindows(new URL(server.origin), false, 10_000);
      await windows.look(patience());
      await windows.learn("gemma", patience());
      assert.deepEqual([windows.isThere, windows.of("gemma")], [false, undefined]);
    }
    assert.deepEqual(server.followed, []);
  });
});

test("`auto` at a server that redirects says so", async () => {
  await using server = await startRedirectingServer();
  await using models = await openModels(llm({ baseUrl: `${server.origin}/v1`, apiKey: KEY }));
  const failure = await failureOf(models.resolve("auto"));
  assert.equal(failure.message, sentence(server, server.elsewhere, 307));
  // Nobody needs the listing for a named model: its own request says it.
  const { failure: ofChat } = await ask(models.model, { model: "named" });
  assert.equal(ofChat?.message, sentence(server, server.elsewhere, 307));
  assert.deepEqual(server.followed, []);
});
