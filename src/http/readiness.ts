import { Cache } from "../async/cache.ts";
import { withDeadline } from "../async/deadline.ts";
import { steadyNow } from "../async/clock.ts";
import { errorMessage } from "../core/errors.ts";
import type { Daemon } from "../daemon.ts";
import type { SchemaState } from "../store/database/migrate.ts";
import type { WeirEvent } from "../telemetry/events.ts";
import { counted } from "../text/text.ts";

/** One thing that a daemon needs. `degraded`: it goes on without it. */
export interface Check {
  /** `database`, `schema`, `model`, `summaries`, or the name of a platform. */
  readonly name: string;
  readonly state: "ok" | "degraded" | "failed";
  /** In words for an operator; "": nothing to tell. */
  readonly detail: string;
}

export interface ReadyReport {
  readonly state: "ready" | "degraded" | "not ready";
  readonly checks: readonly Check[];
}

type Phase = "starting" | "serving" | "draining";
export interface WatchedDaemon extends Pick<Daemon, "readSchema" | "lost" | "events"> {
  readonly platforms: readonly Pick<Daemon["platforms"][number], "name" | "whyOffline">[];
  readonly breaker: Pick<Daemon["breaker"], "open" | "waitMs">;
}

/** How long the database may take to answer, ms. */
const DATABASE_MS = 2000;
/** For so long an answer of the database is not asked for again, ms: whoever asks without a token costs it one statement a second. */
const FRESH_MS = 1000;
/** Failed calls in a row after which a model counts as down: retries of one call are such calls. */
const MODEL_FAILURES = 3;
/** Outcomes that say nothing of whether the model can be had. */
const NEUTRAL: ReadonlySet<string> = new Set(["aborted", "context_length"]);

/** Whether a daemon can take messages and answer them, and why not. It is told of model calls, and asks no model itself. */
export class Readiness {
  readonly #startedAt = steadyNow();
  readonly #database = new Cache<readonly Check[]>(1);
  /** Failures in a row, by model. */
  readonly #failures = new Map<string, { readonly count: number; readonly outcome: string }>();
  /** A database that does not answer is asked once, and not by each probe on a connection of its own. */
  #asking: Promise<SchemaState> | null = null;
  #phase: Phase = "starting";
  #daemon: WatchedDaemon | null = null;

  /** From now on there is a daemon, which opens its platforms next. */
  watch(daemon: WatchedDaemon): void {
    this.#daemon = daemon;
    daemon.events.on((event) => this.#note(event));
  }

  /** The phases only go forward. */
  enter(phase: Exclude<Phase, "starting">): void {
    if (this.#phase !== "draining") this.#phase = phase;
  }

  /** Names of the platforms that are configured. */
  get platforms(): readonly string[] {
    return this.#daemon?.platforms.map(({ name }) => name) ?? [];
  }

  get uptimeMs(): number {
    return Math.round(steadyNow() - this.#startedAt);
  }

  async report(): Promise<ReadyReport> {
    const daemon = this.#daemon;
    const checks = [
      ...phaseChecks(this.#phase),
      ...(daemon === null ? [DATABASE_CLOSED] : await this.#databaseChecks(daemon)),
      ...(daemon?.platforms.map(platformCheck) ?? []),
      ...(daemon === null ? [] : [this.#modelCheck(), summariesCheck(daemon)]),
    ];
    const has = (state: Check["state"]): boolean => checks.some((check) => check.state === state);
    return { state: has("failed") ? "not ready" : has("degraded") ? "degraded" : "ready", checks };
  }

  #note(event: WeirEvent): void {
    if (event.type !== "model_call" || event.purpose === "compaction" || NEUTRAL.has(event.outcome)) return;
    const { model, outcome } = event;
    if (outcome === "answered") this.#failures.delete(model);
    else this.#failures.set(model, { count: (this.#failures.get(model)?.count ?? 0) + 1, outcome });
  }

  #modelCheck(): Check {
    const down = [...this.#failures].filter(([, { count }]) => count >= MODEL_FAILURES);
    const detail = down.map(
      ([model, { count, outcome }]) => `the last ${counted(count, "call")} of ${model} failed (${outcome})`,
    );
    return { name: "model", state: down.length > 0 ? "degraded" : "ok", detail: detail.join("; ") };
  }

  async #databaseChecks(daemon: WatchedDaemon): Promise<readonly Check[]> {
    if (daemon.lost.aborted)
      return [{ name: "database", state: "failed", detail: errorMessage(daemon.lost.reason) }];
    return this.#database.get("", async () => ({ value: await this.#askDatabase(daemon), forMs: FRESH_MS }));
  }

  async #askDatabase({ readSchema }: WatchedDaemon): Promise<Check[]> {
    this.#asking ??= readSchema().finally(() => {
      this.#asking = null;
    });
    try {
      return schemaChecks(await withDeadline(this.#asking, DATABASE_MS));
    } catch (error) {
      return [{ name: "database", state: "failed", detail: errorMessage(error) }];
    }
  }
}

const DATABASE_CLOSED: Check = {
  name: "database",
  state: "failed",
  detail: "it is not open yet: it is being started, migrated or waited for, and the log says which",
};

function phaseChecks(phase: Phase): Check[] {
  if (phase === "serving") return [];
  const detail =
    phase === "starting" ? "the daemon is still starting" : "the daemon is ending: it takes nothing new";
  return [{ name: phase, state: "failed", detail }];
}

/** @param schema null: the database has not answered in time */
function schemaChecks(schema: SchemaState | null): Check[] {
  if (schema === null)
    return [{ name: "database", state: "failed", detail: `it has not answered for ${DATABASE_MS / 1000} s` }];
  const { current, known } = schema;
  const isOurs = current === known;
  const detail = isOurs ? "" : `the database is at version ${current}, this Weir knows ${known}`;
  // An older daemon goes on beside a newer one while they are replaced one after the other.
  const state = isOurs ? "ok" : current > known ? "degraded" : "failed";
  return [
    { name: "database", state: "ok", detail: "" },
    { name: "schema", state, detail },
  ];
}

function platformCheck(platform: WatchedDaemon["platforms"][number]): Check {
  const why = platform.whyOffline?.() ?? null;
  return { name: platform.name, state: why === null ? "ok" : "failed", detail: why ?? "" };
}

function summariesCheck({ breaker }: WatchedDaemon): Check {
  const open = breaker.open();
  const detail = open.map(
    (model) => `${model} is left alone for ${Math.ceil(breaker.waitMs(model) / 1000)} s`,
  );
  return { name: "summaries", state: open.length > 0 ? "degraded" : "ok", detail: detail.join("; ") };
}
