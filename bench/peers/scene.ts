import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { mkdir } from "node:fs/promises";
import path from "node:path";
import { pino } from "pino";
import { errorMessage } from "../../src/core/errors.ts";
import { Database } from "../../src/store/database/database.ts";
import {
  type EmbeddedPostgres,
  startEmbeddedPostgres,
} from "../../src/store/database/embedded/embedded-postgres.ts";
import { makeFolder } from "../support/daemon.ts";
import type { Bench } from "../support/figure.ts";
import { type BenchModel, startBenchModel } from "../support/model.ts";
import { armsOf } from "./arms.ts";
import { installPeer } from "./install.ts";
import type { PeerName, PeerOptions, Talk, Talked } from "./peer.ts";
import type { Request } from "./process.ts";

/** Tokens of the models' context, for all of them. */
const WINDOW = 32_768;
const INSTRUCTIONS = "You are Weir, and talk with people. ".repeat(30);

/** The peers that could be installed, each in its own process with its own database on one server, and one model server. */
export interface Scene extends AsyncDisposable {
  readonly model: BenchModel;
  readonly peers: readonly Peer[];
}

export async function openScene(bench: Bench): Promise<Scene> {
  await using stack = new AsyncDisposableStack();
  const adapters = await findAdapters(bench);
  const model = stack.use(await startBenchModel());
  const folder = stack.use(await makeFolder());
  const log = pino({ level: "silent" });
  // All peers' pools together are more than one daemon's server has room for.
  const settings = { max_connections: "300" };
  const dataDir = path.join(folder.path, "server");
  const postgres = stack.use(await startEmbeddedPostgres({ dataDir, log, settings }));
  const peers: Peer[] = [];
  for (const [name, adapter] of adapters) {
    await using database = new Database(postgres.connection, log, { maxConnections: 1 });
    await database.query("bench_create", `create database bench_${name}`);
    const own = path.join(folder.path, name);
    await mkdir(own);
    const databaseUrl = urlOf(postgres, `bench_${name}`);
    const options = { databaseUrl, modelUrl: model.url, instructions: INSTRUCTIONS, window: WINDOW };
    const peer = stack.use(
      new Peer(name, adapter, { ...options, folder: own, arms: armsOf(name, bench.isQuick) }),
    );
    await peer.start();
    peers.push(peer);
  }
  const kept = stack.move();
  return { model, peers, [Symbol.asyncDispose]: async () => kept.disposeAsync() };
}

async function findAdapters(bench: Bench): Promise<Map<PeerName, string>> {
  const adapters = new Map<PeerName, string>();
  for (const name of ["weir", "bare"] as const)
    adapters.set(name, path.join(import.meta.dirname, `${name}.ts`));
  for (const name of ["langgraph", "mastra"] as const) {
    bench.progress(`installs ${name}`);
    try {
      adapters.set(name, await installPeer(name));
    } catch (error) {
      bench.progress(`${name} is left out: ${errorMessage(error)}`);
    }
  }
  return adapters;
}

/** The server's socket in the form that `pg` reads, of all peers. */
function urlOf({ connection: { host, port, user } }: EmbeddedPostgres, database: string): string {
  return `postgresql://${user}@localhost:${port}/${database}?host=${encodeURIComponent(host)}`;
}

interface Reply {
  readonly id: number;
  readonly result?: unknown;
  readonly error?: string;
}

/** One of those compared. */
export class Peer implements AsyncDisposable {
  readonly name: PeerName;
  readonly #adapter: string;
  readonly #options: PeerOptions;
  #child: ChildProcess | null = null;
  #requests = 0;

  constructor(name: PeerName, adapter: string, options: PeerOptions) {
    this.name = name;
    this.#adapter = adapter;
    this.#options = options;
  }

  async start(): Promise<void> {
    this.#child = fork(path.join(import.meta.dirname, "process.ts"), [this.#adapter], {
      execArgv: ["--disable-warning=ExperimentalWarning"],
      env: { ...process.env, MASTRA_TELEMETRY_DISABLED: "1", LANGSMITH_TRACING: "false" },
      stdio: ["ignore", "ignore", "inherit", "ipc"],
      serialization: "advanced",
    });
    this.#child.setMaxListeners(0);
    await this.call({ call: "open", options: this.#options });
  }

  async talk(talk: Pick<Talk, "arm" | "rooms"> & Partial<Talk>): Promise<Talked> {
    const whole = { count: Infinity, forMs: Infinity, paceMs: 0, characters: 80, ...talk };
    return this.call<Talked>({ call: "talk", talk: whole });
  }

  /** As the system ends it when memory is short. */
  async kill(): Promise<void> {
    const child = this.#child;
    this.#child = null;
    if (child === null || child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, "exit");
    child.kill("SIGKILL");
    await ended;
  }

  [Symbol.asyncDispose] = async (): Promise<void> => this.kill();

  // oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- the caller knows what its request returns
  async call<Result>(request: Request): Promise<Result> {
    const child = this.#child;
    if (child === null) throw new Error(`${this.name} does not run`);
    const id = ++this.#requests;
    const { promise, resolve, reject } = Promise.withResolvers<Result>();
    const onMessage = ({ id: of, result, error }: Reply): void => {
      if (of !== id) return;
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- it is our own process
      if (error === undefined) resolve(result as Result);
      else reject(new Error(`${this.name}: ${error}`));
    };
    const onExit = (code: number | null, signal: string | null): void =>
      reject(new Error(`${this.name} has ended with ${code ?? signal}`));
    child.on("message", onMessage).on("exit", onExit);
    child.send({ id, request });
    return promise.finally(() => child.off("message", onMessage).off("exit", onExit));
  }
}
