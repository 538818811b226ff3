// proves: src/telemetry/otlp/otlp.ts, src/telemetry/otlp/open.ts, src/telemetry/otlp/turn-spans.ts, src/telemetry/otlp/call-metrics.ts, src/telemetry/otlp/metric-families.ts, src/telemetry/trace-scope.ts
// Spans and metrics, as a collector gets them over OTLP/HTTP.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createServer, type IncomingHttpHeaders } from "node:http";
import path from "node:path";
import { after, test } from "node:test";
import { type Logger, pino } from "pino";
import { Counter, Gauge, Histogram, Registry } from "prom-client";
import { openOtlp, PACKAGES } from "../../../src/telemetry/otlp/open.ts";
import type { MetricFamily } from "../../../src/telemetry/otlp/metric-families.ts";
import { spanFields } from "../../../src/telemetry/trace-scope.ts";
import type { OtlpOptions } from "../../../src/telemetry/otlp/otlp.ts";
import { command } from "../../support/commands.ts";
import { createTestDatabase } from "../../support/database.ts";
import { loadedBy, runHooked } from "../../support/hooked.ts";
import { startListening } from "../../support/listening.ts";
import { status, text, toolCalls } from "../../support/model-behaviours.ts";
import { type ModelServer, startModelServer } from "../../support/model-server.ts";
import { until } from "../../support/patience.ts";
import { startRedirectingServer } from "../../support/redirecting-server.ts";
import { startWeir, type TestWeir } from "../../support/weir.ts";

const ROOT = path.join(import.meta.dirname, "../../..");
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
  /** The points of each metric, as it came last. */
  metrics(): ReadonlyMap<string, readonly Point[]>;
}

interface Point {
  readonly attributes: OtlpSpan["attributes"];
  readonly asDouble?: number;
  readonly asInt?: number | string;
  readonly sum?: number;
  readonly count?: number | string;
  readonly bucketCounts?: readonly (number | string)[];
  readonly explicitBounds?: readonly number[];
}

interface Points {
  readonly dataPoints: readonly Point[];
}

interface MetricsExport {
  readonly resourceMetrics: readonly {
    readonly scopeMetrics: readonly {
      readonly metrics: readonly {
        readonly name: string;
        readonly sum?: Points & { readonly isMonotonic: boolean };
        readonly gauge?: Points;
        readonly histogram?: Points;
      }[];
    }[];
  }[];
}

/** Takes OTLP as JSON. */
async function startCollector(): Promise<Collector> {
  const bodies: string[] = [];
  const sent = new Map<string, string[]>([
    ["/v1/traces", []],
    ["/v1/metrics", []],
  ]);
  const headers: IncomingHttpHeaders[] = [];
  const paths: (string | undefined)[] = [];
  const server = createServer((request, response) => {
    let body = "";
    request.setEncoding("utf8");
    request.on("data", (piece: string) => (body += piece));
    request.on("end", () => {
      bodies.push(body);
      sent.get(request.url ?? "")?.push(body);
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
    metrics: () =>
      new Map(
        sent.get("/v1/metrics")?.flatMap((body) => {
          const { resourceMetrics }: MetricsExport = JSON.parse(body);
          const metrics = resourceMetrics.flatMap(({ scopeMetrics }) =>
            scopeMetrics.flatMap((one) => one.metrics),
          );
          return metrics.map(({ name, sum, gauge, histogram }) => {
            const points: Points = sum ?? gauge ?? histogram ?? { dataPoints: [] };
            return [name, points.dataPoints] as const;
          });
        }),
      ),
    spans: () =>
      (sent.get("/v1/traces") ?? []).flatMap((body) => {
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

function optionsFor(collector: Collector, lines: string[] = []): OtlpOptions {
  return {
    endpoint: collector.url,
    headers: { authorization: "Bearer of-the-collector" },
    serviceName: "weir-of-the-mill",
    version: "1.2.3",
    log: pino({}, { write: (line: string) => void lines.push(line) }),
    families,
  };
}

const CONFIG = '[llm]\nmax_retries = 0\n[[agents]]\nid = "main"\nmodel = "test-model"\n';
const SERVER = { provider: "openai", address: "127.0.0.1", port: 1234 };

async function start(server: ModelServer, log?: Logger): Promise<TestWeir> {
  const more = log === undefined ? {} : { log };
  return startWeir({ connection: database.connection, modelUrl: server.url, config: CONFIG, ...more });
}

/** A registry with one metric of each type. */
async function families(): Promise<readonly MetricFamily[]> {
  const registers = [new Registry()];
  new Counter({ name: "c_total", help: "c", labelNames: ["kind"], registers }).inc({ kind: "a" }, 3);
  new Gauge({ name: "g", help: "g", registers }).set(0.5);
  const histogram = new Histogram({
    name: "h_seconds",
    help: "h",
    labelNames: ["kind"],
    buckets: [1, 2],
    registers,
  });
  for (const [kind, value] of [
    ["a", 0.5],
    ["a", 1.5],
    ["a", 9],
    ["b", 2],
  ] as const)
    histogram.observe({ kind }, value);
  const [registry] = registers;
  const all: unknown = await registry?.getMetricsAsJSON();
  // oxlint-disable-next-line no-unsafe-type-assertion -- its own types lack the names of a histogram's samples
  return all as readonly MetricFamily[];
}

/** One turn with tools that is answered, and one that fails, as they reach a collector. */
async function traceTurns(
  collector: Collector,
  { log, onRequests }: { readonly log?: Logger; readonly onRequests?: (headers: unknown[]) => void } = {},
  room = "traced",
): Promise<void> {
  await using server = await startModelServer();
  const traces = await openOtlp(optionsFor(collector));
  assert.ok(traces !== null);
  {
    await using weir = await start(server, log);
    traces.watch(weir.daemon.events, () => SERVER);
    const calls = [
      { name: "search_history", arguments: { query: "the secret of the mill" } },
      { name: "find the secret of the mill", arguments: {} },
    ];
    // There is nothing to look for while all that was said is in view.
    await weir.say("hello", { room, addressed: false });
    await command(weir, room, "/new");
    server.reply(toolCalls(calls));
    server.reply(text("the miller knows", { usage: { prompt: 100, completion: 7, cached: 40 } }));
    await weir.say("what is the secret of the mill?", { room, id: `${room} asked` });
    await weir.event("turn_settled", ({ inReplyTo }) => inReplyTo.includes(`${room} asked`));
    server.reply(status(500));
    await weir.say("and the dyke?", { room, id: `${room} failed` });
    await weir.event("turn_settled", ({ inReplyTo }) => inReplyTo.includes(`${room} failed`));
    onRequests?.(server.requests.map(({ headers }) => headers["traceparent"]));
  }
  await traces[Symbol.asyncDispose]();
}

test("a turn is a trace: its look-up, its model calls and its tools, with tokens, and without a word of anybody's", async () => {
  await using collector = await startCollector();
  await traceTurns(collector);
  assert.deepEqual(new Set(collector.paths), new Set(["/v1/metrics", "/v1/traces"]));
  assert.equal(collector.headers[0]?.authorization, "Bearer of-the-collector");
  const first = collector.bodies.find((body) => body.includes("resourceSpans"));
  const { resourceSpans }: Export = JSON.parse(first ?? "");
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
  assert.equal(called["gen_ai.provider.name"], "openai");
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

test("a model's request names the span of its call, and a line of the log that of its turn or call while it runs", async () => {
  await using collector = await startCollector();
  const lines: Record<string, unknown>[] = [];
  const write = (line: string): void => void lines.push(JSON.parse(line));
  let parents: unknown[] = [];
  const log = pino({ level: "debug", mixin: spanFields }, { write });
  await traceTurns(collector, { log, onRequests: (found) => (parents = found) }, "propagated");
  const spans = collector.spans();
  const calls = spans.filter(({ name }) => name === "chat test-model");
  assert.equal(calls.length, 3);
  assert.deepEqual(
    parents,
    calls.map(({ traceId, spanId }) => `00-${traceId}-${spanId}-01`),
  );
  const turn = spans.find(({ name }) => name === "invoke_agent main");
  const named = (event: string): unknown[] =>
    lines.filter(({ msg }) => msg === event).map((line) => [line["trace_id"], line["span_id"]]);
  assert.ok(turn !== undefined);
  assert.deepEqual(named("turn_started")[0], [turn.traceId, turn.spanId]);
  assert.deepEqual(named("turn_settled")[0], [turn.traceId, turn.spanId]);
  assert.deepEqual(
    named("model_call"),
    calls.map(({ traceId, spanId }) => [traceId, spanId]),
  );
  assert.ok(named("message_accepted").every((ids) => Array.isArray(ids) && ids[0] === undefined));
});

test("metrics follow the conventions, and those of /metrics are beside them", async () => {
  await using collector = await startCollector();
  await traceTurns(collector, {}, "measured");
  const metrics = collector.metrics();
  const of = (name: string): readonly Point[] => metrics.get(name) ?? [];
  const total = (name: string): number =>
    of(name).reduce((all, { asDouble, asInt, sum }) => all + Number(asDouble ?? asInt ?? sum), 0);
  const count = (name: string): number => of(name).reduce((all, point) => all + Number(point.count), 0);
  const call = attributesOf(of("gen_ai.client.inference.duration").find(isWithout("error.type")) ?? NO_POINT);
  assert.deepEqual(call, {
    "gen_ai.operation.name": "chat",
    "gen_ai.provider.name": "openai",
    "gen_ai.request.model": "test-model",
    "gen_ai.response.model": "test-model",
    "server.address": "127.0.0.1",
    "server.port": 1234,
  });
  assert.equal(count("gen_ai.client.inference.duration"), 3);
  const failed = of("gen_ai.client.inference.duration").filter((point) => !isWithout("error.type")(point));
  assert.deepEqual(
    failed.map((point) => attributesOf(point)["error.type"]),
    ["unavailable"],
  );
  assert.ok(count("gen_ai.client.inference.time_to_first_chunk") >= 1);
  assert.equal(total("gen_ai.client.inference.usage.cache_read.input_tokens"), 40);
  assert.ok(total("gen_ai.client.inference.usage.input_tokens") >= 100);
  assert.equal(count("gen_ai.client.inference.operation.output_tokens"), 2);
  assert.equal(count("gen_ai.invoke_agent.duration"), 2);
  assert.equal(total("gen_ai.invoke_agent.inference_calls"), 3);
  assert.equal(total("gen_ai.invoke_agent.tool_calls"), 2);
  const tools = of("gen_ai.execute_tool.duration").map((point) => attributesOf(point)["gen_ai.tool.name"]);
  assert.deepEqual(tools.map(String).toSorted(), ["search_history", "unknown"]);
  // A registry of Prometheus, by its own names.
  assert.deepEqual(
    of("c_total").map((point) => [attributesOf(point)["kind"], point.asDouble]),
    [["a", 3]],
  );
  assert.equal(of("g")[0]?.asDouble, 0.5);
  const buckets = of("h_seconds").map((point) => {
    const { count: all, sum, bucketCounts, explicitBounds } = point;
    return [attributesOf(point)["kind"], Number(all), sum, bucketCounts?.map(Number), explicitBounds];
  });
  assert.deepEqual(buckets, [
    ["a", 3, 11, [1, 1, 1], [1, 2]],
    ["b", 1, 2, [0, 1, 0], [1, 2]],
  ]);
});

const NO_POINT: Point = { attributes: [] };

function isWithout(key: string): (point: Point) => boolean {
  return (point) => attributesOf(point)[key] === undefined;
}

test("a turn that is left, and one that is begun again, end; what is no turn's is a trace of its own", async () => {
  await using collector = await startCollector();
  await using server = await startModelServer();
  const traces = await openOtlp(optionsFor(collector));
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
  const traces = await openOtlp(optionsFor(collector, lines));
  assert.ok(traces !== null);
  {
    await using weir = await start(server);
    traces.watch(weir.daemon.events, () => SERVER);
    await weir.say("hello", { room: "down", id: "down" });
    await weir.event("turn_settled", ({ inReplyTo }) => inReplyTo.includes("down"));
  }
  await traces[Symbol.asyncDispose]();
  await until("both are told", () => lines.length > 1);
  assert.equal(lines.length, 2);
  assert.match(lines.join("\n"), /spans_not_sent/);
  assert.match(lines.join("\n"), /metrics_not_sent/);
});

test("package.json names what is installed to send spans", () => {
  const manifest: {
    readonly peerDependencies: Record<string, string>;
    readonly peerDependenciesMeta: Record<string, { readonly optional: boolean }>;
  } = JSON.parse(readFileSync(path.join(ROOT, "package.json"), "utf8"));
  assert.deepEqual(manifest.peerDependencies, PACKAGES);
  assert.ok(Object.keys(PACKAGES).every((name) => manifest.peerDependenciesMeta[name]?.optional === true));
});

const OPEN = 'const { openOtlp } = await import("./src/telemetry/otlp/open.ts");';
const OPTIONS =
  '{ endpoint: "http://127.0.0.1:1", headers: {}, serviceName: "w", version: "1", log: null, families: async () => [] }';

test("without a collector nothing of the SDK is read", async () => {
  const sdk = /@opentelemetry\/(?!api)/;
  assert.deepEqual(
    await loadedBy(`await import("./src/cli/start.ts"); ${OPEN} await openOtlp(null);`, sdk),
    [],
  );
  assert.notDeepEqual(await loadedBy(`${OPEN} await openOtlp(${OPTIONS});`, sdk), [], "the look sees it");
});

test("where it is not installed, the start says what to install", async () => {
  const hooks = `if (specifier.startsWith("@opentelemetry/sdk"))
        throw Object.assign(new Error("no such package"), { code: "ERR_MODULE_NOT_FOUND" });
      return next(specifier, context);`;
  const said = await runHooked(
    `${OPEN} await openOtlp(${OPTIONS}).catch((error) => console.log(error.name, error.message));`,
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
  const traces = await openOtlp({
    endpoint: elsewhere.origin,
    headers: {},
    serviceName: "weir",
    version: "1",
    log,
    families: async () => [],
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
