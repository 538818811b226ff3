// proves: ecosystem.config.cjs, src/main.ts, src/store/database/succession.ts
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { copyFile, cp, mkdir, readFile, rename, rm, symlink } from "node:fs/promises";
import path from "node:path";
import { after, test, type TestContext } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { z } from "zod";
import { environment, type Home, openHome, openSeed } from "../support/e2e.ts";
import { until } from "../support/patience.ts";
import { TestProcess } from "../support/process.ts";

const ROOT = path.join(import.meta.dirname, "..", "..");
const CACHE = path.join(ROOT, "node_modules", ".cache", "weir-pm2");
/** pm2 says so of each start, in its own log. */
const STARTS = "starting in -fork mode-";

const seed = await openSeed();
after(async () => seed[Symbol.asyncDispose]());

/**
 * Installs the pinned pm2 beside the project, once for each lock file. It is licensed under the AGPL: it is run as a program, and nothing
 * of it is imported.
 * @returns its program; null: it cannot be had, as without a network
 */
async function installPm2(): Promise<string | null> {
  const lock = await readFile(path.join(import.meta.dirname, "package-lock.json"), "utf8");
  const folder = path.join(CACHE, createHash("sha256").update(lock).digest("hex").slice(0, 12));
  const program = path.join(folder, "node_modules", "pm2", "bin", "pm2");
  if (existsSync(program)) return program;
  const unfinished = `${folder}.${process.pid}`;
  await mkdir(unfinished, { recursive: true });
  for (const name of ["package.json", "package-lock.json"])
    await copyFile(path.join(import.meta.dirname, name), path.join(unfinished, name));
  // Without a network it gives up at once.
  const args = ["ci", "--ignore-scripts", "--prefer-offline", "--fetch-retries=0", "--no-audit", "--no-fund"];
  await using npm = new TestProcess("npm", args, { cwd: unfinished, env: process.env });
  const code = await npm.finish().then(
    (ending) => ending.code,
    () => null,
  );
  if (code === 0) await rename(unfinished, folder).catch(() => undefined);
  await rm(unfinished, { recursive: true, force: true });
  return existsSync(program) ? program : null;
}

interface Managed extends AsyncDisposable {
  readonly home: Home;
  /** Starts `pm2 ARGS`. */
  readonly pm2: (...args: readonly string[]) => TestProcess;
  /** The log of pm2 itself. */
  pm2Log(): Promise<string>;
  /** What pm2 knows of Weir. */
  known(): Promise<z.output<typeof listed>[number]>;
}

const listed = z.array(
  z.object({
    pid: z.number().nullish(),
    pm2_env: z.object({ status: z.string(), restart_time: z.number(), exit_code: z.number().optional() }),
  }),
);

async function openManaged(t: TestContext, config: string): Promise<Managed | null> {
  const program = await installPm2();
  if (program === null) {
    t.skip("pm2 could not be installed: npm ci in test/pm2 failed, as it does without a network.");
    return null;
  }
  await using stack = new AsyncDisposableStack();
  const home = stack.use(await openHome({ modelUrl: "http://127.0.0.1:9/v1", config, seed }));
  const { folder } = home;
  for (const name of ["src", "scripts", "node_modules"])
    await symlink(path.join(ROOT, name), path.join(folder, name));
  for (const name of ["package.json", "ecosystem.config.cjs"])
    await cp(path.join(ROOT, name), path.join(folder, name));
  const env = environment({
    PM2_HOME: path.join(folder, "pm2"),
    OPENAI_BASE_URL: "http://127.0.0.1:9/v1",
    OPENAI_API_KEY: "sk-e2e-secret",
  });
  const pm2 = (...args: readonly string[]): TestProcess =>
    new TestProcess(process.execPath, [program, ...args], { cwd: folder, env });
  stack.defer(async () => {
    await using killing = pm2("kill");
    await killing.finish();
    for (const pid of await daemonsOf(home)) process.kill(pid, "SIGKILL");
  });
  const kept = stack.move();
  return {
    home,
    pm2,
    pm2Log: async () => readFile(path.join(folder, "pm2", "pm2.log"), "utf8").catch(() => ""),
    async known() {
      await using listing = pm2("jlist");
      await listing.finish();
      const [one] = listed.parse(JSON.parse(listing.out.findLast((line) => line.startsWith("[")) ?? ""));
      assert.ok(one !== undefined, listing.out.join("\n"));
      return one;
    },
    [Symbol.asyncDispose]: async () => kept.disposeAsync(),
  };
}

/** The daemons of a folder that live, whether pm2 knows them or not. */
async function daemonsOf({ folder }: Home): Promise<number[]> {
  await using listing = new TestProcess("ps", ["-A", "-o", "pid=,args="], { cwd: "/", env: process.env });
  await listing.finish();
  const mine = listing.out.filter((line) => line.includes(path.join(folder, "src", "main.ts")));
  return mine.map((line) => Number.parseInt(line, 10));
}

test("under pm2, a wrong configuration is tried once, and its exit code says so", async (t) => {
  await using managed = await openManaged(t, "[log]\nlevel = 3\n");
  if (managed === null) return;
  await using starting = managed.pm2("start", "ecosystem.config.cjs");
  await starting.finish();
  await until("its end", async () => (await managed.pm2Log()).includes("exited with code"));
  assert.match(await managed.pm2Log(), /exited with code \[78\]/);
  // It would have been tried again after 0.2 s.
  await delay(1500);
  const { pm2_env: known } = await managed.known();
  assert.deepEqual([known.status, known.restart_time, known.exit_code], ["stopped", 0, 78]);
  assert.equal((await managed.pm2Log()).split(STARTS).length - 1, 1);
});

test("under pm2, restarts during a launch leave one daemon, the one that pm2 knows", async (t) => {
  await using managed = await openManaged(t, "");
  if (managed === null) return;
  const { home, pm2 } = managed;
  await using starting = pm2("start", "ecosystem.config.cjs");
  await until("a launch", async () => (await managed.pm2Log()).includes(STARTS));
  await using first = pm2("restart", "weir");
  await using second = pm2("restart", "weir");
  for (const one of [starting, first, second]) await one.finish();
  let last: unknown;
  await until("one daemon", async () => {
    const [{ pid, pm2_env: known }, daemons] = [await managed.known(), await daemonsOf(home)];
    last = { pid, status: known.status, daemons };
    return known.status === "online" && daemons.length === 1 && daemons[0] === pid;
  }).catch((error: unknown) => {
    throw new Error(`not one daemon: ${JSON.stringify(last)}`, { cause: error });
  });
  await until("it serves", async () =>
    (await home.run("status")).out.join("\n").includes(`process ${(await managed.known()).pid}`),
  );
});
