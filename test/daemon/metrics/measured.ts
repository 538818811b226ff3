import { type ClusterState, StatusKeeper } from "../../../src/admin/reports/daemon-status.ts";
import { Breaker } from "../../../src/compactor/breaker.ts";
import type { ModelPrice } from "../../../src/core/cost.ts";
import { type MeasuredDaemon, Metrics } from "../../../src/daemon/metrics/metrics.ts";
import { Readiness } from "../../../src/daemon/metrics/readiness.ts";
import { notConnectedYet } from "../../../src/platforms/platform.ts";
import { Events, type WeirEvent } from "../../../src/telemetry/events.ts";
import { SILENT } from "../../store/open-store.ts";

const UNUSED: MeasuredDaemon["store"]["overview"] = {
  due: async () => [],
  undelivered: async () => [],
  connections: () => ({ busy: 0, idle: 0, waiting: 0 }),
};
const PRICE: ModelPrice = { input: 2, cached: 0.5, write: 2, output: 10 };
const CHANNEL = "discord:1234567890";
export const CALL = {
  type: "model_call",
  channel: CHANNEL,
  purpose: "turn",
  model: "priced",
  outcome: "answered",
  promptTokens: 1_000_000,
  cachedTokens: 400_000,
  writtenTokens: 0,
  completionTokens: 100_000,
  totalMs: 1500,
} as const;
const TURN: Extract<WeirEvent, { type: "turn_settled" }> = {
  type: "turn_settled",
  channel: CHANNEL,
  turn: 7,
  outcome: "answered",
  reason: null,
  inReplyTo: ["m-1"],
  turnMs: 1540,
  modelMs: 1500,
};
const COMPACTION = {
  type: "compaction",
  channel: CHANNEL,
  job: 1,
  phase: "committed",
  kind: "leaf",
  tier: "background",
  fromSeq: 1,
  toSeq: 9,
  tokensBefore: 900,
  tokensAfter: 90,
  memories: 1,
  model: "small",
  ms: 2000,
  reason: null,
} as const;

/** Each kind of event that is counted. */
export const EVENTS: readonly WeirEvent[] = [
  { ...TURN, windowUsed: 0.62 },
  { ...TURN, channel: "slack:C1", outcome: "failed", reason: "the model is away" },
  { ...CALL, firstTokenMs: 400 },
  {
    ...CALL,
    outcome: "unavailable",
    purpose: "compaction",
    promptTokens: null,
    cachedTokens: null,
    completionTokens: null,
    model: "free",
  },
  {
    ...CALL,
    model: "free",
    purpose: "subagent",
    promptTokens: null,
    cachedTokens: null,
    completionTokens: null,
  },
  COMPACTION,
  { ...COMPACTION, tier: "aggressive", model: null },
  { ...COMPACTION, phase: "started" },
  { ...COMPACTION, kind: "merge", phase: "stale" },
  { ...COMPACTION, phase: "failed", reason: "nonsense" },
  { type: "emergency", channel: CHANNEL, omitted: 12, omittedTo: 99, tokensBefore: 9, tokensAfter: 5 },
  { type: "reply_delivered", channel: CHANNEL, turn: 7, parts: 2, turnMs: 1600 },
  { type: "delivery_failed", channel: CHANNEL, kind: "unavailable", why: "ECONNRESET", retryInMs: 100 },
  { type: "delivery_failed", channel: CHANNEL, kind: "gone", why: "unknown channel", retryInMs: null },
  { type: "recalled", channel: CHANNEL, turn: 7, entries: 4, memories: 2, ms: 20 },
  { type: "model_retry", channel: CHANNEL, attempt: 2, of: 3 },
  { type: "compaction_refused", channel: CHANNEL, job: 1, why: "nonsense" },
  { type: "tool_failed", channel: CHANNEL, tool: "react", why: "nonsense" },
  { type: "channel_lost", channel: CHANNEL, why: "nonsense" },
  { type: "message_accepted", channel: CHANNEL, seq: 1, messageId: "m-1", addressed: true },
];
export const MEMBER: ClusterState = {
  name: "a",
  state: "member",
  isResting: false,
  why: null,
  owned: 21,
  members: 3,
  isPublishing: true,
  wakes: { sent: 5, received: 4, dropped: 1 },
  shards: [{ platform: "discord", state: "member", of: 2, held: [1], members: 2 }],
};

interface Measured {
  readonly events: Events;
  readonly breaker: Breaker;
  /** The samples of a page, by name and labels. */
  readonly samples: () => Promise<Map<string, number>>;
}

/** Metrics of a daemon whose parts are made up, but for its events. */
export function openMeasured(
  overview: Partial<MeasuredDaemon["store"]["overview"]> = {},
  cluster?: ClusterState,
): Measured {
  const events = new Events(SILENT);
  const breaker = new Breaker(() => performance.now());
  const readiness = new Readiness();
  const metrics = new Metrics(readiness, "1.2.3");
  const { vitals, enter } = new StatusKeeper({
    platforms: [{ name: "discord" }, { name: "slack", connection: notConnectedYet }],
    models: { describe: () => "" },
    breaker,
    budgets: { low: () => [] },
    registry: { size: 3 },
    ...(cluster !== undefined && { cluster: { vitals: () => cluster } }),
    configuration: () => ({ reloadedAt: null, atStart: [], refused: null }),
    events,
  });
  enter("serving");
  readiness.watch({
    lost: new AbortController().signal,
    vitals,
    readSchema: async () => ({ current: 9, known: 9 }),
  });
  metrics.watch({
    events,
    vitals,
    models: { priceOf: (model) => (model === "priced" ? PRICE : undefined) },
    store: { overview: { ...UNUSED, ...overview } },
  });
  return {
    events,
    breaker,
    samples: async () => {
      const lines = (await metrics.render()).split("\n").filter((line) => /^[a-z]/.test(line));
      return new Map(
        lines.map((line) => [line.slice(0, line.lastIndexOf(" ")), Number(line.split(" ").at(-1))]),
      );
    },
  };
}
