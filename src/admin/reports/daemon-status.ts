import { hostname } from "node:os";
import process from "node:process";
import { z } from "zod";
import type { Budgets } from "../../budget/budgets.ts";
import type { Breaker } from "../../compactor/breaker.ts";
import type { Models } from "../../llm/models.ts";
import type { ConnectionState, Platform } from "../../platforms/platform.ts";
import type { Events, WeirEvent } from "../../telemetry/events.ts";
import { formatSpan } from "../../text/format.ts";
import { counted } from "../../text/text.ts";
import { describeReason } from "../explain-failure.ts";
import { readVersion } from "../version.ts";

const date = z.coerce.date();
const connection = z.object({
  kind: z.enum(["connecting", "connected", "interrupted", "waiting"]),
  since: date,
  why: z.string().nullable(),
  isOperators: z.boolean(),
  as: z.string().optional(),
});
const clusterStates = z.enum(["joining", "member", "leaving", "left"]);
/** A daemon's state in its cluster: the shown part of `Cluster.vitals`. */
const clusterSchema = z.object({
  name: z.string(),
  /** `joining`: there is no broker, or it is being asked. */
  state: clusterStates,
  /** It hands on what it has, and takes nothing. */
  isResting: z.boolean(),
  /** While it joins: the last obstacle; null: no obstacle. Older daemons leave it out. */
  why: z.string().nullable().default(null),
  /** Partitions. */
  owned: z.number(),
  /** Daemons in the cluster, this one included where it takes its share; null: not known. */
  members: z.number().nullable(),
  /** Whether RabbitMQ takes what is published. */
  isPublishing: z.boolean(),
  wakes: z.object({ sent: z.number(), received: z.number(), dropped: z.number() }),
  /** By platform with shared connections: its own. Older daemons leave it out. */
  shards: z
    .array(
      z.object({
        platform: z.string(),
        state: clusterStates,
        of: z.number(),
        held: z.array(z.number()).readonly(),
        members: z.number().nullable(),
      }),
    )
    .readonly()
    .default([]),
});
/** A limit of 0 is no limit. */
const amount = z.object({ tokens: z.number(), dollars: z.number() });
export const statusSchema = z.object({
  version: z.string(),
  pid: z.number(),
  host: z.string(),
  startedAt: date,
  /** `draining`: it ends; work in flight is finished, and no new work begins. */
  phase: z.enum(["starting", "serving", "draining"]),
  /** Null: one that needs no connection. */
  platforms: z.array(z.object({ name: z.string(), connection: connection.nullable() })),
  server: z.string(),
  /** The log's destination, in words. */
  log: z.string().optional(),
  calls: z.array(
    z.object({
      model: z.string(),
      outcome: z.string(),
      at: date,
      /** Consecutive failures of its calls for turns, and the last outcome; null: no failure since the last answer. */
      failing: z.object({ calls: z.number(), outcome: z.string() }).nullable(),
    }),
  ),
  /** Models whose compactions fail: the number of consecutive failures, and the wait before the next attempt; 0: no wait. */
  circuits: z.array(z.object({ model: z.string(), failures: z.number(), waitMs: z.number() })),
  /** Budgets that are nearly spent today, or spent, the emptiest first. */
  budgets: z.array(
    z.object({
      agent: z.string(),
      scope: z.enum(["agent", "channel", "person"]),
      of: z.string(),
      limits: amount,
      spent: amount,
      isSpent: z.boolean(),
    }),
  ),
  /** Channels in its memory. */
  channels: z.number(),
  /** Left out: it is alone. */
  cluster: clusterSchema.optional(),
  /** Left out: it reads its configuration once. */
  configuration: z
    .object({
      /** Time of the last reload with a change; null: the start's configuration is active. Older daemons leave it out. */
      reloadedAt: date.nullable().default(null),
      /** Keys that differ in the file, and take effect at the next start. */
      atStart: z.array(z.string()),
      /** Why the present file is not active; null: it is. */
      refused: z
        .object({
          since: date,
          first: z.string(),
          count: z.number(),
          /** The file may be half changed. Older daemons leave it out. */
          isHeld: z.boolean().default(false),
        })
        .nullable(),
    })
    .optional(),
});

/** A running daemon's knowledge of itself, at one moment. */
export type DaemonStatus = z.output<typeof statusSchema>;

export type ClusterState = z.output<typeof clusterSchema>;

/** @returns undefined: a daemon of another version has written it */
export function parseClusterState(value: unknown): ClusterState | undefined {
  return clusterSchema.safeParse(value).data;
}

export type ConfigurationState = NonNullable<DaemonStatus["configuration"]>;

/** The part by which monitors judge a daemon. It is cheap to read. */
export type Vitals = Pick<
  DaemonStatus,
  "phase" | "platforms" | "calls" | "circuits" | "channels" | "cluster" | "configuration"
>;

type Phase = DaemonStatus["phase"];
type LastCall = DaemonStatus["calls"][number];

export interface StatusParts {
  readonly platforms: readonly Pick<Platform, "name" | "connection">[];
  readonly models: Pick<Models, "describe">;
  readonly breaker: Pick<Breaker, "states">;
  readonly budgets: Pick<Budgets, "low">;
  readonly registry: { readonly size: number };
  readonly events: Events;
  /** The log's destination, in words; default: unknown. */
  readonly logPlace?: string | undefined;
  /** Default: it is alone. */
  readonly cluster?: { readonly vitals?: () => ClusterState } | undefined;
  /** Default: it is read once. */
  readonly configuration?: () => ConfigurationState | undefined;
}

/** Most budgets that are reported: each person may have one. */
const MOST_BUDGETS = 20;
/** Failed calls in a row after which a model counts as down: retries of one call are such calls. */
const MODEL_FAILURES = 3;
/** Outcomes that do not show whether the model is available. */
const NEUTRAL: ReadonlySet<string> = new Set(["aborted", "context_length"]);

/** Collects a daemon's state. It makes no requests, because it is read often. */
export class StatusKeeper {
  readonly #parts: StatusParts;
  readonly #version = readVersion();
  readonly #startedAt = new Date();
  readonly #calls = new Map<string, LastCall>();
  #phase: Phase = "starting";

  constructor(parts: StatusParts) {
    this.#parts = parts;
    parts.events.on((event) => {
      if (event.type !== "model_call") return;
      const { model, outcome } = event;
      const failing = failingAfter(event, this.#calls.get(model)?.failing ?? null);
      this.#calls.set(model, { model, outcome, at: new Date(), failing });
    });
  }

  /** The phases only go forward. */
  readonly enter = (phase: Exclude<Phase, "starting">): void => {
    if (this.#phase !== "draining") this.#phase = phase;
  };

  readonly vitals = (): Vitals => {
    const { platforms, breaker, registry } = this.#parts;
    const configuration = this.#parts.configuration?.();
    const cluster = this.#parts.cluster?.vitals?.();
    return {
      phase: this.#phase,
      platforms: platforms.map((one) => ({ name: one.name, connection: one.connection?.() ?? null })),
      calls: [...this.#calls.values()],
      circuits: breaker.states(),
      channels: registry.size,
      ...(cluster !== undefined && { cluster }),
      ...(configuration !== undefined && { configuration }),
    };
  };

  readonly status = (): DaemonStatus => {
    const { models, budgets, logPlace } = this.#parts;
    return {
      version: this.#version,
      pid: process.pid,
      host: hostname(),
      startedAt: this.#startedAt,
      server: models.describe(),
      ...(logPlace !== undefined && { log: logPlace }),
      budgets: budgets.low().slice(0, MOST_BUDGETS),
      ...this.vitals(),
    };
  };
}

/** Compactions are reported by their circuit. */
function failingAfter(
  { purpose, outcome, reason }: Extract<WeirEvent, { type: "model_call" }>,
  before: LastCall["failing"],
): LastCall["failing"] {
  if (purpose === "compaction" || NEUTRAL.has(outcome)) return before;
  return outcome === "answered" ? null : { calls: (before?.calls ?? 0) + 1, outcome: reason ?? outcome };
}

/** That a model is down, in words; null: it is not known to be. Pure. */
export function describeOutage({ failing }: LastCall): string | null {
  if (failing === null || failing.calls < MODEL_FAILURES) return null;
  return `the last ${counted(failing.calls, "call")} for answers failed (${describeReason(failing.outcome)})`;
}

/** How the circuit of a model stands whose compactions fail, in words. Pure. */
export function describeCircuit({ failures, waitMs }: DaemonStatus["circuits"][number]): string {
  const failed = `${counted(failures, "failed compaction call")} in a row`;
  return waitMs === 0
    ? `${failed}, circuit closed`
    : `${failed}; circuit open, tried again in ${formatSpan(waitMs)}`;
}

/** Why a connection could not be opened, or ended, as a part of a sentence. Pure. */
export function whyNot({ why }: Pick<ConnectionState, "why">): string {
  return why?.replace(/(?<![.\s])[.\s]+$/, "") ?? "no reason was given";
}

/** That the file is not active, in words; null: it is. Pure. */
export function describeRefusal({ refused }: ConfigurationState, at: (date: Date) => string): string | null {
  if (refused === null) return null;
  const more = refused.count > 1 ? ` (and ${counted(refused.count - 1, "other problem")})` : "";
  const how = refused.isHeld ? "held back" : "refused";
  return `${how} since ${at(refused.since)}, and the one before is in force: ${refused.first}${more}`;
}

/** How a daemon stands in its cluster, in words. Pure. */
export function describeCluster(parts: ClusterState): string {
  const { state, isResting, why, owned, members, isPublishing } = parts;
  const has = `home of ${counted(owned, "partition")}`;
  const among = members === null ? "" : `, among ${counted(members, "daemon")} that take their share`;
  const drained = isResting ? "; it is drained: it takes no more while others are there" : "";
  const mute = isPublishing ? "" : "; RabbitMQ takes nothing from it now";
  switch (state) {
    case "joining":
      return `not in the cluster, home of no channel, and tries to join: ${why ?? "it has no connection to RabbitMQ"}`;
    case "member":
      return `${has}${among}${drained}${mute}`;
    case "leaving":
      return `it leaves, and hands on ${counted(owned, "partition")}`;
    case "left":
      return "it has left";
  }
}

/** How a connection stands, in words. Pure. */
export function describeConnection(state: ConnectionState | null, at: (date: Date) => string): string {
  if (state === null) return "open";
  const since = at(state.since);
  switch (state.kind) {
    case "connecting":
      return `connecting since ${since}`;
    case "connected":
      return `connected${state.as === undefined ? "" : ` as ${state.as}`} since ${since}`;
    case "interrupted":
      return `interrupted since ${since}; it is being connected again`;
    case "waiting": {
      const todo = state.isOperators ? "; it is tried again, and you have to mend it" : "; it is tried again";
      return `not connected since ${since}: ${whyNot(state)}${todo}`;
    }
  }
}
