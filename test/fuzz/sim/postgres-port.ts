import { readFileSync } from "node:fs";
import pg from "pg";
import type { Connection } from "../../../src/store/database/queryable.ts";
import { plainClient } from "../../support/database.ts";
import { real } from "./builtins.ts";
import type { Latencies } from "./latencies.ts";
import { SET_TIME } from "./sim-database.ts";
import type { Trace } from "./trace.ts";
import { type VirtualTime, VirtualTimer } from "./virtual-time.ts";

/** A statement that is not answered by then may be blocked, ms. */
const ANSWER_MS = 5;
/** The same, of one that is to stop inside a function: this lock is the simulation's own, and no deadlock can come of it. */
const STOPPED_ANSWER_MS = 1;
/** Nothing that is neither answered nor blocked takes longer, ms. */
const LONGEST_MS = 20_000;
/** A connection that ends in no order is ended so, ms. */
const END_MS = 1000;
const CANCELLED = "57014";

type Told = (error: Error | null, result: unknown) => void;

/** Share of the calls of a function that are stopped inside, and for how long at most, ms of the simulation. */
const STOPPED_SHARE = 0.04;
const STOPPED_MS = 12;

/** Names by which a statement calls a function of ours: those of the clock are among them. */
const FUNCTIONS = `
select distinct proname as name from pg_proc where pronamespace = 'public'::regnamespace and provolatile <> 'i'`;

/** What was asked of a connection. */
interface Asked {
  readonly client: pg.Client;
  /** How it is traced. */
  readonly what: string;
  /** Of a statement; "": it is none. */
  readonly text: string;
  /** Does it; tells of its end. */
  readonly send: (told: Told) => void;
  readonly told: Told;
  answer: { readonly error: Error | null; readonly result: unknown } | null;
  /** Resolves with the answer. */
  answered: Promise<void>;
  /** Sessions that it waits for. */
  by: readonly number[];
  /** It can be taken back without its transaction. */
  isGuarded: boolean;
}

interface PortParts {
  readonly time: VirtualTime;
  readonly trace: Trace;
  readonly latencies: Latencies;
}

/** Numbers of a function's places to be stopped at. */
interface Stops {
  readonly name: string;
  readonly first_stop: number;
  readonly stops: number;
}

/**
 * The one way to Postgres of a simulation: every connection, statement and end of all clients comes here, is sent alone, and is waited for
 * until it is answered or provably waits for a lock. Of two that would wait for one session, who wakes first is chance: so the newer is taken
 * back, and asked again when something has moved.
 */
export class PostgresPort implements AsyncDisposable {
  /** The port's own way, past itself. */
  readonly #side: pg.Client;
  readonly #stops: ReadonlyMap<string, Stops>;
  /** What a statement has that may look at the clock. */
  readonly #looks: RegExp;
  readonly #parts: PortParts;
  #toldTime = -1;
  /** What comes next, in order. */
  readonly #waiting: (() => Promise<void>)[] = [];
  /** Answered, and not told of yet: who hears goes on to his next rest before another one hears. */
  readonly #ready: Asked[] = [];
  /** Sent, and waiting for locks. */
  #blocked: Asked[] = [];
  /** Taken back. */
  #held: Asked[] = [];
  readonly #inTransaction = new WeakSet<pg.Client>();
  statements = 0;

  private constructor(side: pg.Client, stops: readonly Stops[], looks: RegExp, parts: PortParts) {
    this.#side = side;
    this.#looks = looks;
    this.#stops = new Map(stops.map((one) => [one.name, one]));
    this.#parts = parts;
  }

  static async open(connection: Connection, parts: PortParts): Promise<PostgresPort> {
    const side = plainClient(connection);
    side.on("error", () => undefined);
    await side.connect();
    const { rows: tables } = await side.query("select from pg_tables where tablename = 'sim_stops'");
    const stops = tables.length === 0 ? [] : (await side.query<Stops>("select * from sim_stops")).rows;
    const { rows: functions } = await side.query<{ name: string }>(FUNCTIONS);
    const looks = ["insert", "update", "delete", "merge", "commit", ...functions.map(({ name }) => name)];
    const port = new PostgresPort(side, stops, new RegExp(`\\b(?:${looks.join("|")})\\b`, "i"), parts);
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
    const next = this.#waiting.shift();
    await next?.();
    return next !== undefined;
  }

  ask(parts: Pick<Asked, "client" | "what" | "text" | "send" | "told">): void {
    const asked = { ...parts, answer: null, answered: Promise.resolve(), by: [], isGuarded: false };
    this.#waiting.push(async () => this.#send(asked));
  }

  /** Before a statement that may look at the clock: by a function of ours, by a default, or by a trigger, which may wait for the commit. */
  async #tellTime(text: string): Promise<void> {
    if (!this.#looks.test(text)) return;
    const now = Math.floor(this.#parts.time.wall());
    if (now === this.#toldTime) return;
    this.#toldTime = now;
    await this.#side.query({ name: "time", text: SET_TIME, values: [now] });
  }

  async #send(asked: Asked): Promise<void> {
    const { client, what, text } = asked;
    const { trace } = this.#parts;
    this.statements++;
    trace.add(`> ${what}`);
    await this.#tellTime(text);
    const stop = this.#stopIn(asked);
    const isInside = this.#inTransaction.has(client) && text !== "" && !isEnd(text);
    asked.isGuarded = isInside && (this.#blocked.length > 0 || stop !== null);
    if (asked.isGuarded) await direct(client, "savepoint sim");
    // Free: who passes the place gives it back at once.
    if (stop !== null) await this.#side.query("select pg_advisory_lock($1, $2)", [stop, pidOf(client)]);
    const { promise, resolve } = Promise.withResolvers<void>();
    asked.answered = promise;
    asked.send((error, result) => {
      asked.answer = { error, result };
      resolve();
    });
    await this.#settled(asked, stop === null ? ANSWER_MS : STOPPED_ANSWER_MS);
    const goOn = async (): Promise<void> => {
      await this.#side.query("select pg_advisory_unlock($1, $2)", [stop, pidOf(client)]);
    };
    if (stop !== null && asked.answer === null && asked.by.includes(pidOf(this.#side))) {
      trace.add(`  stopped at ${stop}: ${what}`);
      this.#goOnLater(asked, goOn);
      return this.#wake(false);
    }
    if (stop !== null) await goOn();
    await this.#sent(asked);
  }

  /** By then others have come between two of its statements. */
  #goOnLater(asked: Asked, goOn: () => Promise<void>): void {
    const { time, latencies } = this.#parts;
    const ms = Math.ceil(latencies.fraction(0, `${asked.what} stopped`) * STOPPED_MS);
    const resume = async (): Promise<void> => {
      this.#parts.trace.add(`  goes on: ${asked.what}`);
      await goOn();
      await this.#settled(asked);
      await this.#sent(asked);
    };
    new VirtualTimer(time, () => this.#waiting.push(resume), Math.max(1, ms), false).unref();
  }

  /** The number of the place at which a call of a function will stop; null: it goes on to its end. */
  #stopIn({ what, text }: Asked): number | null {
    const [, called = ""] = /\b(?:from|select|join|lateral)\s+(\w+)\s*\(/i.exec(text) ?? [];
    const stops = this.#stops.get(called);
    if (stops === undefined || !this.#parts.latencies.chance(0, `${what} stops`, STOPPED_SHARE)) return null;
    return stops.first_stop + Math.floor(this.#parts.latencies.fraction(0, `${what} stop`) * stops.stops);
  }

  /** It is answered, or waits for a lock. */
  async #sent(asked: Asked): Promise<void> {
    const { client, text, what } = asked;
    if (asked.answer === null && this.#isRival(asked)) return this.#takeBack(asked);
    if (asked.answer === null) {
      this.#parts.trace.add(`  waits for a lock: ${what}`);
      this.#blocked.push(asked);
    } else {
      if (asked.isGuarded && asked.answer.error === null) await direct(client, "release savepoint sim");
      if (text.startsWith("begin")) this.#inTransaction.add(client);
      if (isEnd(text)) this.#inTransaction.delete(client);
      this.#ready.push(asked);
    }
    await this.#wake(asked.answer !== null && !this.#inTransaction.has(client));
  }

  /** Until it is answered, or waits for a lock and no deadlock can be found in that any more. */
  async #settled(asked: Asked, answerMs = ANSWER_MS): Promise<void> {
    const since = real.now();
    for (let ms = answerMs; ; ms = Math.min(ms * 2, ANSWER_MS)) {
      const late = Promise.withResolvers<void>();
      const timer = real.setTimeout(late.resolve, ms);
      await Promise.race([asked.answered, late.promise]);
      real.clearTimeout(timer);
      if (asked.answer !== null) return;
      if (asked.text !== "") {
        asked.by = await this.#blockers(asked.client);
        if (isAnswered(asked) || (asked.by.length > 0 && isAsleep(pidOf(asked.client)))) return;
      }
      if (real.now() - since > LONGEST_MS) throw new Error(`Postgres does not answer: ${asked.what}`);
    }
  }

  /** Sessions that it waits for, when the system has had the time to wake it for a look for a deadlock (after 1 ms). */
  async #blockers(client: pg.Client): Promise<readonly number[]> {
    const { rows } = await this.#side.query<{ by: number[] }>({
      name: "blockers",
      text: `select by from pg_blocking_pids($1) as by where pg_backend_pid() = any (by) or exists (
               select from pg_locks where pid = $1 and not granted
                  and waitstart < pg_catalog.clock_timestamp() - interval '4 ms')`,
      values: [pidOf(client)],
    });
    return rows[0]?.by ?? [];
  }

  #isRival({ by }: Asked): boolean {
    const others = new Set(this.#blocked.flatMap((one) => [...one.by, pidOf(one.client)]));
    return by.some((pid) => others.has(pid));
  }

  async #takeBack(asked: Asked): Promise<void> {
    this.#parts.trace.add(`  taken back: ${asked.what}`);
    await this.#side.query("select pg_cancel_backend($1)", [pidOf(asked.client)]);
    await asked.answered;
    const { error } = asked.answer ?? {};
    if (!(error instanceof pg.DatabaseError) || error.code !== CANCELLED)
      throw new Error(`not taken back: ${asked.what} (${error?.message ?? "answered"})`);
    if (asked.isGuarded) await direct(asked.client, "rollback to savepoint sim");
    asked.answer = null;
    this.#held.push(asked);
    await this.#wake(false);
  }

  /** Looks who of those that wait goes on now. @param mayMove locks may be free: nobody goes on where they are not */
  async #wake(mayMove: boolean): Promise<void> {
    let moved = mayMove;
    const blocked = mayMove ? this.#blocked : [];
    for (const asked of blocked) {
      await this.#settled(asked);
      if (asked.answer === null) continue;
      this.#blocked = this.#blocked.filter((one) => one !== asked);
      moved = true;
      if (asked.isGuarded && isSound(asked)) await direct(asked.client, "release savepoint sim");
      this.#ready.push(asked);
    }
    if (!moved && this.#blocked.length > 0) return;
    const held = this.#held.splice(0);
    this.#waiting.unshift(...held.map((asked) => async () => this.#send(asked)));
  }

  #tell({ what, told, answer, text }: Asked): void {
    const { error = null, result = null } = answer ?? {};
    const { trace } = this.#parts;
    const said = error === null ? (text === "" ? "done" : trace.digest(result)) : error.message;
    trace.add(`< ${what} ${said}`);
    told(error, result);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (current === this) current = null;
    await this.#side.end().catch(() => undefined);
  }
}

/** Set in a simulation; null: all goes to Postgres as ever. */
let current: PostgresPort | null = null;

// Through functions: what is awaited in between changes it.
function isAnswered(asked: Asked): boolean {
  return asked.answer !== null;
}

function isSound(asked: Asked): boolean {
  return asked.answer?.error === null;
}

function isEnd(text: string): boolean {
  return text === "commit" || text === "rollback";
}

function pidOf(client: pg.Client): number {
  const pid: unknown = Reflect.get(client, "processID");
  return typeof pid === "number" ? pid : 0;
}

/**
 * A backend that waits for a lock and is asleep after its `deadlock_timeout` has looked for a deadlock. One that is to run has yet to look: on
 * a busy machine much later, so that another session than the newest may be the one that fails. Taken to be asleep where the system tells nothing.
 */
function isAsleep(pid: number): boolean {
  try {
    const told = readFileSync(`/proc/${pid}/stat`, "latin1");
    return told.slice(told.lastIndexOf(")") + 2).startsWith("S");
  } catch {
    return true;
  }
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
    text: String(Reflect.get(query, "text")),
    send: (answered) => {
      // A query of pg is asked once: what is taken back needs a new one, of the same class.
      const hear = (error: Error | null | undefined, result: unknown): void =>
        answered(error ?? null, result);
      Reflect.apply(plainQuery, this, [Reflect.construct(query.constructor, [config, hear])]);
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
    current?.ask({ client, what, text: "", send, told: (error) => void told(error) });
    return undefined;
  }
  return new Promise((resolve, reject) => {
    const tell = (error: Error | null): void => (error === null ? resolve(client) : reject(error));
    current?.ask({ client, what, text: "", send, told: tell });
  });
}
