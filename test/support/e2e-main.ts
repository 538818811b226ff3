import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import type { Connection } from "../../src/store/database/queryable.ts";
import { type Outcome, runShared } from "./command-line.ts";
import { environment } from "./e2e.ts";
import { TestProcess } from "./process.ts";
import { connectionUrl } from "./weir.ts";

const MAIN = path.join(import.meta.dirname, "..", "..", "src", "main.ts");
const AGENT = `[[agents]]\nid = "main"\nname = "Weir"\nmodel = "test-model"\n`;

/** Connects a daemon to a test's database and model server. */
export function envOf(connection: Connection, modelUrl: string): NodeJS.ProcessEnv {
  return {
    DATABASE_URL: connectionUrl(connection),
    OPENAI_BASE_URL: modelUrl,
    OPENAI_API_KEY: "sk-e2e-secret",
  };
}

/** A folder in which `weir start` runs as a process, repeatedly. */
export interface MainHome extends AsyncDisposable {
  readonly folder: string;
  /** Resolves when it is ready; disposing the home kills it at the latest. */
  start(): Promise<TestProcess>;
  /** Runs a short command there to its end, in a process shared by several. */
  look(...args: readonly string[]): Promise<Outcome>;
  /** Starts `weir ARGS` there. */
  run(...args: readonly string[]): TestProcess;
  /** The same for another checkout. @param main its `src/main.ts` */
  runVersion(main: string, ...args: readonly string[]): TestProcess;
}

/**
 * @param config more of config.toml; @param env tokens, the database and the model server; @param agent more of the
 *   agent, the last in the file
 */
export async function openMainHome(config: string, env: NodeJS.ProcessEnv, agent = ""): Promise<MainHome> {
  await using stack = new AsyncDisposableStack();
  const folder = await mkdtemp(path.join(tmpdir(), "weir-main-"));
  stack.defer(async () => rm(folder, { recursive: true, force: true }));
  await writeFile(path.join(folder, "config.toml"), `${config}\n${AGENT}${agent}`);
  const kept = stack.move();
  const start = (main: string, args: readonly string[], more: NodeJS.ProcessEnv = env): TestProcess =>
    kept.use(new TestProcess(process.execPath, [main, ...args], { cwd: folder, env: environment(more) }));
  const run = (...args: readonly string[]): TestProcess => start(MAIN, args);
  return {
    folder,
    run,
    // What it makes of its code stays there.
    runVersion: (main, ...args) => start(main, args, { ...env, NODE_COMPILE_CACHE: `${main}.cache` }),
    async look(...args) {
      const shared = await runShared({ words: args, cwd: folder, env: environment(env) });
      if (shared !== null) return shared;
      const alone = run(...args);
      const ending = await alone.finish();
      return { ...ending, out: alone.out, stderr: alone.stderr };
    },
    async start() {
      const started = run("start");
      await started.line("Weir is ready");
      return started;
    },
    [Symbol.asyncDispose]: async () => kept.disposeAsync(),
  };
}
