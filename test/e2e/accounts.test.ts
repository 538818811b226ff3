// proves: src/store/database/embedded/server-account.ts
/** The embedded Postgres does not run as root, and nobody else gets into the data folder: as root, and as any other account. */
import assert from "node:assert/strict";
import { chmod, chown, mkdir, mkdtemp, realpath, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { test } from "node:test";
import { environment } from "../support/e2e.ts";
import { TestProcess } from "../support/process.ts";
import { endGuardian, startGuardian } from "../support/test-server.ts";

const MAIN = path.join(import.meta.dirname, "..", "..", "src", "main.ts");
const self = process.getuid?.() ?? 0;
/** Nobody's account, on most machines. */
const PLAIN = 65_534;

/** A folder of an account's, and `weir` run in it as that account. */
async function openHome(uid: number) {
  await using stack = new AsyncDisposableStack();
  const folder = await realpath(await mkdtemp(path.join(tmpdir(), "weir account ")));
  await chmod(folder, 0o755);
  if (uid !== self) await chown(folder, uid, uid);
  const dataDir = path.join(folder, "data");
  stack.defer(async () => rm(folder, { recursive: true, force: true }));
  const guardian = startGuardian(dataDir);
  stack.defer(async () => endGuardian(guardian));
  // The cache of a checkout's code belongs to who owns the checkout; the home of another account has its own.
  const codeCache = uid === self ? undefined : path.join(folder, "code");
  const env = environment({ OPENAI_BASE_URL: "http://127.0.0.1:9/v1", NODE_COMPILE_CACHE: codeCache });
  const account = uid === self ? {} : { uid, gid: uid };
  const kept = stack.move();
  return {
    dataDir,
    /** @returns its output, once it has ended well */
    run: async (...args: readonly string[]): Promise<string> => {
      await using running = new TestProcess(process.execPath, [MAIN, ...args], {
        cwd: folder,
        env,
        ...account,
      });
      const { code } = await running.finish();
      assert.equal(code, 0, running.stderr);
      return running.out.join("\n");
    },
    mode: async (name = "") => {
      const found = await stat(path.join(dataDir, name));
      return { mode: (found.mode & 0o777).toString(8), uid: found.uid };
    },
    [Symbol.asyncDispose]: async () => kept.disposeAsync(),
  };
}

const onlyAsRoot = { skip: self !== 0 && "only root runs Postgres as another account" };

test("a closed folder of root's that holds other things, too, stays root's", onlyAsRoot, async () => {
  await using home = await openHome(0);
  await mkdir(home.dataDir, { mode: 0o700 });
  await writeFile(path.join(home.dataDir, "letter.txt"), "");
  assert.match(await home.run("migrate"), /is up to date/);
  assert.deepEqual(await home.mode(), { mode: "700", uid: 0 });
  assert.match(await home.run("memories"), /Nothing is remembered yet/);
});

for (const [name, uid] of [
  ["root", 0],
  ["an ordinary account", self === 0 ? PLAIN : self],
] as const) {
  const skip = self !== 0 && self !== uid && "only root can act as another account";
  test(
    `${name} makes a data folder that is its own, and uses one that was open to all`,
    { skip },
    async () => {
      await using home = await openHome(uid);
      assert.match(await home.run("migrate"), /is up to date/);
      const { mode } = await home.mode();
      assert.equal(mode, "700");
      for (const file of ["lock", "postgres.log"]) assert.equal((await home.mode(file)).mode, "600", file);
      // Under root it is the account's that runs Postgres, which has to get through.
      const server = await home.mode("postgres");
      assert.equal(server.mode, "700");
      assert.equal((await home.mode()).uid, server.uid);
      assert.equal(server.uid === 0, false);

      // As earlier versions made it.
      await chmod(home.dataDir, 0o755);
      await chown(home.dataDir, uid, uid);
      await chmod(path.join(home.dataDir, "lock"), 0o644);
      assert.match(await home.run("migrate"), /is up to date/);
      assert.deepEqual(await home.mode(), { mode: "700", uid: server.uid });
      assert.equal((await home.mode("lock")).mode, "600");
      assert.match(await home.run("memories"), /Nothing is remembered yet/);
    },
  );
}
