import pg from "pg";
import type { Connection } from "../../../src/store/database/database.ts";
import { real } from "./builtins.ts";
import type { Trace } from "./trace.ts";
import type { VirtualTime } from "./virtual-time.ts";

/** A statement that is not answered by then may be blocked, ms. */
const ANSWER_MS = 3;
/** Nothing that is neither answered nor blocked takes longer, ms. */
const LONGEST_MS = 20_000;
/** A connection that ends in no order is ended so, ms. */
const END_MS = 1000;
const CANCELLED = "57014";

type Told = (error: Error | null, result: unknown) => void;

/** What was asked of a connection. */
interface Asked {
  readonly client: pg.Client;
  /** How it is traced. */
  readonly what: string;
  /** Does it; tells of its end. */
  readonly send: (told: Told) => void;
  readonly told: Told;
  readonly isStatement: boolean;
  answer: { readonly error: Error | null; readonly result: unknown } | null;
  /** Resolves with the answer. */
  answered: Promise<void>;
  /** Sessions that it waits for. */
  by: readonly number[];
}

/**
 * The one way to Postgres of a simulation: every connection, statement and end of all clients comes here, is sent alone, and is waited for
 * until it is answered or provably waits for a lock. Of two that would wait for one session, who wakes first is chance: so the newer is taken
 * back, and asked again when something has moved.
 */
export class PostgresPort implements AsyncDisposable {
  /** The port's own way, past itself. */
  readonly #side: pg.Client;
  readonly #time: VirtualTime;
  readonly #trace: Trace;
  #toldTime = -1;
  readonly #waiting: Asked[] = [];
  /** Answered, and not told of yet: who hears goes on to his next rest before another one hears. */
  readonly #ready: Asked[] = [];
  /** Sent, and waiting for locks. */
  #blocked: Asked[] = [];
  /** Taken back. */
  #held: Asked[] = [];
  readonly #inTransaction = new WeakSet<pg.Client>();
  statements = 0;
  blockedCount = 0;
  takenBack = 0;

  private constructor(side: pg.Client, time: VirtualTime, trace: Trace) {
    this.#side = side;
    this.#time = time;
    this.#trace = trace;
  }

  static async open(connection: Connection, time: VirtualTime, trace: Trace): Promise<PostgresPort> {
    const side = new pg.Client("url" in connection ? { connectionString: connection.url } : connection);
    side.on("error", () => undefined);
    await side.connect();
    const port = new PostgresPort(side, time, trace);
    current = port;
    return port;
  }

  isOwn(client: pg.Client): boolean {
    return client === this.#side;
  }

  /** Tells of an answer, or else does the next of what was asked. @returns false: nothing was asked */
  async step(): Promise<boolean> {
    const ready = this.#ready.shift();
    if (ready !== undefined) {
      this.#tell(ready);
      return true;
    }
    const asked = this.#waiting.shift();
    if (asked === undefined) return false;
    if (asked.isStatement) await this.#tellTime();
    this.#trace.add(`> ${asked.what}`);
    await this.#send(asked);
    return true;
  }

  ask(parts: Pick<Asked, "client" | "what" | "send" | "told" | "isStatement">): void {
    this.#waiting.push({ ...parts, answer: null, answered: Promise.resolve(), by: [] });
  }

  async #tellTime(): Promise<void> {
    const now = Math.floor(this.#time.wall());
    if (now === this.#toldTime) return;
    this.#toldTime = now;
    await this.#side.query({ name: "time", text: "select setval('sim_ms', $1)", values: [now] });
  }

  async #send(asked: Asked): Promise<void> {
    const { client, what } = asked;
    this.statements++;
    const isEnd = /^(?:commit|rollback)$/.test(what);
    const isGuarded =
      this.#blocked.length > 0 && this.#inTransaction.has(client) && !isEnd && asked.isStatement;
    if (isGuarded) await direct(client, "savepoint sim");
    const { promise, resolve } = Promise.withResolvers<void>();
    asked.answered = promise;
    asked.send((error, result) => {
      asked.answer = { error, result };
      resolve();
    });
    await this.#settled(asked);
    if (asked.answer === null && this.#isRival(asked)) return this.#takeBack(asked, isGuarded);
    if (asked.answer === null) {
      this.blockedCount++;
      this.#trace.add(`  waits for a lock: ${what}`);
      this.#blocked.push(asked);
    } else {
      if (isGuarded && asked.answer.error === null) await direct(client, "release savepoint sim");
      if (what.startsWith("begin")) this.#inTransaction.add(client);
      if (isEnd) this.#inTransaction.delete(client);
      this.#ready.push(asked);
    }
    await this.#wake(isEnd);
  }

  /** Until it is answered, or waits for a lock and no deadlock can be found in that any more. */
  async #settled(asked: Asked): Promise<void> {
    const since = real.now();
    for (;;) {
      await Promise.race([
        asked.answered,
        new Promise((resolve) => void real.setTimeout(resolve, ANSWER_MS)),
      ]);
      if (asked.answer !== null) return;
      if (asked.isStatement) {
        asked.by = await this.#blockers(asked.client);
        if (isAnswered(asked)) return;
        if (asked.by.length > 0) return;
      }
      if (real.now() - since > LONGEST_MS) throw new Error(`Postgres does not answer: ${asked.what}`);
    }
  }

  async #blockers({
    processID: pid,
  }: pg.Client & { readonly processID?: number }): Promise<readonly number[]> {
    const { rows } = await this.#side.query<{ by: number[] }>({
      name: "blockers",
      text: `select pg_blocking_pids($1) as by where exists (
               select from pg_locks where pid = $1 and not granted
                  and waitstart < pg_catalog.clock_timestamp() - interval '4 ms')`,
      values: [pid],
    });
    return rows[0]?.by ?? [];
  }

  #isRival({ by }: Asked): boolean {
    const others = new Set(this.#blocked.flatMap((one) => [...one.by, pidOf(one.client)]));
    return by.some((pid) => others.has(pid));
  }

  async #takeBack(asked: Asked, isGuarded: boolean): Promise<void> {
    this.takenBack++;
    this.#trace.add(`  taken back: ${asked.what}`);
    await this.#side.query("select pg_cancel_backend($1)", [pidOf(asked.client)]);
    await asked.answered;
    const { error } = asked.answer ?? {};
    if (!(error instanceof pg.DatabaseError) || error.code !== CANCELLED)
      throw new Error(`not taken back: ${asked.what} (${error?.message ?? "answered"})`);
    if (isGuarded) await direct(asked.client, "rollback to savepoint sim");
    asked.answer = null;
    this.#held.push(asked);
  }

  /** Looks who of those that wait goes on now. @param isMoved somebody's locks are free */
  async #wake(isMoved: boolean): Promise<void> {
    let moved = isMoved;
    const blocked = this.#blocked;
    for (const asked of blocked) {
      await this.#settled(asked);
      if (asked.answer === null) continue;
      this.#blocked = this.#blocked.filter((one) => one !== asked);
      moved = true;
      this.#ready.push(asked);
    }
    if (moved || this.#blocked.length === 0) this.#waiting.unshift(...this.#held.splice(0));
  }

  #tell({ what, told, answer, isStatement }: Asked): void {
    const { error = null, result = null } = answer ?? {};
    const said = error === null ? (isStatement ? this.#trace.digest(result) : "done") : error.message;
    this.#trace.add(`< ${what} ${said}`);
    told(error, result);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (current === this) current = null;
    await this.#side.end().catch(() => undefined);
  }
}

/** Set in a simulation; null: all goes to Postgres as ever. */
let current: PostgresPort | null = null;

// Through a function: what is awaited in between changes it.
function isAnswered(asked: Asked): boolean {
  return asked.answer !== null;
}

function pidOf(client: pg.Client): number {
  const pid: unknown = Reflect.get(client, "processID");
  return typeof pid === "number" ? pid : 0;
}

type Method = (this: pg.Client, ...args: unknown[]) => unknown;

const prototype: Record<"query" | "connect" | "end", Method> = Reflect.get(pg.Client, "prototype");
const { query: plainQuery, connect: plainConnect, end: plainEnd } = prototype;

async function direct(client: pg.Client, text: string): Promise<void> {
  await Reflect.apply(plainQuery, client, [text]);
}

/** How a statement is traced, and known from others. */
function nameOf(query: object): string {
  const [name, text]: unknown[] = [Reflect.get(query, "name"), Reflect.get(query, "text")];
  return typeof name === "string" && name !== "" ? name : String(text).trim().slice(0, 60);
}

prototype.query = function ported(this: pg.Client, ...args) {
  const [query] = args;
  if (!isPorted(this) || !(query instanceof pg.Query)) return Reflect.apply(plainQuery, this, args);
  const told: unknown = Reflect.get(query, "callback");
  const config: pg.QueryConfig = {
    name: Reflect.get(query, "name"),
    text: Reflect.get(query, "text"),
    values: Reflect.get(query, "values"),
  };
  current?.ask({
    client: this,
    what: nameOf(query),
    isStatement: true,
    send: (answered) => {
      // A query of pg is asked once: what is taken back needs a new one.
      Reflect.apply(plainQuery, this, [
        new pg.Query(config, (error, result) => answered(error ?? null, result)),
      ]);
    },
    told: (error, result) => {
      if (typeof told === "function") told(error, result);
    },
  });
  return query;
};

prototype.connect = function ported(this: pg.Client, ...args) {
  if (!isPorted(this)) return Reflect.apply(plainConnect, this, args);
  return askOf(this, "connect", args[0], (answered) => {
    Reflect.apply(plainConnect, this, [(error: Error | null) => answered(error ?? null, null)]);
  });
};

prototype.end = function ported(this: pg.Client, ...args) {
  if (!isPorted(this)) return Reflect.apply(plainEnd, this, args);
  return askOf(this, "end", args[0], (answered) => {
    // Where the server is gone, nothing tells of the end.
    const late = real.setTimeout(() => answered(null, null), END_MS);
    Reflect.apply(plainEnd, this, [
      () => {
        real.clearTimeout(late);
        answered(null, null);
      },
    ]);
  });
};

function isPorted(client: pg.Client): boolean {
  return current !== null && !current.isOwn(client);
}

/** As pg's own: tells a function, or else a promise. */
function askOf(
  client: pg.Client,
  what: string,
  told: unknown,
  send: Asked["send"],
): Promise<unknown> | undefined {
  if (typeof told === "function") {
    current?.ask({ client, what, isStatement: false, send, told: (error) => void told(error) });
    return undefined;
  }
  return new Promise((resolve, reject) => {
    const tell = (error: Error | null): void => (error === null ? resolve(client) : reject(error));
    current?.ask({ client, what, isStatement: false, send, told: tell });
  });
}
