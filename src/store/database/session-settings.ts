import type pg from "pg";
import { camelKey } from "../../config/camel-case.ts";
import { errorCode, errorMessage, OperatorError } from "../../core/errors.ts";
import { runOn } from "./statements.ts";

/**
 * Weir's demands on its sessions, set by a statement on each new connection: options of the start-up packet lose to `?options=` of the
 * address, to PGOPTIONS and, at some poolers, to nothing at all.
 */

/** Settings by name, with values as the server writes them. */
export type SessionSettings = Readonly<Record<string, string>>;

/**
 * Planning a recall took 0.45 ms of its 1.3 ms: keep generic plans. A plan is kept for as long as its connection lives,
 * and a table that was empty when it was made is read as a whole ever after (2 s for a batch of the indexer): so no
 * sequential scan where there is an index. JIT and parallel workers cost more than any statement of ours takes.
 */
const PLANS: SessionSettings = {
  plan_cache_mode: "force_generic_plan",
  enable_seqscan: "off",
  jit: "off",
  max_parallel_workers_per_gather: "0",
};

/** The forms in which values are written and read. */
const FORMS: SessionSettings = {
  TimeZone: "UTC",
  DateStyle: "ISO, MDY",
  IntervalStyle: "postgres",
  client_encoding: "UTF8",
  extra_float_digits: "1",
  bytea_output: "hex",
  standard_conforming_strings: "on",
};

/** Statements have limits of the client's. */
const LIMITS: SessionSettings = {
  statement_timeout: "0",
  lock_timeout: "0",
  idle_session_timeout: "0",
  transaction_timeout: "0",
  // A host that lost its power in a transaction leaves its locks at a server elsewhere: for a minute, and not for hours.
  idle_in_transaction_session_timeout: "1min",
};

export const SESSION_SETTINGS: SessionSettings = {
  ...PLANS,
  ...FORMS,
  ...LIMITS,
  default_transaction_isolation: "read committed",
};

/** The server refuses every write of such a session. */
export const READ_ONLY: SessionSettings = { default_transaction_read_only: "on" };

/** Applies them to a new connection, with these others. */
export type PrepareSession = (client: pg.Client, others?: SessionSettings) => Promise<void>;

/** Opens a pool like that of all other statements, but for these settings of the pool and of its sessions. */
export type OpenPool = (settings: pg.PoolConfig, others?: SessionSettings) => pg.Pool;

/** A server of an older version has none of these, so nothing has set them. */
const OPTIONAL: ReadonlySet<string> = new Set(["transaction_timeout"]);

/** How long the server may take to set them, ms. */
const LIMIT_MS = 10_000;

/** SQLSTATEs of a server that knows a setting or its value not, or lets this user not set it. */
const REFUSED = /^(?:0A|22|42|55P02)/;

/** One round trip. A time-out that is not Weir's may be too short for the statement that takes it off. */
function setAll(settings: SessionSettings, more: readonly string[]): string {
  const columns = Object.entries(settings).map(([name, value]) => {
    const set = `set_config('${name}', '${value}', false)`;
    const guarded = `case when current_setting('${name}', true) is not null then ${set} end`;
    return `${OPTIONAL.has(name) ? guarded : set} as "${name}"`;
  });
  return `set statement_timeout = 0; select ${[...columns, ...more].join(", ")}`;
}

/**
 * Sets them on a new connection, and reads them back.
 * @param more columns of the same statement
 * @throws OperatorError if they do not hold
 */
export async function applySettings(
  client: pg.Client,
  settings: SessionSettings,
  more: readonly string[] = [],
): Promise<void> {
  const text = setAll(settings, more);
  const rows = await runOn<Record<string, string | null>>(client, { text }, LIMIT_MS).catch(
    (error: unknown) => {
      throw REFUSED.test(errorCode(error)) ? notHeld(errorMessage(error), error) : error;
    },
  );
  const missed = Object.entries(settings).find(([name, value]) => {
    const held = rows[0]?.[camelKey(name)];
    return held !== value && !(OPTIONAL.has(name) && held === null);
  });
  if (missed === undefined) return;
  const [name, value] = missed;
  throw notHeld(
    `${name} is ${JSON.stringify(rows[0]?.[camelKey(name)] ?? null)}, and not ${JSON.stringify(value)}`,
  );
}

function notHeld(why: string, cause?: unknown): OperatorError {
  return new OperatorError(
    `The database's server does not keep the settings of Weir's sessions (${why}): point database.url (DATABASE_URL) ` +
      "directly at a Postgres, 14 or newer.",
    { cause },
  );
}
