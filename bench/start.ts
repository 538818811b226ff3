import { fork } from "node:child_process";
import { once } from "node:events";
import path from "node:path";
import { pino } from "pino";
import { findEmbeddedPostgres } from "../src/store/database/embedded/embedded-postgres.ts";
import { Database } from "../src/store/database/database.ts";
import { makeFolder } from "./support/daemon.ts";
import { type Bench, type Figure, median, type Row } from "./support/figure.ts";

/** From the start of the process to its report that it is ready. */
export const start: Figure = {
  name: "start",
  about: "start to ready: with an empty data folder, and with 100,000 channels in the database",
  async run(bench: Bench): Promise<Row[]> {
    const cold: number[] = [];
    for (let index = 0; index < 3; index++) {
      await using folder = await makeFolder();
      await using daemon = await startDaemonProcess(folder.path);
      cold.push(daemon.readyMs);
      bench.progress(`cold: ${Math.round(daemon.readyMs)} ms`);
    }
    await using folder = await makeFolder();
    {
      await using daemon = await startDaemonProcess(folder.path);
      await addChannels(folder.path, 100_000);
      void daemon;
    }
    const full: number[] = [];
    for (let index = 0; index < 5; index++) {
      await using daemon = await startDaemonProcess(folder.path);
      full.push(daemon.readyMs);
      bench.progress(`with 100,000 channels: ${Math.round(daemon.readyMs)} ms`);
    }
    return [
      {
        what: "cold (makes its database), median of 3",
        value: median(cold) / 1000,
        unit: "s",
        bar: { atMost: 3 },
      },
      {
        what: "with 100,000 channels, median of 5",
        value: median(full) / 1000,
        unit: "s",
        bar: { atMost: 1.5 },
      },
    ];
  },
};

/** Node's code cache: without it, Node strips the types at each start, and stays 25 MB larger. */
const CODE_CACHE = path.join(import.meta.dirname, "..", "node_modules", ".cache", "weir-code");

export interface DaemonProcess extends AsyncDisposable {
  readonly pid: number;
  readonly readyMs: number;
}

/** `weir start` in its own folder. Disposing ends it regularly. */
export async function startDaemonProcess(cwd: string): Promise<DaemonProcess> {
  const startedAt = performance.now();
  const child = fork(path.join(import.meta.dirname, "..", "src", "main.ts"), ["start"], {
    cwd,
    execArgv: [],
    stdio: ["ignore", "ignore", "pipe", "ipc"],
    // Like `npm start`.
    env: { PATH: process.env["PATH"], HOME: cwd, NODE_COMPILE_CACHE: CODE_CACHE },
  });
  let said = "";
  child.stderr?.on("data", (piece) => (said += String(piece)));
  const ended = once(child, "exit");
  await Promise.race([
    once(child, "message"),
    ended.then(() => {
      throw new Error(`weir start ended: ${said}`);
    }),
  ]);
  const readyMs = performance.now() - startedAt;
  return {
    pid: child.pid ?? 0,
    readyMs,
    async [Symbol.asyncDispose]() {
      child.kill("SIGTERM");
      await ended;
    },
  };
}

/** Channels of the loopback platform and of others, a tenth of them with a conversation. */
async function addChannels(cwd: string, count: number): Promise<void> {
  const connection = await findEmbeddedPostgres(path.join(cwd, "data"));
  if (connection === null) throw new Error("the daemon's Postgres does not run");
  await using database = new Database(connection, pino({ level: "silent" }), { maxConnections: 1 });
  await database.script(`
    insert into channels (platform, name, kind, agent)
      select 'loopback', 'room' || n, 'channel', 'main' from generate_series(1, ${count}) n;
    select count(append_message(id, 'm' || id, 'u1', 'Mira', false, 'hello', 8, now(), false, null))
      from channels where id % 10 = 0;
    insert into search_progress (channel_id, indexed_to) select id, 1 from channels where last_seq = 1;
  `);
}
