import type pg from "pg";
import { OperatorError } from "../../core/errors.ts";
import type { Database } from "./database.ts";
import { type DatabaseFacts, LOOK, POOLED, whyTooOld, whyUnfit } from "./fitness.ts";
import { listOwnNames } from "./migrate.ts";
import type { Queryable } from "./queryable.ts";
import { runOn } from "./statements.ts";

/**
 * The look at a server of the operator's before it is used. Over plain connections: a session's settings and locks, set at a pooler in
 * transaction mode, would stay with sessions that it lends to others.
 */

/** How often a pooler may show itself, where the server's own id of a session says that there is none, and where it does not. */
const ROUNDS = { direct: 2, between: 8 };

/**
 * @param isWriter it is to be written, and migrated
 * @throws OperatorError if Weir cannot use it, with what to do
 */
export async function assertFit(database: Database, isWriter: boolean): Promise<void> {
  const { version, facts } = await database.withPlainClients(look);
  const ownNames = (facts?.relations ?? []).length > 0 ? await listOwnNames() : new Set<string>();
  const why = whyTooOld(version) ?? (facts === null ? POOLED : whyUnfit(facts, isWriter, ownNames));
  if (why !== null) throw new OperatorError(why);
}

/** The server's version as it reports it: `16.2 (Debian 16.2-1)`. */
export async function readServerVersion(database: Queryable): Promise<string> {
  const [row] = await database.query<{ version: string }>(
    "",
    "select current_setting('server_version') as version",
  );
  return row?.version ?? "";
}

/** @returns no facts: the sessions are a pooler's, or the server is too old for the question */
async function look(
  client: pg.Client,
  other: pg.Client,
  reported: string,
): Promise<{ readonly version: string; readonly facts: DatabaseFacts | null }> {
  const shown = await ask<{ pid: number; version: string }>(
    client,
    "select pg_backend_pid() as pid, current_setting('server_version') as version",
  );
  const version = [reported, shown.version].find((one) => whyTooOld(one) !== null) ?? shown.version;
  if (whyTooOld(version) !== null) return { version, facts: null };
  const facts = await ask<DatabaseFacts & { readonly pid: number }>(client, LOOK);
  const isDirect = "processID" in client && client.processID === shown.pid;
  const rounds = isDirect ? ROUNDS.direct : ROUNDS.between;
  const isPooled = facts.pid !== shown.pid || (await changesSessions(client, other, shown.pid, rounds));
  return { version, facts: isPooled ? null : facts };
}

/** A transaction of the other client holds a session, which may be the one that this client had just before. */
async function changesSessions(
  client: pg.Client,
  other: pg.Client,
  pid: number,
  rounds: number,
): Promise<boolean> {
  for (let round = 0; round < rounds; round++) {
    let held: { pid: number };
    try {
      held = await ask(other, `begin read only; ${PID}`);
    } catch (error) {
      // A pooler by statements, which is worse.
      if (error instanceof Error && /pooling mode/.test(error.message)) return true;
      throw error;
    }
    if (held.pid === pid) return true;
    const meanwhile = await ask<{ pid: number }>(client, PID);
    const [, then] = await Promise.all([
      runOn(other, { text: "rollback" }, LIMIT_MS),
      ask<{ pid: number }>(client, PID),
    ]);
    if (meanwhile.pid !== pid || then.pid !== pid) return true;
  }
  return false;
}

const PID = "select pg_backend_pid() as pid";

/** How long a statement of the look may take, ms. */
const LIMIT_MS = 10_000;

/** @returns the only row of the last statement */
async function ask<Row extends pg.QueryResultRow>(client: pg.Client, text: string): Promise<Row> {
  // Time-outs of the address or the role may be short; this ends with the transaction, which all of the text is in.
  const unhurried = `set local statement_timeout = 0; set local idle_in_transaction_session_timeout = 0; ${text}`;
  const [row] = await runOn<Row>(client, { text: unhurried }, LIMIT_MS);
  if (row === undefined) throw new Error("no row of the server (connection)");
  return row;
}
