import pg from "pg";
import { OperatorError, WeirError, errorMessage } from "../core/errors.ts";

/** The database could not be reached, or ended the connection. Nothing is known to be lost; try again. */
class DatabaseUnavailableError extends WeirError {
  readonly retryable = true;
}

/** Another daemon has taken the channel since: this one must not write to it any more. */
export class StaleEpochError extends WeirError {
  readonly retryable = false;
}

/** SQLSTATE that our migrations raise for a write with an old epoch. */
const STALE_EPOCH = "WE002";

/** SQLSTATEs that say "not now": connection, resources, operator intervention, system, a limit of time. */
const UNAVAILABLE = /^(?:08|53|57P|57014|58|25006|25P03|55P03|40)/;

/** The server answers, and wants no dealings with us: a wrong password, role or database, or too few rights. */
const REFUSED = /^(?:28|3D000|42501)/;

/** SQLSTATEs of what a value is guilty of, or the caller: data, constraints, limits of size, and what functions of ours raise. */
const FOREGONE = /^(?:22|23|54|P0|WE)/;

/** SQLSTATEs by which a value is refused whoever writes it: data exceptions, and limits of size. */
const REFUSED_VALUE = /^(?:22|54)/;
/** not_null_violation, check_violation: of a row. */
const REFUSED_ROW = /^(?:23502|23514)$/;

/** What the system says of a host, a connection or a socket (ECONNRESET): there are more codes for it than one thinks of. */
const SYSTEM_CODE = /^E(?!RR_)[A-Z_]+$/;

function isOfNetwork(error: unknown): boolean {
  if (error instanceof AggregateError) return error.errors.some(isOfNetwork);
  if (!(error instanceof Error && "code" in error && typeof error.code === "string")) return false;
  const isOfFile = "syscall" in error && error.syscall === "open";
  return SYSTEM_CODE.test(error.code) && !isOfFile;
}

/** Tells the failures of a query apart, once, here; what is neither of ours is a bug and stays as it is. */
export function translateDatabaseError(error: unknown): unknown {
  const code = error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : "";
  if (code === STALE_EPOCH) return new StaleEpochError(errorMessage(error), { cause: error });
  if (code === "ERR_INVALID_URL" || error instanceof URIError) {
    // Not a word of it: the address holds a password.
    return new OperatorError(
      `The database's address is not of the form postgres://user:password@host:port/name. ${HINT}`,
    );
  }
  if (REFUSED.test(code) || errorMessage(error).startsWith("SASL")) {
    return new OperatorError(`The database refuses us: ${errorMessage(error)}. ${HINT}`, { cause: error });
  }
  if (UNAVAILABLE.test(code) || isOfNetwork(error)) return unavailable(error);
  // `pg` reports an ended connection as a plain Error without a code.
  if (
    !(error instanceof pg.DatabaseError) &&
    /connection|terminated|not queryable|timeout/i.test(errorMessage(error))
  ) {
    return unavailable(error);
  }
  return error;
}

/** A database's error of no known kind, which a connection without prepared statements may not have. */
export function isWorthAFreshConnection(error: unknown): error is pg.DatabaseError {
  if (!(error instanceof pg.DatabaseError)) return false;
  return error.code !== undefined && !FOREGONE.test(error.code);
}

/**
 * Whether the database will never take a message with these values. Every other failure is no fault of the message's.
 * @returns by which rule, without a word of the values; null: it is something else
 */
export function ruleOfRefusal(error: unknown): string | null {
  if (!(error instanceof pg.DatabaseError) || error.code === undefined) return null;
  const { code, table, constraint } = error;
  if (REFUSED_VALUE.test(code)) return code;
  return table === "entries" && REFUSED_ROW.test(code) ? (constraint ?? code) : null;
}

const HINT = "Check database.url (DATABASE_URL).";

function unavailable(cause: unknown): DatabaseUnavailableError {
  return new DatabaseUnavailableError(`The database is not available: ${errorMessage(cause)}. ${HINT}`, {
    cause,
  });
}
