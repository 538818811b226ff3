import { Cache } from "../../async/cache.ts";
import { withDeadline } from "../../async/deadline.ts";
import { steadyNow } from "../../async/clock.ts";
import {
  describeCircuit,
  describeCluster,
  describeConnection,
  describeOutage,
  describeRefusal,
  type Vitals,
} from "../../admin/reports/daemon-status.ts";
import { errorMessage } from "../../core/errors.ts";
import type { Daemon } from "../daemon.ts";
import type { SchemaState } from "../../store/database/migrate.ts";

/** The state of something that a daemon needs. `degraded`: the daemon works without it. */
export interface Check {
  /** `database`, `schema`, `model`, `summaries`, `cluster`, `configuration`, or the name of a platform. */
  readonly name: string;
  readonly state: "ok" | "degraded" | "failed";
  /** Explanation for an operator; "": none. */
  readonly detail: string;
}

export interface ReadyReport {
  readonly state: "ready" | "degraded" | "not ready";
  readonly checks: readonly Check[];
}

export type WatchedDaemon = Pick<Daemon, "readSchema" | "lost" | "vitals">;

const DATABASE_MS = 2000;
/** How long an answer of the database is reused, ms: requests without a token cost it one statement a second. */
const FRESH_MS = 1000;

/** Whether a daemon can take messages and answer them, and why not: judged by what `weir status` shows, and by its database. */
export class Readiness {
  readonly #startedAt = steadyNow();
  readonly #database = new Cache<readonly Check[]>(1);
  /** The running request to the database, shared by all probes: each would use a connection of its own. */
  #asking: Promise<SchemaState> | null = null;
  #daemon: WatchedDaemon | null = null;

  /** Sets the daemon to report on, which opens its platforms next. */
  watch(daemon: WatchedDaemon): void {
    this.#daemon = daemon;
  }

  get uptimeMs(): number {
    return Math.round(steadyNow() - this.#startedAt);
  }

  async report(): Promise<ReadyReport> {
    const daemon = this.#daemon;
    const database = daemon === null ? [DATABASE_CLOSED] : await this.#databaseChecks(daemon);
    const vitals = daemon?.vitals() ?? null;
    const checks = [
      ...phaseChecks(vitals?.phase ?? "starting"),
      ...database,
      ...(vitals === null ? [] : vitalChecks(vitals)),
    ];
    const has = (state: Check["state"]): boolean => checks.some((check) => check.state === state);
    return { state: has("failed") ? "not ready" : has("degraded") ? "degraded" : "ready", checks };
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

function phaseChecks(phase: Vitals["phase"]): Check[] {
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
  // During a rolling update an older daemon runs beside a newer one.
  const state = isOurs ? "ok" : current > known ? "degraded" : "failed";
  return [
    { name: "database", state: "ok", detail: "" },
    { name: "schema", state, detail },
  ];
}

function vitalChecks({ platforms, calls, circuits, cluster, configuration }: Vitals): Check[] {
  const refusal = configuration === undefined ? null : describeRefusal(configuration, iso);
  const down = calls.flatMap((call) => {
    const outage = describeOutage(call);
    return outage === null ? [] : [`${call.model}: ${outage}`];
  });
  const open = circuits.filter(({ waitMs }) => waitMs > 0);
  return [
    ...platforms.map(platformCheck),
    degradedBy("model", down),
    degradedBy(
      "summaries",
      open.map((circuit) => `${circuit.model}: ${describeCircuit(circuit)}`),
    ),
    // Outside the cluster it still stores messages, and other members answer them.
    ...(cluster === undefined
      ? []
      : [
          degradedBy("cluster", [
            ...(cluster.state === "member" && cluster.isPublishing ? [] : [describeCluster(cluster)]),
            ...cluster.shards
              .filter(({ state }) => state === "joining")
              .map(
                ({ platform }) =>
                  `it takes no shard of ${platform}: it has no connection to RabbitMQ for that`,
              ),
          ]),
        ]),
    ...(configuration === undefined ? [] : [degradedBy("configuration", refusal === null ? [] : [refusal])]),
  ];
}

function platformCheck({ name, connection }: Vitals["platforms"][number]): Check {
  if (connection === null || connection.kind === "connected") return { name, state: "ok", detail: "" };
  return { name, state: "failed", detail: describeConnection(connection, iso) };
}

function iso(at: Date): string {
  return at.toISOString();
}

function degradedBy(name: string, reasons: readonly string[]): Check {
  return { name, state: reasons.length > 0 ? "degraded" : "ok", detail: reasons.join("; ") };
}
