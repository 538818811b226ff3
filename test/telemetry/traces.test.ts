// proves: src/telemetry/traces/traces.ts, src/telemetry/traces/open.ts, src/telemetry/traces/turn-spans.ts
// Spans of turns, as a collector gets them over OTLP/HTTP.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createServer, type IncomingHttpHeaders } from "node:http";
import path from "node:path";
import { after, test } from "node:test";
import { pino } from "pino";
import { openTraces, PACKAGES } from "../../src/telemetry/traces/open.ts";
import type { TracesOptions } from "../../src/telemetry/traces/traces.ts";
import { command } from "../support/commands.ts";
import { createTestDatabase } from "../support/database.ts";
import { loadedBy, runHooked } from "../support/hooked.ts";
import { startListening } from "../support/listening.ts";
import { status, text, toolCalls } from "../support/model-behaviours.ts";
import { type ModelServer, startModelServer } from "../support/model-server.ts";
import { until } from "../support/patience.ts";
import { startRedirectingServer } from "../support/redirecting-server.ts";
import { startWeir, type TestWeir } from "../support/weir.ts";

const ROOT = path.join(import.meta.dirname, "../..");
const database = await createTestDatabase();
after(async () => database[Symbol.asyncDispose]());

interface Value {
  readonly stringValue?: string;
  readonly intValue?: number | string;
  readonly doubleValue?: number;
  readonly boolValue?: boolean;
}

interface OtlpSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly kind: number;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes: readonly { readonly key: string; readonly value: Value }[];
  readonly status: { readonly code?: number };
}

interface Export {
  readonly resourceSpans: readonly {
    readonly resource: Pick<OtlpSpan, "attributes">;
    readonly scopeSpans: readonly { readonly spans: readonly OtlpSpan[] }[];
  }[];
}

interface Collector extends AsyncDisposable {
  readonly url: string;
  readonly bodies: string[];
  readonly headers: IncomingHttpHeaders[];
  readonly paths: (string | undefined)[];
  /** What it answers with. */
  status: number;
  spans(): OtlpSpan[];
}

/** Takes OTLP as JSON. */
async function startCollector(): Promise<Collector> {
  const bodies: string[] = [];
  const headers: IncomingHttpHeaders[] = [];
  const paths: (string | undefined)[] = [];
  const server = createServer((request, response) => {
    let body = "";
    request.setEncoding("utf8");
    request.on("data", (piece: string) => (body += piece));
    request.on("end", () => {
      bodies.push(body);
      headers.push(request.headers);
      paths.push(request.url);
      response.writeHead(collector.status, { "content-type": "application/json" }).end("{}");
    });
  });
  const listening = await startListening(server);
  const collector: Collector = {
    url: listening.url,
    bodies,
    headers,
    paths,
    status: 200,
    spans: () =>
      bodies.flatMap((body) => {
        const { resourceSpans }: Export = JSON.parse(body);
        return resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans));
      }),
    [Symbol.asyncDispose]: async () => listening[Symbol.asyncDispose](),
  };
  return collector;
}

function attributesOf({ attributes }: Pick<OtlpSpan, "attributes">): Record<string, unknown> {
  return Object.fromEntries(
    attributes.map(({ key, value }) => [
      key,
      value.stringValue ??
        (value.intValue === undefined ? undefined : Number(value.intValue)) ??
        value.doubleValue ??
        value.boolValue,
    ]),
  );
}

function optionsFor(collector: Collector, lines: string[] = []): TracesOptions {
  return {
    endpoint: collector.url,
    headers: { authorization: "Bearer of-the-collector" },
    serviceName: "weir-of-the-mill",
    version: "1.2.3",
    log: pino({}, { write: (line: string) => void lines.push(line) }),
  };
}

const CONFIG = '[llm]\nmax_retries = 0\n[[agents]]\nid = "main"\nmodel = "test-model"\n';
const SERVER = { provider: "openai", address: "127.0.0.1", port: 1234 };

async function start(server: ModelServer): Promise<TestWeir> {
  return startWeir({ connection: database.connection, modelUrl: server.url, config: CONFIG });
}

/** One turn with tools that is answered, and one that fails, as they reach a collector. */
async function traceTurns(collector: Collector): Promise<void> {
  await using server = await startModelServer();
  const traces = await openTraces(optionsFor(collector));
  assert.ok(traces !== null);
  {
    await using weir = await start(server);
    traces.watch(weir.daemon.events, () => SERVER);
    const calls = [
      { name: "search_history", arguments: { query: "the secret of the mill" } },
      { name: "find the secret of the mill", arguments: {} },
    ];
    // There is nothing to look for while all that was said is in view.
    await weir.say("hello", { room: "traced", addressed: false });
    await command(weir, "traced", "/new");
    server.reply(toolCalls(calls));
    server.reply(text("the miller knows", { usage: { prompt: 100, completion: 7, cached: 40 } }));
    await weir.say("what is the secret of the mill?", { room: "traced", id: "asked" });
    await weir.event("turn_settled", ({ inReplyTo }) => inReplyTo.includes("asked"));
    server.reply(status(500));
    await weir.say("and the dyke?", { room: "traced", id: "failed" });
    await weir.event("turn_settled", ({ inReplyTo }) => inReplyTo.includes("failed"));
  }
  await traces[Symbol.asyncDispose]();
}

test("a turn is a trace: its look-up, its model calls and its tools, with tokens, and without a word of anybody's", async () => {
  await using collector = await startCollector();
  await traceTurns(collector);
  assert.deepEqual([...new Set(collector.paths)], ["/v1/traces"]);
  assert.equal(collector.headers[0]?.authorization, "Bearer of-the-collector");
  const { resourceSpans }: Export = JSON.parse(collector.bodies[0] ?? "");
  const resource = resourceSpans[0]?.resource;
  assert.ok(resource !== undefined);
  assert.equal(attributesOf(resource)["service.name"], "weir-of-the-mill");

  const spans = collector.spans();
  const [good, bad] = spans.filter(({ name }) => name === "invoke_agent main");
  assert.ok(good !== undefined && bad !== undefined);
  const inside = (turn: OtlpSpan): OtlpSpan[] =>
    spans.filter(({ parentSpanId }) => parentSpanId === turn.spanId);
  assert.deepEqual(
    inside(good)
      .map(({ name }) => name)
      .toSorted(),
    [
      "chat test-model",
      "chat test-model",
      "execute_tool search_history",
      "execute_tool unknown",
      "retrieval log",
    ],
  );
  assert.ok(inside(good).every(({ traceId }) => traceId === good.traceId));
  assert.ok(inside(good).every((one) => BigInt(one.startTimeUnixNano) <= BigInt(one.endTimeUnixNano)));
  assert.notEqual(good.traceId, bad.traceId);
  const root = attributesOf(good);
  assert.equal(root["gen_ai.operation.name"], "invoke_agent");
  assert.equal(root["gen_ai.provider.name"], "openai");
  assert.equal(root["gen_ai.agent.name"], "main");
  assert.equal(root["gen_ai.request.model"], "test-model");
  assert.equal(root["gen_ai.conversation.id"], "test:traced");
  assert.equal(root["weir.turn.outcome"], "answered");
  assert.equal(good.status.code ?? 0, 0);
  const chat = inside(good).findLast(({ name }) => name.startsWith("chat"));
  assert.ok(chat !== undefined);
  assert.equal(chat.kind, 3, "a client's");
  const called = attributesOf(chat);
  assert.equal(called["gen_ai.operation.name"], "chat");
  assert.equal(called["gen_ai.usage.input_tokens"], 100);
  assert.equal(called["gen_ai.usage.output_tokens"], 7);
  assert.equal(called["gen_ai.usage.cache_read.input_tokens"], 40);
  assert.equal(called["server.address"], "127.0.0.1");
  assert.equal(called["server.port"], 1234);
  const searched = inside(good).find(({ name }) => name === "execute_tool search_history");
  assert.ok(searched !== undefined);
  assert.equal(attributesOf(searched)["gen_ai.tool.name"], "search_history");
  const unknown = inside(good).find(({ name }) => name === "execute_tool unknown");
  assert.equal(unknown?.status.code, 2);
  assert.equal(bad.status.code, 2);
  assert.equal(attributesOf(bad)["error.type"], "unavailable");
  // Neither people nor models: what they say stays in the database.
  for (const words of ["secret", "miller", "dyke", "Ann"])
    assert.doesNotMatch(collector.bodies.join("\n"), new RegExp(words));
});

test("a turn that is left, and one that is begun again, end; what is no turn's is a trace of its own", async () => {
  await using collector = await startCollector();
  await using server = await startModelServer();
  const traces = await openTraces(optionsFor(collector));
  assert.ok(traces !== null);
  {
    await using weir = await start(server);
    const { events } = weir.daemon;
    traces.watch(events, () => ({ provider: "weir", address: null, port: null }));
    const started = {
      type: "turn_started",
      channel: "test:one",
      fromSeq: 1,
      toSeq: 1,
      agent: "main",
      model: "m",
    } as const;
    events.emit({ ...started, turn: 1, attempt: 1 });
    events.emit({ ...started, turn: 1, attempt: 2 });
    events.emit({ ...started, turn: 2, attempt: 1, channel: "test:two" });
    events.emit({ type: "channel_lost", channel: "test:two", why: "it is another's" });
    const tokens = { promptTokens: null, cachedTokens: null, completionTokens: null };
    const call = {
      type: "model_call",
      channel: "test:one",
      model: "m",
      outcome: "answered",
      ...tokens,
      totalMs: 5,
    } as const;
    events.emit({ ...call, purpose: "compaction", turn: null, job: 3 });
  }
  await traces[Symbol.asyncDispose]();
  const turns = collector.spans().filter(({ name }) => name === "invoke_agent main");
  assert.deepEqual(turns.map((one) => String(attributesOf(one)["weir.turn.outcome"])).toSorted(), [
    "begun_again",
    "left",
    "lost",
  ]);
  const alone = collector.spans().find(({ name }) => name === "chat m");
  assert.ok(alone !== undefined);
  assert.equal(alone.parentSpanId ?? "", "");
  assert.equal(attributesOf(alone)["weir.purpose"], "compaction");
});

test("a collector that fails is told of once, and neither holds up a turn nor the end", async () => {
  await using collector = await startCollector();
  await using server = await startModelServer();
  server.respond(() => text("an answer"));
  collector.status = 400;
  const lines: string[] = [];
  const traces = await openTraces(optionsFor(collector, lines));
  assert.ok(traces !== null);
  {
    await using weir = await start(server);
    traces.watch(weir.daemon.events, () => SERVER);
    await weir.say("hello", { room: "down", id: "down" });
    await weir.event("turn_settled", ({ inReplyTo }) => inReplyTo.includes("down"));
  }
  await traces[Symbol.asyncDispose]();
  await until("it is told", () => lines.length > 0);
  assert.equal(lines.length, 1);
  assert.match(lines[0] ?? "", /spans_not_sent/);
});

test("package.json names what is installed to send spans", () => {
  const manifest: {
    readonly peerDependencies: Record<string, string>;
    readonly peerDependenciesMeta: Record<string, { readonly optional: boolean }>;
  } = JSON.parse(readFileSync(path.join(ROOT, "package.json"), "utf8"));
  assert.deepEqual(manifest.peerDependencies, PACKAGES);
  assert.ok(Object.keys(PACKAGES).every((name) => manifest.peerDependenciesMeta[name]?.optional === true));
});

const OPEN = 'const { openTraces } = await import("./src/telemetry/traces/open.ts");';
const OPTIONS = '{ endpoint: "http://127.0.0.1:1", headers: {}, serviceName: "w", version: "1", log: null }';

test("without a collector nothing of the SDK is read", async () => {
  const sdk = /@opentelemetry\/(?!api)/;
  assert.deepEqual(
    await loadedBy(`await import("./src/cli/start.ts"); ${OPEN} await openTraces(null);`, sdk),
    [],
  );
  assert.notDeepEqual(await loadedBy(`${OPEN} await openTraces(${OPTIONS});`, sdk), [], "the look sees it");
});

test("where it is not installed, the start says what to install", async () => {
  const hooks = `if (specifier.startsWith("@opentelemetry/sdk"))
        throw Object.assign(new Error("no such package"), { code: "ERR_MODULE_NOT_FOUND" });
      return next(specifier, context);`;
  const said = await runHooked(
    `${OPEN} await openTraces(${OPTIONS}).catch((error) => console.log(error.name, error.message));`,
    hooks,
  );
  assert.match(said, /^OperatorError telemetry\.endpoint/);
  assert.match(
    said,
    /npm install --no-save @opentelemetry\/api@1\.10\.x .*@opentelemetry\/sdk-trace@3\.1\.x$/m,
  );
});

test("a collector that redirects is told as one", async () => {
  await using elsewhere = await startRedirectingServer();
  const lines: string[] = [];
  const log = pino({ level: "debug" }, { write: (line: string) => void lines.push(line) });
  const traces = await openTraces({
    endpoint: elsewhere.origin,
    headers: {},
    serviceName: "weir",
    version: "1",
    log,
  });
  assert.ok(traces !== null);
  {
    await using server = await startModelServer();
    server.reply(text("hello"));
    await using weir = await start(server);
    traces.watch(weir.daemon.events, () => SERVER);
    await weir.say("hello", { room: "moved", id: "moved" });
    await weir.event("turn_settled", ({ inReplyTo }) => inReplyTo.includes("moved"));
  }
  await traces[Symbol.asyncDispose]();
  await until("it is told", () => lines.length > 0);
  assert.match(
    lines[0] ?? "",
    /redirects \(HTTP 307\), and Weir follows no redirect: set telemetry\.endpoint to/,
  );
  assert.deepEqual(elsewhere.followed, []);
});
