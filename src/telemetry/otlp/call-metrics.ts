import type { Attributes, Counter, Histogram, Meter } from "@opentelemetry/api";
import type { WeirEvent } from "../events.ts";
import { type ServerOf, serverPlace } from "./turn-spans.ts";

type Of<Type extends WeirEvent["type"]> = Extract<WeirEvent, { type: Type }>;

interface OpenTurn {
  readonly agent: string;
  readonly channel: string;
  readonly startedAt: number;
  calls: number;
  tools: number;
  lastFailure: string | null;
}

/** As the conventions have it: doubling from 10 ms, and fourfold from one token. */
const SECONDS = [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92];
const TOKENS = [1, 4, 16, 64, 256, 1024, 4096, 16_384, 65_536, 262_144, 1_048_576, 4_194_304];
const CALLS = [0, 1, 2, 4, 8, 16, 32, 64];
const CHAT = "gen_ai.client.inference";

/**
 * Metrics of events, by OpenTelemetry's conventions for generative AI (gen-ai 0.1, in development). Attributes are from closed sets, and
 * never name people, channels or texts.
 */
export class CallMetrics {
  readonly #serverOf: ServerOf;
  readonly #now: () => number;
  readonly #instruments: ReturnType<typeof createInstruments>;
  /** By turn number. */
  readonly #open = new Map<number, OpenTurn>();

  /** @param now ms */
  constructor(meter: Meter, serverOf: ServerOf, now: () => number = Date.now) {
    this.#instruments = createInstruments(meter);
    this.#serverOf = serverOf;
    this.#now = now;
  }

  note(event: WeirEvent): void {
    switch (event.type) {
      case "turn_started": {
        const { turn, agent, channel } = event;
        const counts = { calls: 0, tools: 0, lastFailure: null };
        this.#open.set(turn, { agent, channel, startedAt: this.#now(), ...counts });
        return;
      }
      case "model_call":
        return this.#asked(event);
      case "tool_called":
        return this.#called(event);
      case "turn_settled":
        return this.#settled(event);
      case "channel_lost":
        for (const [turn, { channel }] of this.#open) if (channel === event.channel) this.#open.delete(turn);
        return;
      default:
    }
  }

  #asked(event: Of<"model_call">): void {
    const { model, outcome, purpose, totalMs, firstTokenMs = null, writtenTokens = null } = event;
    const failure = outcome === "answered" ? null : outcome;
    const turn = purpose === "turn" && event.turn != null ? this.#open.get(event.turn) : undefined;
    if (turn !== undefined) {
      turn.calls++;
      turn.lastFailure = failure;
    }
    const server = this.#serverOf(model);
    const attributes = {
      "gen_ai.operation.name": "chat",
      "gen_ai.provider.name": server.provider,
      "gen_ai.request.model": model,
      ...(failure === null && { "gen_ai.response.model": model }),
      ...serverPlace(server),
    };
    const { duration, firstChunk, usage, sizes } = this.#instruments;
    duration.record(totalMs / 1000, { ...attributes, ...errorType(failure) });
    if (firstTokenMs !== null) firstChunk.record(firstTokenMs / 1000, attributes);
    // Providers do not say which of them were pictures.
    const unknown = { ...attributes, "gen_ai.token.modality": "unknown" };
    usage.input.add(event.promptTokens ?? 0, unknown);
    usage.output.add(event.completionTokens ?? 0, unknown);
    if (event.cachedTokens !== null) usage.cacheRead.add(event.cachedTokens, unknown);
    if (writtenTokens !== null) usage.cacheWrite.add(writtenTokens, unknown);
    if (event.promptTokens !== null) sizes.input.record(event.promptTokens, attributes);
    if (event.completionTokens !== null) sizes.output.record(event.completionTokens, attributes);
  }

  #called({ turn, tool, outcome, ms }: Of<"tool_called">): void {
    const open = this.#open.get(turn);
    if (open !== undefined) open.tools++;
    this.#instruments.tool.record(ms / 1000, {
      "gen_ai.operation.name": "execute_tool",
      "gen_ai.tool.name": tool,
      "gen_ai.tool.type": "function",
      ...errorType(outcome === "failed" ? "tool_failed" : null),
    });
  }

  #settled({ turn, outcome }: Of<"turn_settled">): void {
    const open = this.#open.get(turn);
    if (open === undefined) return;
    this.#open.delete(turn);
    const attributes = { "gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": open.agent };
    const { agent } = this.#instruments;
    const failure = outcome === "failed" ? (open.lastFailure ?? "_OTHER") : null;
    agent.duration.record((this.#now() - open.startedAt) / 1000, { ...attributes, ...errorType(failure) });
    agent.calls.record(open.calls, attributes);
    agent.tools.record(open.tools, attributes);
  }
}

function errorType(failure: string | null): Attributes {
  return failure === null ? {} : { "error.type": failure };
}

function createInstruments(meter: Meter) {
  const histogram = (name: string, unit: string, description: string, boundaries: number[]): Histogram =>
    meter.createHistogram(name, { unit, description, advice: { explicitBucketBoundaries: boundaries } });
  const tokens = (name: string, description: string): Counter =>
    meter.createCounter(`${CHAT}.usage.${name}`, { unit: "{token}", description });
  return {
    duration: histogram(`${CHAT}.duration`, "s", "Time of model calls", SECONDS),
    firstChunk: histogram(`${CHAT}.time_to_first_chunk`, "s", "Time to a call's first text", SECONDS),
    usage: {
      input: tokens("input_tokens", "Input tokens, cached ones included"),
      output: tokens("output_tokens", "Output tokens"),
      cacheRead: tokens("cache_read.input_tokens", "Input tokens read from the provider's cache"),
      cacheWrite: tokens("cache_write.input_tokens", "Input tokens written to the provider's cache"),
    },
    sizes: {
      input: histogram(`${CHAT}.operation.input_tokens`, "{token}", "Input tokens of a call", TOKENS),
      output: histogram(`${CHAT}.operation.output_tokens`, "{token}", "Output tokens of a call", TOKENS),
    },
    tool: histogram("gen_ai.execute_tool.duration", "s", "Time of tool calls", SECONDS),
    agent: {
      duration: histogram("gen_ai.invoke_agent.duration", "s", "Time of turns", SECONDS),
      calls: histogram(
        "gen_ai.invoke_agent.inference_calls",
        "{inference_call}",
        "Model calls of a turn",
        CALLS,
      ),
      tools: histogram("gen_ai.invoke_agent.tool_calls", "{tool_call}", "Tool calls of a turn", CALLS),
    },
  };
}
