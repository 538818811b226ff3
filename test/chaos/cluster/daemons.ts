import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { environment } from "../../support/e2e.ts";
import { startTcpProxy, type TcpProxy } from "../../support/cluster/tcp-proxy.ts";
import { type Ending, TestProcess } from "../../support/process.ts";
import { keyOf } from "./cluster-model.ts";

const MAIN = path.join(import.meta.dirname, "..", "..", "..", "src", "main.ts");

/** What all daemons of a cluster share. */
export interface Shared {
  /** Of the chat service, without a daemon's name. */
  readonly worldUrl: string;
  readonly modelUrl: string;
  /** Of the other platforms. */
  readonly platforms: { readonly config: string; readonly env: Readonly<Record<string, string>> };
  readonly broker: URL;
  readonly postgres: { readonly host: string; readonly port: number; readonly database: string };
  /** Of the cluster's queues; null: a daemon belongs to no cluster. */
  readonly prefix: string | null;
  /** A mistake that is built into the daemons; null: none. */
  readonly mutant: string | null;
}

/** One daemon, with ways of its own to the broker and to Postgres; a process again and again. */
export class ChaosDaemon implements AsyncDisposable {
  readonly name: string;
  readonly ways: Readonly<Record<"broker" | "postgres", TcpProxy>>;
  readonly #folder: string;
  readonly #env: NodeJS.ProcessEnv;
  #process: TestProcess | null = null;
  readonly #ended: string[] = [];

  private constructor(name: string, ways: ChaosDaemon["ways"], folder: string, env: NodeJS.ProcessEnv) {
    this.name = name;
    this.ways = ways;
    this.#folder = folder;
    this.#env = env;
  }

  static async make(name: string, shared: Shared): Promise<ChaosDaemon> {
    const folder = await mkdtemp(path.join(tmpdir(), "weir-cluster-"));
    await writeFile(path.join(folder, "config.toml"), configOf(name, shared));
    // As an operator copies it: what they learn is theirs together.
    await mkdir(path.join(folder, "data"), { mode: 0o700 });
    await writeFile(path.join(folder, "data", "signing.key"), `${"5a".repeat(32)}\n`, { mode: 0o600 });
    const { postgres } = shared;
    const socket = path.join(postgres.host, `.s.PGSQL.${postgres.port}`);
    const ways = {
      broker: await startTcpProxy({ host: shared.broker.hostname, port: Number(shared.broker.port) }),
      postgres: await startTcpProxy({ path: socket }),
    };
    const url = new URL(shared.broker);
    url.hostname = "127.0.0.1";
    url.port = String(ways.broker.port);
    const mutants = pathToFileURL(path.join(import.meta.dirname, "mutants.ts")).href;
    const env = environment({
      ...shared.platforms.env,
      DATABASE_URL: `postgres://${name}@127.0.0.1:${ways.postgres.port}/${postgres.database}`,
      OPENAI_BASE_URL: shared.modelUrl,
      OPENAI_API_KEY: keyOf(name),
      AMQP_URL: url.href,
      ...(shared.mutant !== null && {
        NODE_OPTIONS: `--import=${mutants}`,
        WEIR_CHAOS_MUTANT: shared.mutant,
      }),
    });
    return new ChaosDaemon(name, ways, folder, env);
  }

  /** What its processes have written to their logs so far. */
  get log(): readonly string[] {
    const running = this.#process;
    return running === null ? this.#ended : [...this.#ended, ...running.out, ...running.err];
  }

  get isRunning(): boolean {
    return this.#process !== null && !this.#process.isOver;
  }

  /** Starts a process; resolves at once. */
  start(): void {
    this.#keepLog();
    this.#process = new TestProcess(process.execPath, [MAIN, "start"], { cwd: this.#folder, env: this.#env });
  }

  async untilReady(): Promise<void> {
    await this.#process?.line("Weir is ready");
  }

  /** @returns when the signal was sent, ms by the clock of the machine */
  signal(signal: NodeJS.Signals): number {
    const at = Date.now();
    this.#process?.signal(signal);
    return at;
  }

  async ended(): Promise<Ending> {
    const started = this.#process;
    if (started === null) throw new Error(`${this.name} was not started`);
    await started.until("its end", () => started.isOver);
    this.#keepLog();
    return started.ended;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#process?.kill();
    this.#keepLog();
    for (const way of Object.values(this.ways)) await way[Symbol.asyncDispose]();
    await rm(this.#folder, { recursive: true, force: true });
  }

  #keepLog(): void {
    if (this.#process === null) return;
    this.#ended.push(...this.#process.out, ...this.#process.err);
    this.#process = null;
  }
}

function configOf(name: string, { worldUrl, platforms, prefix }: Shared): string {
  return `
[log]
level = "info"
[daemon]
drain_deadline_ms = 8000
[llm]
max_retries = 2
[defaults]
context_window = 64000
[defaults.compaction]
enabled = false
[platforms.loopback]
url = "${worldUrl}/${name}"
${platforms.config}
${prefix === null ? "" : `[cluster]\nurl = "env:AMQP_URL"\nprefix = "${prefix}"\nname = "${name}"`}
[[agents]]
id = "main"
name = "Weir"
model = "talker"
`;
}
