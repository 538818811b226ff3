import { parseIntoClientConfig } from "pg-connection-string";
import pg from "pg";
import { unreached } from "./errors.ts";
import { tlsOf } from "./tls.ts";

/** What the address says of encryption: taken out of it, and read by {@link tlsOf} instead of `pg`. */
const TLS_PARAMETERS = ["sslmode", "sslrootcert", "sslcert", "sslkey"] as const;
const OWN_PARAMETERS = [...TLS_PARAMETERS, "ssl", "uselibpqcompat"];

/** For the embedded server: what is not set here `pg` would take from PGSSLMODE, PGSSLNEGOTIATION and PGREPLICATION. */
const UNENCRYPTED: pg.ClientConfig & { readonly replication: string } = {
  ssl: false,
  sslnegotiation: "postgres",
  replication: "false",
};
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

  /** Tells once: some failures of a login are events of the client, which nobody else hears yet. */
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
    super.connect((error: Error | null) => tell(error ?? null));
  }
}

function readSettings({ connectionString, ...own }: pg.ClientConfig): pg.ClientConfig | Error {
  if (connectionString === undefined) return { ...UNENCRYPTED, ...own, ...ENCODING };
  try {
    const given = readAddress(connectionString, process.env);
    // Of two values for one setting the server takes the last.
    const options = [given.options, own.options].filter((one) => one !== undefined).join(" ");
    return { ...given, ...own, options, ...ENCODING };
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error));
  }
}

/**
 * The settings of a database's address. As with libpq, the environment says what the address leaves open: `pg` itself reads PGHOST,
 * PGPORT, PGUSER, PGPASSWORD and PGDATABASE there.
 * @throws Error if it is none, or what it says of encryption cannot be used
 */
export function readAddress(address: string, env: NodeJS.ProcessEnv): pg.ClientConfig {
  const at = address.indexOf("?");
  const query = new URLSearchParams(at < 0 ? "" : address.slice(at + 1));
  const tls = Object.fromEntries(
    TLS_PARAMETERS.map((name) => [name, query.get(name) ?? env[`PG${name.toUpperCase()}`]]),
  );
  tls["sslmode"] = query.get("sslmode") ?? modeOf(query.get("ssl")) ?? env["PGSSLMODE"];
  for (const name of OWN_PARAMETERS) query.delete(name);
  const bare = at < 0 ? address : `${address.slice(0, at)}?${query.toString()}`;
  const settings = parseIntoClientConfig(bare);
  // A socket of this machine is not encrypted, as with libpq.
  const host = settings.host ?? env["PGHOST"];
  return { ...settings, ssl: host?.startsWith("/") === true ? false : tlsOf(tls) };
}

/** `ssl=true` of the address of a JDBC client, as libpq reads it. */
function modeOf(ssl: string | null): string | undefined {
  if (ssl === null) return undefined;
  return ["0", "false"].includes(ssl) ? "disable" : ssl === "no-verify" ? ssl : "require";
}
