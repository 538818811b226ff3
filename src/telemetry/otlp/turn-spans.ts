import type { Attributes, Span, SpanKind, SpanOptions, SpanStatus } from "@opentelemetry/api";
import type { WeirEvent } from "../events.ts";
import { runningSpan, type SpanIds, spanOfRunningTrace } from "../trace-scope.ts";

/** The parts of OpenTelemetry's interface for making spans. */
export interface SpanMaker {
  /** @param place its identity, and the span that it is a part of; null: it begins a trace */
  start(
    name: string,
    options: SpanOptions,
    place: { readonly ids: SpanIds; readonly parent: Span | null },
  ): Span;
  readonly kinds: Pick<typeof SpanKind, "INTERNAL" | "CLIENT">;
  readonly failed: SpanStatus;
}

/** The server of the model calls: `gen_ai.provider.name`, `server.address`, `server.port`. */
interface Server {
  readonly provider: string;
  readonly address: string | null;
  readonly port: number | null;
}

/** The server of a model's calls; null: of no particular model. */
export type ServerOf = (model: string | null) => Server;

interface OpenTurn {
  readonly span: Span;
  readonly channel: string;
  /** How the last model call failed; null: it did not. */
  lastFailure: string | null;
}

type Of<Type extends WeirEvent["type"]> = Extract<WeirEvent, { type: Type }>;

/**
 * Makes spans of events, by OpenTelemetry's conventions for generative AI (gen-ai 0.1, in development): `invoke_agent`
 * for a turn, with `retrieval`, `chat` and `execute_tool` in it. A call that no turn makes itself, as for a summary, is a
 * trace of its own. They contain no words of people or models. An event after the fact determines its span's beginning by the
 * duration.
 */
export class TurnSpans {
  readonly #maker: SpanMaker;
  readonly #serverOf: ServerOf;
  readonly #now: () => number;
  /** By turn number. */
  readonly #open = new Map<number, OpenTurn>();

  /** @param now the time of a span, ms since 1970 */
  constructor(maker: SpanMaker, serverOf: ServerOf, now: () => number = Date.now) {
    this.#maker = maker;
    this.#serverOf = serverOf;
    this.#now = now;
  }

  note(event: WeirEvent): void {
    switch (event.type) {
      case "turn_started":
        return this.#begin(event);
      case "recalled":
        return this.#recalled(event);
      case "model_call":
        return this.#asked(event);
      case "tool_called":
        return this.#called(event);
      case "turn_settled":
        return this.#end(event.turn, { outcome: event.outcome, ...tokensOf(event) });
      case "channel_lost":
        for (const [turn, { channel }] of this.#open)
          if (channel === event.channel) this.#end(turn, { outcome: "lost" });
        return;
      default:
    }
  }

  /** Ends the open spans: another process continues the turns. */
  endAll(): void {
    for (const turn of this.#open.keys()) this.#end(turn, { outcome: "left" });
  }

  #begin({ turn, channel, agent, model, attempt }: Of<"turn_started">): void {
    // Its messages have changed meanwhile.
    this.#end(turn, { outcome: "begun_again" });
    const { kinds } = this.#maker;
    const attributes = {
      "gen_ai.operation.name": "invoke_agent",
      "gen_ai.conversation.id": channel,
      "gen_ai.agent.name": agent,
      "gen_ai.request.model": model,
      "weir.turn.id": turn,
      "weir.turn.attempt": attempt,
    };
    const options = { kind: kinds.INTERNAL, attributes, startTime: this.#now() };
    const ids = runningSpan("turn") ?? spanOfRunningTrace();
    const span = this.#maker.start(`invoke_agent ${agent}`, options, { ids, parent: null });
    this.#open.set(turn, { span, channel, lastFailure: null });
  }

  #recalled({ turn, channel, entries, memories, ms }: Of<"recalled">): void {
    this.#record("retrieval log", this.#open.get(turn), ms, {
      ...this.#operation("retrieval", channel),
      "gen_ai.data_source.id": "log",
      "weir.recalled.entries": entries,
      "weir.recalled.memories": memories,
    });
  }

  #asked(event: Of<"model_call">): void {
    const { channel, model, outcome, purpose, totalMs, firstTokenMs = null, writtenTokens = null } = event;
    const turn = purpose === "turn" && event.turn != null ? this.#open.get(event.turn) : undefined;
    const failure = outcome === "answered" ? null : outcome;
    if (turn !== undefined) turn.lastFailure = failure;
    const attributes = {
      ...this.#operation("chat", channel, model),
      ...serverPlace(this.#serverOf(model)),
      "gen_ai.request.model": model,
      "gen_ai.request.stream": true,
      "weir.purpose": purpose,
      ...(failure === null && { "gen_ai.response.model": model }),
      ...(firstTokenMs !== null && { "gen_ai.response.time_to_first_chunk": firstTokenMs / 1000 }),
      ...(event.promptTokens !== null && { "gen_ai.usage.input_tokens": event.promptTokens }),
      ...(event.cachedTokens !== null && { "gen_ai.usage.cache_read.input_tokens": event.cachedTokens }),
      ...(writtenTokens !== null && { "gen_ai.usage.cache_write.input_tokens": writtenTokens }),
      ...(event.completionTokens !== null && { "gen_ai.usage.output_tokens": event.completionTokens }),
    };
    this.#record(`chat ${model}`, turn, totalMs, attributes, { kind: "chat", failure });
  }

  #called({ turn, channel, tool, callId, outcome, ms }: Of<"tool_called">): void {
    const attributes = {
      ...this.#operation("execute_tool", channel),
      "gen_ai.tool.name": tool,
      "gen_ai.tool.call.id": callId,
      "gen_ai.tool.type": "function",
    };
    const failure = outcome === "failed" ? "tool_failed" : null;
    this.#record(`execute_tool ${tool}`, this.#open.get(turn), ms, attributes, { kind: "tool", failure });
  }

  #operation(name: string, channel: string, model: string | null = null): Attributes {
    return {
      "gen_ai.operation.name": name,
      "gen_ai.provider.name": this.#serverOf(model).provider,
      "gen_ai.conversation.id": channel,
    };
  }

  /** A span of something that has ended. @param inside undefined: a trace of its own */
  #record(
    name: string,
    inside: OpenTurn | undefined,
    ms: number,
    attributes: Attributes,
    { kind: of, failure = null }: { readonly kind?: "chat" | "tool"; readonly failure?: string | null } = {},
  ): void {
    const { kinds } = this.#maker;
    const endTime = this.#now();
    const kind = of === "chat" ? kinds.CLIENT : kinds.INTERNAL;
    const ids = (of === undefined ? undefined : runningSpan(of)) ?? spanOfRunningTrace();
    const parent = inside?.span ?? null;
    const span = this.#maker.start(name, { kind, attributes, startTime: endTime - ms }, { ids, parent });
    if (failure !== null) this.#fail(span, failure);
    span.end(endTime);
  }

  #fail(span: Span, why: string): void {
    span.setAttribute("error.type", why);
    span.setStatus(this.#maker.failed);
  }

  #end(turn: number, { outcome, ...tokens }: { readonly outcome: string } & Attributes): void {
    const open = this.#open.get(turn);
    if (open === undefined) return;
    this.#open.delete(turn);
    open.span.setAttributes({ "weir.turn.outcome": outcome, ...tokens });
    if (outcome === "failed") this.#fail(open.span, open.lastFailure ?? "_OTHER");
    open.span.end(this.#now());
  }
}

export function serverPlace({ address, port }: Server): Attributes {
  return {
    ...(address !== null && { "server.address": address }),
    ...(port !== null && { "server.port": port }),
  };
}

function tokensOf({ tokensIn, tokensOut }: Of<"turn_settled">): Attributes {
  return {
    ...(tokensIn !== undefined && { "gen_ai.usage.input_tokens": tokensIn }),
    ...(tokensOut !== undefined && { "gen_ai.usage.output_tokens": tokensOut }),
  };
}
