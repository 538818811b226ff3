import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import { chmod, mkdtemp, realpath, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { z } from "zod";
import { type Outcome, runShared } from "./command-line.ts";
import { copyFolder } from "./embedded-folder.ts";
import { TestProcess } from "./process.ts";
import { CODE_CACHE, endGuardian, SEED_VARIABLE, startGuardian } from "./test-server.ts";

const ROOT = path.join(import.meta.dirname, "..", "..");
const MAIN = path.join(ROOT, "src", "main.ts");

/** Variables by which a developer's environment would affect a test. */
const FOREIGN = new Set([
  "WEIR_HOME",
  "DATABASE_URL",
  "OPENAI_API_KEY",
  "OPENAI_BASE_URL",
  "NODE_OPTIONS",
  "NODE_TEST_CONTEXT",
  "DISCORD_TOKEN",
  "SLACK_BOT_TOKEN",
  "SLACK_APP_TOKEN",
  "SLACK_SIGNING_SECRET",
  "WEIR_HTTP_TOKEN",
]);

/** The environment of a test's process. */
export function environment(own: NodeJS.ProcessEnv = {}): NodeJS.ProcessEnv {
  const inherited = Object.entries(process.env).filter(([name]) => !FOREIGN.has(name));
  return { ...Object.fromEntries(inherited), NODE_COMPILE_CACHE: CODE_CACHE, ...own };
}

/** A folder with its own config.toml, in which `weir` runs in its own processes. */
export class Home implements AsyncDisposable {
  readonly folder: string;
  readonly #env: NodeJS.ProcessEnv;
  readonly #processes = new Set<TestProcess>();
  readonly #guardian: ReturnType<typeof startGuardian>;

  constructor(folder: string, env: NodeJS.ProcessEnv) {
    this.folder = folder;
    this.#env = env;
    this.#guardian = startGuardian(this.dataDir);
  }

  get dataDir(): string {
    return path.join(this.folder, "data");
  }

  /** Starts `weir ARGS`; disposing the home kills it at the latest. */
  start(...args: readonly string[]): TestProcess {
    return this.startWith({}, ...args);
  }

  /** The same with more variables. */
  startWith(env: NodeJS.ProcessEnv, ...args: readonly string[]): TestProcess {
    return this.#start(MAIN, { ...this.#env, ...env }, args);
  }

  /** The same with the Weir of another checkout, by its `main.ts`; its compiled code stays there. */
  startVersion(main: string, ...args: readonly string[]): TestProcess {
    return this.#start(main, { ...this.#env, NODE_COMPILE_CACHE: `${main}.cache` }, args);
  }

  #start(main: string, env: NodeJS.ProcessEnv, args: readonly string[]): TestProcess {
    const started = new TestProcess(process.execPath, [main, ...args], { cwd: this.folder, env });
    this.#processes.add(started);
    return started;
  }

  /** Runs `weir ARGS` to its end; a short command in a process shared by several. */
  async run(...args: readonly string[]): Promise<Outcome> {
    const shared = await runShared({ words: args, cwd: this.folder, env: this.#env });
    return shared ?? this.runAlone(...args);
  }

  /** The same in its own process, as a person would. */
  async runAlone(...args: readonly string[]): Promise<Outcome> {
    const started = this.start(...args);
    const ending = await started.finish();
    return { ...ending, out: started.out, stderr: started.stderr };
  }

  /** The whole log of a channel, by `weir log --json`. */
  async log(channel: string): Promise<LogEntry[]> {
    const { code, out, stderr } = await this.run("log", channel, "--json");
    assert.equal(code, 0, stderr);
    return parseLog(out);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([...this.#processes].map(async (started) => started[Symbol.asyncDispose]()));
    await endGuardian(this.#guardian);
    await rm(this.folder, { recursive: true, force: true });
  }
}

export interface HomeOptions {
  readonly modelUrl: string;
  /** More lines of config.toml. */
  readonly config?: string;
  /** A migrated data folder at rest, which this home copies: an initdb takes ten times as long. */
  readonly seed?: Home;
}

export async function openHome({ modelUrl, config = "", seed }: HomeOptions): Promise<Home> {
  const folder = await realpath(await mkdtemp(path.join(tmpdir(), "weir e2e ")));
  // As root, the server runs as another account, which needs access.
  await chmod(folder, 0o755);
  await writeFile(path.join(folder, "config.toml"), config);
  if (seed !== undefined) await copyFolder(seed.dataDir, path.join(folder, "data"));
  // Without a key the client would ask for one; without a server it would look for the developer's Ollama.
  return new Home(folder, environment({ OPENAI_BASE_URL: modelUrl, OPENAI_API_KEY: "sk-e2e-secret" }));
}

/** A home to copy, with a migrated database and no running process. The first test file that needs one makes it for all. */
export async function openSeed(): Promise<Home> {
  const shared = process.env[SEED_VARIABLE];
  const home = await openHome({ modelUrl: "http://127.0.0.1:9/v1" });
  if (shared !== undefined && existsSync(shared)) {
    await copyFolder(shared, home.dataDir);
    return home;
  }
  const { code, stderr } = await home.run("migrate");
  assert.equal(code, 0, stderr);
  if (shared !== undefined) await share(home.dataDir, shared);
  return home;
}

/** Puts a copy of a folder in place, whole or not at all; of two concurrent copies, the first one stays. */
async function share(folder: string, shared: string): Promise<void> {
  const unfinished = `${shared}.${randomUUID()}`;
  await copyFolder(folder, unfinished);
  await rename(unfinished, shared).catch(async () => rm(unfinished, { recursive: true }));
}

const logEntry = z.looseObject({
  seq: z.number(),
  kind: z.enum(["user", "assistant", "tool_call", "tool_result", "notice"]),
  text: z.string(),
  deleted: z.boolean(),
  messageId: z.string().optional(),
  addressed: z.boolean().optional(),
  turnId: z.number().optional(),
  after: z.number().nullish(),
  stopped: z.boolean().optional(),
});
/** The lines of `weir log --json`. */
export function parseLog(lines: readonly string[]): LogEntry[] {
  return lines.map((line) => logEntry.parse(JSON.parse(line)));
}
export type LogEntry = z.output<typeof logEntry>;

/**
 * Asserts that the log is whole: its seqs are 1, 2, 3, …; it has exactly these messages, each once; and each addressed
 * one is answered by exactly one turn.
 */
export function assertWhole(log: readonly LogEntry[], messageIds: Iterable<string>): void {
  assert.deepEqual(
    log.map(({ seq }) => seq),
    log.map((_, index) => index + 1),
    "the seqs are dense",
  );
  const messages = log.filter(({ kind }) => kind === "user");
  assert.deepEqual(messages.map(({ messageId }) => messageId ?? "").toSorted(), [...messageIds].toSorted());
  const answers = log.filter(({ kind }) => kind === "assistant" || kind === "notice");
  // A turn answers all addressed messages up to `after` that the turn before it did not.
  const ends = answers.map(({ after }) => after ?? 0);
  assert.equal(new Set(ends).size, ends.length, `no turn is answered twice: ${ends.join(" ")}`);
  assert.deepEqual(
    ends,
    ends.toSorted((a, b) => a - b),
  );
  const lastAddressed = messages.findLast(({ addressed }) => addressed)?.seq ?? 0;
  assert.ok((ends.at(-1) ?? 0) >= lastAddressed, `the messages up to ${lastAddressed} are answered`);
  const addressed = new Set(messages.filter((one) => one.addressed).map(({ seq }) => seq));
  for (const end of ends) assert.ok(addressed.has(end), `a turn answers up to ${end}, an addressed message`);
}
