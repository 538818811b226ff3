import PQueue from "p-queue";
import pg from "pg";
import { WeirError } from "../../core/errors.ts";
import { isWorthAFreshConnection, type ServerOrigin, translateDatabaseError } from "./errors.ts";
import type { OpenPool } from "./session-settings.ts";
import { runIn, runOn } from "./statements.ts";

/** Connections of look-ups: with those of everything else, and one that cancels, 14 of a daemon at most, one that listens, and in a cluster one that probes. */
const CONNECTIONS = 3;
/**
 * The server ends a look-up that takes longer, also where nobody is left to cancel it. As a setting of the session: a
 * function that sets it does so for the statements behind its own.
 */
const LIMIT_MS = 3000;
/** How long the server may be silent beyond that, and about a cancellation. */
const GRACE_MS = 2000;

/** query_canceled: by us, or by the server's limit. */
const CANCELLED = "57014";

/** The server has ended a look-up at its limit. The same may be found again when there is less to do. */
class LookUpTooLongError extends WeirError {
  readonly retryable = true;
}

/** Identifies a connection's process on the server, also if a later one has the same number. */
interface Backend {
  readonly pid: number;
  readonly started: string;
}

/**
 * Look-ups of recall: statements that may be costly, and that nobody needs once they are late. They have a few connections
 * of their own, so that whatever they cost, no message and no answer waits for a connection, and what is dropped ends on
 * the server as well.
 */
export class LookUps implements AsyncDisposable {
  readonly #pool: pg.Pool;
  readonly #canceller: pg.Pool;
  /** Look-ups that wait for a connection; the queue of the pool itself could not drop them. */
  readonly #queue = new PQueue({ concurrency: CONNECTIONS });
  readonly #backends = new WeakMap<pg.PoolClient, Backend>();
  readonly #origin: ServerOrigin;

  constructor(openPool: OpenPool, origin: ServerOrigin) {
    this.#origin = origin;
    const limit = { statement_timeout: `${LIMIT_MS / 1000}s` };
    this.#pool = openPool({ max: CONNECTIONS, application_name: "weir recall" }, limit);
    this.#canceller = openPool({ max: 1 });
  }

  /**
   * Runs one look-up as soon as a connection is free.
   * @param signal cancels it, on the server as well; it then rejects with the signal's reason when it has ended there
   * @throws WeirError if it takes too long, or the database is not available
   */
  async query<Row extends pg.QueryResultRow>(
    statement: pg.QueryConfig,
    signal: AbortSignal | undefined,
  ): Promise<Row[]> {
    return this.#queue.add(async () => {
      signal?.throwIfAborted();
      try {
        return await this.#run<Row>(statement, signal);
      } catch (error) {
        signal?.throwIfAborted();
        if (error instanceof pg.DatabaseError && error.code === CANCELLED)
          throw new LookUpTooLongError(`a look-up took longer than ${LIMIT_MS / 1000} s and was ended`);
        throw translateDatabaseError(error, this.#origin);
      }
    });
  }

  async #run<Row extends pg.QueryResultRow>(
    statement: pg.QueryConfig,
    signal: AbortSignal | undefined,
  ): Promise<Row[]> {
    const client = await this.#pool.connect();
    let isSound = true;
    let cancelled: Promise<boolean> = Promise.resolve(true);
    try {
      const backend = await this.#backendOf(client);
      signal?.throwIfAborted();
      const cancel = (): void => void (cancelled = this.#cancel(backend));
      signal?.addEventListener("abort", cancel, { once: true });
      try {
        return await runOn<Row>(client, statement, LIMIT_MS + GRACE_MS);
      } finally {
        signal?.removeEventListener("abort", cancel);
      }
    } catch (error) {
      // One whose prepared statements are of an older schema would fail for ever.
      isSound =
        signal?.aborted === true ||
        (error instanceof pg.DatabaseError && (error.code === CANCELLED || !isWorthAFreshConnection(error)));
      throw error;
    } finally {
      // Before that is known, a cancellation under way could hit the next statement of this connection.
      const isSettled = await cancelled;
      client.release(!isSound || !isSettled);
    }
  }

  async #backendOf(client: pg.PoolClient): Promise<Backend> {
    const known = this.#backends.get(client);
    if (known !== undefined) return known;
    const text =
      "select pid, backend_start::text as started from pg_stat_activity where pid = pg_backend_pid()";
    const [backend = { pid: 0, started: "" }] = await runOn<Backend>(client, { text }, LIMIT_MS + GRACE_MS);
    this.#backends.set(client, backend);
    return backend;
  }

  /**
   * Until this is over nothing else runs on that connection, so what is active there is ours.
   * @returns false: whether the server has been told is not known
   */
  async #cancel({ pid, started }: Backend): Promise<boolean> {
    try {
      const cancel = {
        name: "look_up_cancel",
        text: `select pg_cancel_backend(pid) from pg_stat_activity
                where pid = $1 and backend_start::text = $2 and state = 'active'`,
        values: [pid, started],
      };
      await runIn(this.#canceller, cancel, GRACE_MS);
      return true;
    } catch {
      // The server's own limit ends it.
      return false;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([this.#pool.end(), this.#canceller.end()]);
  }
}
