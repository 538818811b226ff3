import { hostname } from "node:os";
import process from "node:process";
import { ROOT_CONTEXT, SpanKind, SpanStatusCode, trace } from "@opentelemetry/api";
import { OTLPMetricExporter } from "@opentelemetry/exporter-metrics-otlp-http";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-http";
import { resourceFromAttributes } from "@opentelemetry/resources";
import { MeterProvider, PeriodicExportingMetricReader } from "@opentelemetry/sdk-metrics";
import { BatchSpanProcessor, TracerProvider } from "@opentelemetry/sdk-trace";
import type { Logger } from "pino";
import { agentFor } from "../../network/use-proxies.ts";
import { refusedRedirect } from "../../text/redirect.ts";
import { withDeadline } from "../../async/deadline.ts";
import { errorMessage } from "../../core/errors.ts";
import type { Events } from "../events.ts";
import { collectSpans, type SpanIds } from "../trace-scope.ts";
import { CallMetrics } from "./call-metrics.ts";
import { type MetricFamily, producerOf } from "./metric-families.ts";
import { type ServerOf, type SpanMaker, TurnSpans } from "./turn-spans.ts";

/** Longest wait for the collector, for one batch and at the end, ms. */
const SEND_MS = 5000;

export interface OtlpOptions {
  readonly endpoint: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly serviceName: string;
  readonly version: string;
  readonly log: Logger;
  /** Reads the metrics that /metrics has; they are sent beside those of the conventions. */
  readonly families: () => Promise<readonly MetricFamily[]>;
  /** Time between two exports of metrics, ms; default: a minute. */
  readonly everyMs?: number;
}

/** Sends the daemon's work as spans and metrics. Disposing sends the rest, with a short wait. */
export interface Otlp extends AsyncDisposable {
  /** Follows later events. */
  watch(events: Events, serverOf: ServerOf): void;
}

/** Only `open.ts` imports this: no other file loads OpenTelemetry's SDK. */
export function createOtlp(options: OtlpOptions): Otlp {
  const { serviceName, version } = options;
  const resource = resourceFromAttributes({
    "service.name": serviceName,
    "service.version": version,
    "service.instance.id": `${hostname()}:${process.pid}`,
  });
  const identities = new Identities();
  const traces = new TracerProvider({
    resource,
    idGenerator: identities,
    spanProcessors: [new BatchSpanProcessor({ exporter: spanExporter(options) })],
  });
  const meters = new MeterProvider({ resource, readers: [metricReader(options)] });
  const maker = spanMaker(traces, version, identities);
  const collecting = collectSpans();
  let end = (): void => undefined;
  return {
    watch(events, serverOf) {
      const spans = new TurnSpans(maker, serverOf);
      const metrics = new CallMetrics(meters.getMeter("weir", version), serverOf);
      const stop = events.on((event) => {
        spans.note(event);
        metrics.note(event);
      });
      end = () => {
        stop();
        spans.endAll();
      };
    },
    async [Symbol.asyncDispose]() {
      end();
      collecting[Symbol.dispose]();
      const sent = Promise.allSettled([traces.shutdown(), meters.shutdown()]);
      await withDeadline(sent, SEND_MS);
    },
  };
}

/** Gives a span the identity that its work already has: requests and log lines of the work name it before it is recorded. */
class Identities {
  next: SpanIds = { traceId: "", spanId: "" };

  generateTraceId(): string {
    return this.next.traceId;
  }

  generateSpanId(): string {
    return this.next.spanId;
  }
}

function spanMaker(traces: TracerProvider, version: string, identities: Identities): SpanMaker {
  const tracer = traces.getTracer("weir", version);
  return {
    start(name, options, { ids, parent }) {
      identities.next = ids;
      const around = parent === null ? ROOT_CONTEXT : trace.setSpan(ROOT_CONTEXT, parent);
      return tracer.startSpan(name, options, around);
    },
    kinds: SpanKind,
    failed: { code: SpanStatusCode.ERROR },
  };
}

/** The options of an exporter, and who logs its outages. */
function connect({ endpoint, headers, log }: OtlpOptions, path: string, what: "spans" | "metrics") {
  const url = `${endpoint.replace(/(?<!\/)\/+$/, "")}${path}`;
  const agent = agentFor(new URL(url));
  const exporting = {
    url,
    headers: { ...headers },
    timeoutMillis: SEND_MS,
    ...(agent !== undefined && { httpAgentOptions: () => agent }),
  };
  return { url, exporting, outage: new Outage(log, what) };
}

function spanExporter(options: OtlpOptions): OTLPTraceExporter {
  const { url, exporting, outage } = connect(options, "/v1/traces", "spans");
  return new (class extends OTLPTraceExporter {
    override export(...[spans, done]: Parameters<OTLPTraceExporter["export"]>): void {
      super.export(spans, (result) => {
        outage.note(whyNot(result, url), spans.length);
        done(result);
      });
    }
  })(exporting);
}

function metricReader(options: OtlpOptions): PeriodicExportingMetricReader {
  const { url, exporting, outage } = connect(options, "/v1/metrics", "metrics");
  const exporter = new (class extends OTLPMetricExporter {
    override export(...[metrics, done]: Parameters<OTLPMetricExporter["export"]>): void {
      super.export(metrics, (result) => {
        outage.note(whyNot(result, url), 1);
        done(result);
      });
    }
  })(exporting);
  const { everyMs = 60_000, version, families } = options;
  return new PeriodicExportingMetricReader({
    exporter,
    exportIntervalMillis: everyMs,
    exportTimeoutMillis: Math.min(everyMs, SEND_MS),
    metricProducers: [producerOf(families, { name: "weir", version })],
  });
}

/** @returns null: the collector has taken it */
function whyNot(
  { code, error }: { readonly code: number; readonly error?: Error },
  url: string,
): string | null {
  return code === 0 ? null : reasonOf(error, url);
}

/** The exporter follows no redirect, and reports only its status text. */
function reasonOf(error: unknown, url: string): string {
  const status = error instanceof Error && "code" in error ? Number(error.code) : 0;
  if (!(status >= 300 && status < 400)) return errorMessage(error);
  return refusedRedirect(url, { status, to: "" }, "telemetry.endpoint");
}

/** Logs the beginning and the end of an outage, each once. */
class Outage {
  readonly #log: Logger;
  readonly #what: string;
  #lost = 0;

  constructor(log: Logger, what: string) {
    this.#log = log;
    this.#what = what;
  }

  /** @param why null: they were sent */
  note(why: string | null, count: number): void {
    if (why === null) {
      if (this.#lost > 0) this.#log.info({ lost: this.#lost }, `${this.#what}_sent_again`);
      this.#lost = 0;
      return;
    }
    if (this.#lost === 0)
      this.#log.warn({ why }, `${this.#what}_not_sent: what comes until the collector answers is lost`);
    this.#lost += count;
  }
}
