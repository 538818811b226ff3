import pg from "pg";
import { errorCode, errorMessage, OperatorError, WeirError } from "../../core/errors.ts";

/** The database could not be reached, or ended the connection. Nothing is known to be lost; try again. */
class DatabaseUnavailableError extends WeirError {
  readonly retryable = true;
}

/** Another daemon has taken the channel since: this one must not write to it any more. */
export class StaleEpochError extends WeirError {
  readonly retryable = false;
}

/** Another daemon has taken the partition: this daemon can take no channel of it. */
export class StalePartitionError extends WeirError {
  readonly retryable = false;
}

/** SQLSTATE that our migrations raise for a write with an old epoch of its channel. */
const STALE_EPOCH = "WE002";
/** SQLSTATE for taking a channel with an old epoch of its partition. */
const STALE_PARTITION = "WE003";

const DEADLOCK = "40P01";

/** SQLSTATEs that say "not now": connection, resources, operator intervention, system, a limit of time. */
const UNAVAILABLE = /^(?:08|53|57P|57014|58|25006|25P03|55P03|40)/;

/** The server answers, and wants no dealings with us: a wrong password, role or database, or too few rights. */
const REFUSED = /^(?:28|3D000|42501)/;

/** SQLSTATEs of what a value is guilty of, or the caller: data, constraints, limits of size, and what functions of ours raise. */
const FOREGONE = /^(?:22|23|54|P0|WE)/;

/** SQLSTATEs of a refused value: data exceptions, and limits of size. */
const REFUSED_VALUE = /^(?:22|54)/;
/** not_null_violation, check_violation: of a row. */
const REFUSED_ROW = /^(?:23502|23514)$/;

/** What the system says of a host, a connection or a socket (ECONNRESET): there are more codes for it than one thinks of. */
const SYSTEM_CODE = /^E(?!RR_)[A-Z_]+$/;

/**
 * There was no session yet, for whatever reason: a name, a network, a certificate, a login, another program in the server's place.
 * Raised by the step that connects, and by nothing else; `translateDatabaseError` makes of it what callers get.
 */
class UnreachedError extends Error {
  readonly code: string;
  readonly server: string;

  constructor(cause: unknown, server: string) {
    super(errorMessage(cause), { cause });
    this.code = errorCode(cause);
    this.server = server;
  }
}

/** @param server its address, without a password */
export function unreached(cause: unknown, server: string): Error {
  return new UnreachedError(cause, server);
}

function isOfNetwork(error: unknown): boolean {
  if (error instanceof AggregateError) return error.errors.some(isOfNetwork);
  const isOfFile = error instanceof Error && "syscall" in error && error.syscall === "open";
  return SYSTEM_CODE.test(errorCode(error)) && !isOfFile;
}

/**
 * The failure is not about what was asked of the database: it is away, full, or lets nobody in. The same may work later,
 * by itself or when the operator has changed something.
 */
export function isOfInfrastructure(error: unknown): boolean {
  return error instanceof DatabaseUnavailableError || error instanceof OperatorError;
}

/** Whose server it is: of `database.url`, or the one that Weir starts. */
export type ServerOrigin = "url" | "embedded";

/**
 * Tells failures apart, once, here. Before there is a session, each is about the server and the way to it; of a statement, its SQLSTATE
 * says so, and what is neither of ours is a bug and stays as it is.
 */
export function translateDatabaseError(thrown: unknown, origin: ServerOrigin = "url"): unknown {
  const isUnreached = thrown instanceof UnreachedError;
  const error = isUnreached ? thrown.cause : thrown;
  // Of a statement in a transaction, which hears of it as well; or of the address.
  if (error instanceof WeirError) return error;
  const code = errorCode(error);
  if (code === STALE_EPOCH) return new StaleEpochError(errorMessage(error), { cause: error });
  if (code === STALE_PARTITION) return new StalePartitionError(errorMessage(error), { cause: error });
  if (code === "ERR_INVALID_URL" || error instanceof URIError) {
    // Not a word of it: the address holds a password.
    return new OperatorError(
      `The database's address is not of the form postgres://user:password@host:port/name. ${HINTS.url}`,
    );
  }
  if (REFUSED.test(code) || errorMessage(error).startsWith("SASL")) {
    const remedy = remedyFor(error, code, origin);
    return new OperatorError(`The database refuses us: ${errorMessage(error)}. ${remedy}`, { cause: error });
  }
  if (isUnreached) return unavailable(error, code, origin, thrown.server);
  if (UNAVAILABLE.test(code) || isOfNetwork(error)) return unavailable(error, code, origin);
  // `pg` reports an ended connection as a plain Error without a code.
  if (
    !(error instanceof pg.DatabaseError) &&
    /connection|terminated|not queryable|timeout/i.test(errorMessage(error))
  ) {
    return unavailable(error, code, origin);
  }
  return error;
}

/** Two transactions waited for each other, and the server has ended this one: the other one goes on. */
export function hasLostDeadlock(error: unknown): boolean {
  return error instanceof DatabaseUnavailableError && errorCode(error.cause) === DEADLOCK;
}

/** A database's error of no known kind, which a connection without prepared statements may not have. */
export function isWorthAFreshConnection(error: unknown): error is pg.DatabaseError {
  if (!(error instanceof pg.DatabaseError)) return false;
  return error.code !== undefined && !FOREGONE.test(error.code);
}

/** The database is well, and will never take these values, whoever writes them. */
export function isRefusedValue(error: unknown): boolean {
  return error instanceof pg.DatabaseError && FOREGONE.test(error.code ?? "");
}

/**
 * Whether the database will never take a message with these values. Every other failure is no fault of the message's.
 * @returns the violated rule, without the values; null: another error
 */
export function ruleOfRefusal(error: unknown): string | null {
  if (!(error instanceof pg.DatabaseError) || error.code === undefined) return null;
  const { code, table, constraint } = error;
  if (REFUSED_VALUE.test(code)) return code;
  return table === "entries" && REFUSED_ROW.test(code) ? (constraint ?? code) : null;
}

const HINTS: Readonly<Record<ServerOrigin, string>> = {
  url: "Check database.url (DATABASE_URL).",
  embedded: "It is the embedded Postgres; postgres.log in the data folder says more.",
};

/** By the code or the words of a failure: what helps. The first that fits. */
const REMEDIES: readonly (readonly [sign: RegExp, remedy: string])[] = [
  [/^(?:53100|ENOSPC)/, "The disk of the database is full: make room."],
  [
    /^28P01/,
    "Check the user and the password in DATABASE_URL: %, @, /, # and ? are written as %25, %40, %2F, %23 and %3F there.",
  ],
  [/^53200/, "The machine of the database is short of memory."],
  [/^53300/, "The database has no connection left: raise its max_connections, or close others."],
  [/^(?:EMFILE|ENFILE)/, "Weir goes on when it may open files again."],
  [/^CERT_HAS_EXPIRED/, "The certificate of the database's server has expired: renew it there."],
  [
    /^CERT_NOT_YET_VALID/,
    "The certificate of the database's server is not valid yet: check the clocks of both machines.",
  ],
  [
    /^ERR_TLS_CERT_ALTNAME_INVALID/,
    "The certificate of the database's server is for another name: put that name into DATABASE_URL, or set sslmode=verify-ca with " +
      "sslrootcert there.",
  ],
  [
    /^(?:CERT_|UNABLE_TO_|DEPTH_ZERO_SELF_SIGNED|SELF_SIGNED|INVALID_(?:CA|PURPOSE))/,
    "The certificate of the database's server is not of an authority that is trusted here: add sslrootcert=/path/ca.pem to DATABASE_URL, " +
      "or set sslmode=require there, which encrypts and checks nothing.",
  ],
  [
    /does not support SSL/,
    "Turn encryption on at the server, or set sslmode=disable in DATABASE_URL on a network that you trust.",
  ],
  [
    /error establishing an SSL connection|received invalid response/,
    "Something else than Postgres answers there: check the host and the port in DATABASE_URL.",
  ],
  [
    /^(?:ERR_SSL_|ERR_TLS_|ERR_OSSL_|EPROTO)/,
    "No encrypted connection came about: check the server's TLS versions, and sslrootcert, sslcert and sslkey of DATABASE_URL.",
  ],
  [/no encryption$/, "The server wants an encrypted connection: add sslmode=verify-full to DATABASE_URL."],
];

/** What Node adds to an error of a certificate. */
const NODES_ADVICE = /; if the root CA .*$/;

function remedyFor(error: unknown, code: string, origin: ServerOrigin): string {
  const [, remedy] = REMEDIES.find(([sign]) => sign.test(code) || sign.test(errorMessage(error))) ?? [];
  return remedy ?? HINTS[origin];
}

function unavailable(
  cause: unknown,
  code: string,
  origin: ServerOrigin,
  server = "",
): DatabaseUnavailableError {
  const why = errorMessage(cause).replace(NODES_ADVICE, "");
  const where = server === "" || why.includes(server) ? "" : ` (${server})`;
  const what = `The database is not available: ${why}${where}. ${remedyFor(cause, code, origin)}`;
  return new DatabaseUnavailableError(what, { cause });
}
