import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { environment } from "./e2e.ts";
import { TestProcess } from "./process.ts";

const MAIN = path.join(import.meta.dirname, "..", "..", "src", "main.ts");
const AGENT = `[[agents]]\nid = "main"\nname = "Weir"\nmodel = "test-model"\n`;

/** A folder from which `weir start` runs as a process, again and again. */
export interface MainHome extends AsyncDisposable {
  /** Resolves when it is ready; it is killed at the latest when the home is disposed of. */
  start(): Promise<TestProcess>;
}

/** @param config more of config.toml; @param env tokens, the database and the model server */
export async function openMainHome(config: string, env: NodeJS.ProcessEnv): Promise<MainHome> {
  await using stack = new AsyncDisposableStack();
  const folder = await mkdtemp(path.join(tmpdir(), "weir-main-"));
  stack.defer(async () => rm(folder, { recursive: true, force: true }));
  await writeFile(path.join(folder, "config.toml"), `${config}\n${AGENT}`);
  const kept = stack.move();
  return {
    async start() {
      const surroundings = { cwd: folder, env: environment(env) };
      const started = kept.use(new TestProcess(process.execPath, [MAIN, "start"], surroundings));
      await started.line("Weir is ready");
      return started;
    },
    [Symbol.asyncDispose]: async () => kept.disposeAsync(),
  };
}
