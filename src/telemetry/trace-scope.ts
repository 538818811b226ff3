import { AsyncLocalStorage } from "node:async_hooks";
import { randomBytes } from "node:crypto";

/** Identity of a span, as hex numbers of 32 and 16 digits. */
export interface SpanIds {
  readonly traceId: string;
  readonly spanId: string;
}

/** `work`: a trace without a span around its spans. */
type Kind = "turn" | "work" | "chat" | "tool";

interface Scope extends SpanIds {
  readonly kind: Kind;
  /** Work that it has begun may outlive it, and is no part of it then. */
  isOver: boolean;
}

const scopes = new AsyncLocalStorage<Scope>();
let collectors = 0;

/** Has spans get identities until it is disposed of. Before, `inTrace` and `inSpan` only call their work. */
export function collectSpans(): Disposable {
  collectors++;
  return { [Symbol.dispose]: () => void collectors-- };
}

/** Runs work as a trace of its own: a turn is a span itself. */
export async function inTrace<Result>(kind: "turn" | "work", work: () => Promise<Result>): Promise<Result> {
  return collectors === 0 ? work() : within({ kind, ...newIds(), isOver: false }, work);
}

/** Runs work as a span of the running trace, or of a new one. */
export async function inSpan<Result>(kind: "chat" | "tool", work: () => Promise<Result>): Promise<Result> {
  if (collectors === 0) return work();
  const { traceId } = current() ?? newIds();
  return within({ kind, traceId, spanId: newSpanId(), isOver: false }, work);
}

/** The running span. @param kind null or another kind is running: undefined */
export function runningSpan(kind: Kind): SpanIds | undefined {
  const scope = current();
  return scope?.kind === kind ? scope : undefined;
}

/** Identity for a span of the running trace. */
export function spanOfRunningTrace(): SpanIds {
  return { traceId: current()?.traceId ?? newIds().traceId, spanId: newSpanId() };
}

/** The header of W3C Trace Context for a request of the running span; undefined: there is none. */
export function traceparent(): string | undefined {
  const scope = current();
  if (scope === undefined || scope.kind === "work") return undefined;
  return `00-${scope.traceId}-${scope.spanId}-01`;
}

/** Fields of a log line that name the running span. */
export function spanFields(): { readonly trace_id?: string; readonly span_id?: string } {
  const scope = current();
  if (scope === undefined) return {};
  return { trace_id: scope.traceId, ...(scope.kind !== "work" && { span_id: scope.spanId }) };
}

function current(): Scope | undefined {
  if (collectors === 0) return undefined;
  const scope = scopes.getStore();
  return scope?.isOver === false ? scope : undefined;
}

async function within<Result>(scope: Scope, work: () => Promise<Result>): Promise<Result> {
  try {
    return await scopes.run(scope, work);
  } finally {
    scope.isOver = true;
  }
}

function newIds(): SpanIds {
  return { traceId: randomBytes(16).toString("hex"), spanId: newSpanId() };
}

function newSpanId(): string {
  return randomBytes(8).toString("hex");
}
