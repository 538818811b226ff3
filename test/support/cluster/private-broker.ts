/** A RabbitMQ of Debian's package that a test starts, kills and restarts. */
import { access, mkdir, mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { connect } from "amqplib";
import { startListening } from "../listening.ts";
import { Patience, until, workOf } from "../patience.ts";
import { TestProcess } from "../process.ts";
import type { TestBroker } from "./broker.ts";

/** Debian's programs themselves: the ones in the path switch the account. */
const PROGRAMS = "/usr/lib/rabbitmq/bin";
const SERVER = path.join(PROGRAMS, "rabbitmq-server");

export async function findPrivateBroker(): Promise<boolean> {
  return access(SERVER).then(
    () => true,
    () => false,
  );
}

export interface PrivateBroker extends TestBroker {
  /** kill -9; all client connections end. */
  kill(): Promise<void>;
  /** Restarts it with its stored data. */
  start(): Promise<void>;
  /** Restarts it without data. */
  startEmpty(): Promise<void>;
  /** Runs `rabbitmqctl`, which takes a second or two. @throws Error if it fails */
  control(...args: readonly string[]): Promise<void>;
}

/** Starts a node with its own ports in a temporary folder, which takes some seconds. */
export async function startPrivateBroker(): Promise<PrivateBroker> {
  const folder = await mkdtemp(path.join(tmpdir(), "weir-broker-"));
  const [port, distribution, epmdPort] = [await freePort(), await freePort(), await freePort()];
  const env = {
    PATH: process.env["PATH"],
    HOME: folder,
    LANG: "C.UTF-8",
    ERL_EPMD_PORT: String(epmdPort),
    RABBITMQ_NODENAME: `weir${port}@localhost`,
    RABBITMQ_NODE_IP_ADDRESS: "127.0.0.1",
    RABBITMQ_NODE_PORT: String(port),
    RABBITMQ_DIST_PORT: String(distribution),
    RABBITMQ_MNESIA_BASE: path.join(folder, "data"),
    RABBITMQ_LOG_BASE: path.join(folder, "log"),
    RABBITMQ_PID_FILE: path.join(folder, "pid"),
    RABBITMQ_ENABLED_PLUGINS_FILE: path.join(folder, "plugins"),
    RABBITMQ_CONFIG_FILE: path.join(folder, "rabbitmq"),
    // Lets the start script become Erlang, instead of a shell that waits for it, so that a kill reaches the broker.
    RUNNING_UNDER_SYSTEMD: "1",
  };
  const url = `amqp://guest:guest@127.0.0.1:${port}`;
  // A child of the test, not a daemon that outlives it.
  const epmd = new TestProcess("epmd", ["-port", String(epmdPort)], { cwd: folder, env });
  let server: TestProcess | null = null;
  const broker: PrivateBroker = {
    url,
    async kill() {
      await server?.kill();
      server = null;
    },
    async start() {
      server = new TestProcess(SERVER, [], { cwd: folder, env });
      await answering(url, server);
    },
    async startEmpty() {
      await rm(path.join(folder, "data"), { recursive: true, force: true });
      await this.start();
    },
    async control(...args) {
      await using program = new TestProcess(path.join(PROGRAMS, "rabbitmqctl"), args, { cwd: folder, env });
      const { code } = await program.finish();
      if (code !== 0) throw new Error(`rabbitmqctl ${args.join(" ")} ended with ${code}: ${program.stderr}`);
    },
    async [Symbol.asyncDispose]() {
      await server?.kill();
      await epmd[Symbol.asyncDispose]();
      await rm(folder, { recursive: true, force: true });
    },
  };
  await mkdir(path.join(folder, "log"));
  await broker.start();
  return broker;
}

/** Resolves once the broker accepts connections. As long as its process works, it may be slow. */
async function answering(url: string, server: TestProcess): Promise<void> {
  const patience = new Patience(() => server.out.length + server.err.length + workOf(server.pid));
  const look = async (): Promise<boolean> => {
    if (server.isOver) throw new Error(`RabbitMQ has ended: ${server.stderr}`);
    return connect(url, { timeout: 5000 }).then(
      async (connection) => connection.close().then(() => true),
      () => false,
    );
  };
  await until("broker", look, patience);
}

async function freePort(): Promise<number> {
  await using listening = await startListening(createServer());
  return listening.port;
}
