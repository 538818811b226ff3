import { ROOT_CONTEXT, SpanKind, SpanStatusCode, trace } from "@opentelemetry/api";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-http";
import { resourceFromAttributes } from "@opentelemetry/resources";
import { BatchSpanProcessor, type SpanExporter, TracerProvider } from "@opentelemetry/sdk-trace";
import type { Logger } from "pino";
import { agentFor } from "../../network/use-proxies.ts";
import { refusedRedirect } from "../../text/redirect.ts";
import { withDeadline } from "../../async/deadline.ts";
import { errorMessage } from "../../core/errors.ts";
import type { Events } from "../events.ts";
import { type SpanMaker, type SpanServerOf, TurnSpans } from "./turn-spans.ts";

/** Longest wait for the collector, for one batch and at the end, ms. */
const SEND_MS = 5000;

export interface TracesOptions {
  readonly endpoint: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly serviceName: string;
  readonly version: string;
  readonly log: Logger;
}

/** Sends the daemon's work as spans. Disposing sends the rest, with a short wait. */
export interface Traces extends AsyncDisposable {
  /** Makes spans of later events. */
  watch(events: Events, serverOf: SpanServerOf): void;
}

/** Only `open.ts` imports this: no other file loads OpenTelemetry's SDK. */
export function createTraces(options: TracesOptions): Traces {
  const { endpoint, headers, serviceName, version, log } = options;
  const url = `${endpoint.replace(/(?<!\/)\/+$/, "")}/v1/traces`;
  const agent = agentFor(new URL(url));
  const inner = new OTLPTraceExporter({
    url,
    headers: { ...headers },
    timeoutMillis: SEND_MS,
    ...(agent !== undefined && { httpAgentOptions: () => agent }),
  });
  const told = new Outage(log);
  const exporter: SpanExporter = {
    export(spans, done) {
      inner.export(spans, (result) => {
        const code: number = result.code;
        told.note(code === 0 ? null : reasonOf(result.error, url), spans.length);
        done(result);
      });
    },
    forceFlush: async () => inner.forceFlush(),
    shutdown: async () => inner.shutdown(),
  };
  const provider = new TracerProvider({
    resource: resourceFromAttributes({ "service.name": serviceName, "service.version": version }),
    spanProcessors: [new BatchSpanProcessor({ exporter })],
  });
  const maker: SpanMaker = {
    tracer: provider.getTracer("weir", version),
    kinds: SpanKind,
    root: ROOT_CONTEXT,
    within: (span) => trace.setSpan(ROOT_CONTEXT, span),
    failed: { code: SpanStatusCode.ERROR },
  };
  let end = (): void => undefined;
  return {
    watch(events, serverOf) {
      const spans = new TurnSpans(maker, serverOf);
      const stop = events.on((event) => spans.note(event));
      end = () => {
        stop();
        spans.endAll();
      };
    },
    async [Symbol.asyncDispose]() {
      end();
      await withDeadline(
        provider.shutdown().catch(() => undefined),
        SEND_MS,
      );
    },
  };
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
  #lost = 0;

  constructor(log: Logger) {
    this.#log = log;
  }

  /** @param why null: the spans were sent */
  note(why: string | null, spans: number): void {
    if (why === null) {
      if (this.#lost > 0) this.#log.info({ lost: this.#lost }, "spans_sent_again");
      this.#lost = 0;
      return;
    }
    if (this.#lost === 0)
      this.#log.warn({ why }, "spans_not_sent: what comes until the collector answers is lost");
    this.#lost += spans;
  }
}
