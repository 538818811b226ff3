import { hostname } from "node:os";
import process from "node:process";
import { z } from "zod";
import type { Budgets } from "../budget/budgets.ts";
import type { Breaker } from "../compactor/breaker.ts";
import type { Models } from "../llm/model-provider.ts";
import type { ConnectionState, Platform } from "../platforms/platform.ts";
import type { Events } from "../telemetry/events.ts";
import { readVersion } from "./version.ts";

const date = z.coerce.date();
const connection = z.object({
  kind: z.enum(["connecting", "connected", "interrupted", "waiting"]),
  since: date,
  why: z.string().nullable(),
  isOperators: z.boolean(),
});
/** 0 as a limit: none. */
const amount = z.object({ tokens: z.number(), dollars: z.number() });
const statusSchema = z.object({
  version: z.string(),
  pid: z.number(),
  host: z.string(),
  startedAt: date,
  /** It ends: what is in flight is finished, and nothing new is taken. */
  isDraining: z.boolean(),
  /** Null: one that needs no connection. */
  platforms: z.array(z.object({ name: z.string(), connection: connection.nullable() })),
  /** The server of the models, in words. */
  server: z.string(),
  /** The last call of each model. */
  calls: z.array(z.object({ model: z.string(), outcome: z.string(), at: date })),
  /** Models whose compactions fail: how often in a row, and how long none is asked for another; 0: one is. */
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
});

/** What a running daemon knows of itself, as of one moment. */
export type DaemonStatus = z.output<typeof statusSchema>;

/** @returns undefined: a daemon of another version has written it */
export function parseDaemonStatus(value: unknown): DaemonStatus | undefined {
  return statusSchema.safeParse(value).data;
}

export interface StatusParts {
  readonly platforms: readonly Pick<Platform, "name" | "connection">[];
  readonly models: Pick<Models, "describe">;
  readonly breaker: Pick<Breaker, "states">;
  readonly budgets: Pick<Budgets, "low"> | null;
  readonly registry: { readonly size: number };
  readonly events: Events;
}

/** Budgets that are told at most: each person may have one. */
const MOST_BUDGETS = 20;

/** Keeps what a daemon can tell of itself. It asks nobody: whoever looks, looks often. */
export class StatusKeeper {
  readonly #parts: StatusParts;
  readonly #version = readVersion();
  readonly #startedAt = new Date();
  readonly #calls = new Map<string, DaemonStatus["calls"][number]>();
  #isDraining = false;

  constructor(parts: StatusParts) {
    this.#parts = parts;
    parts.events.on((event) => {
      if (event.type !== "model_call") return;
      const { model, outcome } = event;
      this.#calls.set(model, { model, outcome, at: new Date() });
    });
  }

  readonly drains = (): void => {
    this.#isDraining = true;
  };

  readonly status = (): DaemonStatus => {
    const { platforms, models, breaker, budgets, registry } = this.#parts;
    return {
      version: this.#version,
      pid: process.pid,
      host: hostname(),
      startedAt: this.#startedAt,
      isDraining: this.#isDraining,
      platforms: platforms.map((one) => ({ name: one.name, connection: one.connection?.() ?? null })),
      server: models.describe(),
      calls: [...this.#calls.values()],
      circuits: breaker.states(),
      budgets: (budgets?.low() ?? []).slice(0, MOST_BUDGETS),
      channels: registry.size,
    };
  };
}

/** How a connection stands, in words. Pure. */
export function describeConnection(state: ConnectionState | null, at: (date: Date) => string): string {
  if (state === null) return "open";
  const since = at(state.since);
  switch (state.kind) {
    case "connecting":
      return `connecting since ${since}`;
    case "connected":
      return `connected since ${since}`;
    case "interrupted":
      return `interrupted since ${since}; it is being connected again`;
    case "waiting": {
      const todo = state.isOperators ? "; it is tried again, and you have to mend it" : "; it is tried again";
      return `not connected since ${since}: ${state.why ?? "no reason was given"}${todo}`;
    }
  }
}
