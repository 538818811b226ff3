import { chmod, mkdtemp, realpath, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { type LoopbackServer, startLoopbackServer } from "../../src/platforms/local/loopback/server.ts";
import { Random } from "../fuzz/random.ts";
import { environment, Home, openSeed } from "../support/e2e.ts";
import { copyFolder, startQuietly } from "../support/embedded-folder.ts";
import { startModelServer } from "../support/model-server.ts";
import type { TestProcess } from "../support/process.ts";
import { MOST_CHARACTERS } from "./answers.ts";
import { ChaosModel } from "./chaos-model.ts";
import { Gates } from "./gates.ts";
import type { MutantName } from "./mutants.ts";
import { People } from "./people.ts";
import { type ServiceProxy, startServiceProxy } from "./service-proxy.ts";
import { Sql } from "./sql.ts";

/** Small, so that the compactor is never idle: 7168 usable tokens. */
const CONFIG = `
[log]
level = "warn"
[daemon]
drain_deadline_ms = 8000
[llm]
max_retries = 1
first_token_timeout_ms = 5000
[defaults]
model = "talker"
compactor_model = "summariser"
context_window = 8192
max_output_tokens = 512
generation_reserve = 512
[defaults.compaction]
deadline_ms = 4000
`;
// The deadline of a summary comes before the timeout of a silent model, so that both are met.
/** Smaller than some ranges, so that some summaries are written in parts. */
const SUMMARISER_WINDOW = 5500;

/** The world round one data folder, which outlives the processes that are killed in it. */
export interface Scene extends AsyncDisposable {
  readonly home: Home;
  readonly random: Random;
  readonly model: ChaosModel;
  readonly people: People;
  readonly service: LoopbackServer;
  readonly proxy: ServiceProxy;
  readonly sql: Sql;
  readonly gates: Gates;
  readonly clockFile: string;
  /** The process that runs, or ran last. */
  process: TestProcess;
  /** Counts the processes. */
  session: number;
}

/** @param mutant a mistake that is built into the daemons, see `mutants.ts`; null: none */
export async function openScene(seed: number, mutant: MutantName | null = null): Promise<Scene> {
  await using stack = new AsyncDisposableStack();
  const server = stack.use(await startModelServer());
  server.models = [{ id: "talker" }, { id: "summariser", context_length: SUMMARISER_WINDOW }];
  const service = stack.use(await startLoopbackServer());
  const proxy = stack.use(await startServiceProxy(service.url));
  const home = stack.use(await openChaosHome(server.url, proxy.url, mutant));
  const sql = stack.use(new Sql(home.dataDir));
  const gates = new Gates(sql);
  // The daemon adopts it; the home's guardian ends it.
  await startQuietly(home.dataDir);
  await gates.install();
  const random = new Random(seed);
  const people = new People(new Random(seed + 1), service.url);
  const model = new ChaosModel(server, new Random(seed + 2));
  const scene = { home, random, model, people, service, proxy, sql, gates, session: 0 };
  const clockFile = path.join(home.folder, "clock");
  const kept = stack.move();
  return Object.assign(scene, {
    clockFile,
    process: startSession(scene),
    [Symbol.asyncDispose]: async () => kept.disposeAsync(),
  });
}

/** Starts a process, and tells everybody. */
export function startSession(scene: Pick<Scene, "home" | "people" | "model" | "session">): TestProcess {
  scene.session++;
  scene.model.session = scene.session;
  const process = scene.home.start("chat", "--jsonl");
  scene.people.meet(process, scene.session);
  return process;
}

async function openChaosHome(modelUrl: string, serviceUrl: string, mutant: MutantName | null): Promise<Home> {
  const folder = await realpath(await mkdtemp(path.join(tmpdir(), "weir-chaos-")));
  // As root, the server runs as an account that has to come through.
  await chmod(folder, 0o755);
  await writeFile(
    path.join(folder, "config.toml"),
    `${CONFIG}[platforms.loopback]\nurl = "${serviceUrl}"\nmax_text_length = ${MOST_CHARACTERS}\n`,
  );
  await using seed = await openSeed();
  await copyFolder(seed.dataDir, path.join(folder, "data"));
  const first = ["clock.ts", ...(mutant === null ? [] : ["mutants.ts"])];
  const env = environment({
    OPENAI_BASE_URL: modelUrl,
    OPENAI_API_KEY: "sk-chaos",
    NODE_OPTIONS: first
      .map((file) => `--import=${pathToFileURL(path.join(import.meta.dirname, file)).href}`)
      .join(" "),
    WEIR_CHAOS_CLOCK: path.join(folder, "clock"),
    ...(mutant !== null && { WEIR_CHAOS_MUTANT: mutant }),
  });
  return new Home(folder, env);
}
