import { parseIntoClientConfig } from "pg-connection-string";
import pg from "pg";
import { postgresVariables } from "../../config/load.ts";
import { errorCode, errorMessage, OperatorError } from "../../core/errors.ts";
import { unreached } from "./errors.ts";
import type { ConnectionOptions } from "node:tls";
import { readText } from "../../files/read-file.ts";

/** What the address says of encryption: taken out of it, and read by {@link tlsOf} instead of `pg`. */
const OWN_PARAMETERS = ["sslmode", "sslrootcert", "sslcert", "sslkey", "ssl", "uselibpqcompat"];

/** By a socket of this machine. What is not set here `pg` would take from PGSSLMODE and PGSSLNEGOTIATION. */
const UNENCRYPTED: pg.ClientConfig = { ssl: false, sslnegotiation: "postgres" };
/** The embedded server: nor is it asked for by PGREPLICATION. A pooler before another server may refuse that setting. */
const EMBEDDED: pg.ClientConfig & { readonly replication: string } = { ...UNENCRYPTED, replication: "false" };
/** Whatever the address, PGCLIENT_ENCODING or the server's default says. */
const ENCODING: pg.ClientConfig = { client_encoding: "UTF8" };

type PgCallback = ((err: Error) => void) | ((err: null, c: pg.Client) => void);
type Connected = (error: Error | null, client?: pg.Client) => void;

/**
 * A client of `pg` whose `connect` fails by an {@link UnreachedError} alone, whatever went wrong before there was a session. It reads
 * its settings, and the files of certificates, at each connection: a file that was replaced takes effect, and one that cannot be read
 * just now is a failure to connect.
 */
export class ServerClient extends pg.Client {
  /** Why its settings cannot be used; null: they can. */
  readonly #unusable: Error | null;

  constructor(config: pg.ClientConfig = {}) {
    const read = readSettings(config);
    super(read instanceof Error ? UNENCRYPTED : read);
    this.#unusable = read instanceof Error ? read : null;
  }

  override connect(): Promise<pg.Client>;
  override connect(callback: PgCallback): void;
  override connect(callback?: PgCallback): Promise<pg.Client> | void {
    // oxlint-disable-next-line no-unsafe-type-assertion -- one function, of which pg's types make two
    if (callback !== undefined) return this.#connect(callback as Connected);
    return new Promise((resolve, reject) => {
      this.#connect((error) => {
        if (error === null) resolve(this);
        else reject(error);
      });
    });
  }

  /**
   * Calls back once: `pg` reports some failures of a login as an event of the client alone, and throws for an invalid
   * port.
   */
  #connect(connected: Connected): void {
    let isTold = false;
    const tell = (failure: Error | null): void => {
      if (isTold) return;
      isTold = true;
      this.off("error", tell);
      if (failure === null) return connected(null, this);
      // What answers in another protocol would keep the connection.
      this.connection.stream.destroy();
      this.on("error", () => undefined);
      connected(unreached(failure, this.#unusable === null ? `${this.host}:${this.port}` : ""));
    };
    this.on("error", tell);
    if (this.#unusable !== null) {
      process.nextTick(tell, this.#unusable);
      return;
    }
    try {
      super.connect((error: Error | null) => tell(error ?? null));
    } catch (error) {
      process.nextTick(tell, error instanceof Error ? error : new Error(String(error)));
    }
  }
}

function readSettings({ connectionString, ...own }: pg.ClientConfig): pg.ClientConfig | Error {
  if (connectionString === undefined) return { ...EMBEDDED, ...own, ...ENCODING };
  try {
    const given = readAddress(connectionString, postgresVariables());
    // Of two values for one setting the server takes the last.
    const options = [given.options, own.options].filter((one) => one !== undefined).join(" ");
    return { ...given, ...own, options, ...ENCODING };
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error));
  }
}

/**
 * The settings of a database's address. As with libpq, the environment says what the address leaves open: `pg` itself
 * reads PGHOST, PGPORT, PGUSER, PGPASSWORD and PGDATABASE there.
 * @throws Error if the address is invalid, or what it says of encryption cannot be used
 */
export function readAddress(address: string, env: NodeJS.ProcessEnv): pg.ClientConfig {
  const sign = unescapedSign(address);
  if (sign !== null)
    throw new OperatorError(
      `The user or the password in DATABASE_URL holds a "${sign}" as it is. Write it as ${ESCAPES[sign]} there ` +
        "(and % as %25, @ as %40, : as %3A).",
    );
  const at = address.indexOf("?");
  const query = new URLSearchParams(at < 0 ? "" : address.slice(at + 1));
  const own = new Map(OWN_PARAMETERS.map((name) => [name, filled(query.get(name))]));
  for (const name of OWN_PARAMETERS) query.delete(name);
  const settings = parse(at < 0 ? address : `${address.slice(0, at)}?${query.toString()}`);
  const host = filled(settings.host) ?? filled(env["PGHOST"]);
  // A socket of this machine is not encrypted, as with libpq.
  if (host?.startsWith("/") === true) return { ...settings, ...UNENCRYPTED };
  const sslnegotiation = settings.sslnegotiation ?? filled(env["PGSSLNEGOTIATION"]) ?? "postgres";
  const isChecked = ["sslrootcert", "sslcert", "sslkey"].some((name) => own.get(name) !== undefined);
  const fallback = isChecked || settings.sslnegotiation === "direct" ? "verify-full" : "disable";
  const ssl = tlsOf({
    sslmode: own.get("sslmode") ?? modeOf(own.get("ssl")) ?? filled(env["PGSSLMODE"]) ?? fallback,
    sslrootcert: own.get("sslrootcert") ?? filled(env["PGSSLROOTCERT"]),
    sslcert: own.get("sslcert") ?? filled(env["PGSSLCERT"]),
    sslkey: own.get("sslkey") ?? filled(env["PGSSLKEY"]),
  });
  if (ssl === false) return { ...settings, ssl, sslnegotiation: "postgres" };
  if (sslnegotiation !== "postgres" && sslnegotiation !== "direct")
    throw new OperatorError(
      `There is no sslnegotiation "${sslnegotiation}". Set postgres or direct in DATABASE_URL.`,
    );
  return { ...settings, ssl, sslnegotiation };
}

/** A sign in a user or a password that ends the server's part of an address, as it is to be written there. */
const ESCAPES: Readonly<Record<string, string>> = { "/": "%2F", "#": "%23", "?": "%3F" };

/**
 * The sign that a user or a password holds unescaped: what precedes it has no `@`, and what follows has one. Read as it stands, such
 * an address names a part of the password as its host. Null: there is none.
 */
function unescapedSign(address: string): string | null {
  const [, user = "", sign = "", rest = ""] = /^[a-z]+:\/\/([^/?#@]*)([/?#])(.*)$/is.exec(address) ?? [];
  // A path or a value after the host may hold an @ as well: `?application_name=a@b`.
  const isOfUser = sign === "?" ? /^[^=]*@/.test(rest) : /^[^?]*@/.test(rest);
  return user.includes(":") && isOfUser ? sign : null;
}

/** @throws OperatorError in words that hold no password */
function parse(address: string): pg.ClientConfig {
  try {
    return parseIntoClientConfig(address);
  } catch (error) {
    if (errorCode(error) === "ERR_INVALID_URL" || error instanceof URIError) throw error;
    throw new OperatorError(`DATABASE_URL cannot be used: ${errorMessage(error)}.`, { cause: error });
  }
}

function filled(value: string | null | undefined): string | undefined {
  return value === null || value === "" ? undefined : value;
}

/** `ssl=true` of the address of a JDBC client, as libpq reads it. */
function modeOf(ssl: string | undefined): string | undefined {
  if (ssl === undefined) return undefined;
  return ["0", "false"].includes(ssl) ? "disable" : ssl === "no-verify" ? ssl : "require";
}

/** What an address, or the environment in its place, says of encryption, by libpq's names. */
interface TlsSettings {
  readonly sslmode: string;
  readonly sslrootcert?: string | undefined;
  readonly sslcert?: string | undefined;
  readonly sslkey?: string | undefined;
}

/** Certificates and keys, in bytes: a system's whole list of authorities has a quarter of that. */
const LONGEST_FILE = 1_048_576;

/** libpq's word for the authorities that are trusted anyway. */
const SYSTEM = "system";

/** By whose word the server's certificate is believed: nobody's, an authority's for whatever name, or an authority's for this name. */
type Check = "none" | "authority" | "authority and name";

const MODES = ["disable", "allow", "prefer", "require", "verify-ca", "verify-full", "no-verify"];

/**
 * The encryption of a connection, in libpq's meaning of `sslmode`. Two of its modes would go on in the clear where the server takes
 * nothing else, `allow` and `prefer`: here they are `require`. `no-verify` is the word of `pg` for an encryption without a check.
 * @returns false: none
 * @throws OperatorError if there is no such mode, or it wants a file that is not named; Error if a file cannot be read
 */
function tlsOf(settings: TlsSettings): false | ConnectionOptions {
  const { sslmode: mode, sslrootcert: root, sslcert, sslkey } = settings;
  if (!MODES.includes(mode))
    throw new OperatorError(`There is no sslmode "${mode}". Set one of ${MODES.join(", ")} in DATABASE_URL.`);
  if (mode === "disable") return false;
  if (mode === "verify-ca" && (root === undefined || root === SYSTEM))
    throw new OperatorError(
      "sslmode=verify-ca believes every name, so it wants an authority of your own: add sslrootcert=/path/ca.pem to DATABASE_URL, or set " +
        "sslmode=verify-full.",
    );
  const check = checkOf(mode, root);
  return {
    ...(root !== undefined && root !== SYSTEM && { ca: fileOf("sslrootcert", root) }),
    ...(sslcert !== undefined && { cert: fileOf("sslcert", sslcert) }),
    ...(sslkey !== undefined && { key: fileOf("sslkey", sslkey) }),
    rejectUnauthorized: check !== "none",
    ...(check === "authority" && { checkServerIdentity: () => undefined }),
  };
}

function checkOf(mode: string, root: string | undefined): Check {
  if (mode === "no-verify") return "none";
  if (mode === "verify-full" || root === SYSTEM) return "authority and name";
  return root === undefined ? "none" : "authority";
}

function fileOf(name: string, file: string): string {
  try {
    return readText(file, LONGEST_FILE);
  } catch (cause) {
    throw new Error(`${name} of DATABASE_URL cannot be read: ${errorMessage(cause)}`, { cause });
  }
}
