import assert from "node:assert/strict";
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { test } from "node:test";
import { TestProcess } from "../support/process.ts";

const SCRIPT = path.join(import.meta.dirname, "..", "..", "scripts", "setup.mjs");

/** An npm that begins, and where it is told to end, says `cleaned` only after it has taken back what it did. */
const SLOW_NPM = `#!/bin/sh
trap 'sleep 0.5; echo cleaned >> npm.log; exit 130' TERM
echo began >> npm.log
while :; do sleep 0.05; done
`;

async function openCheckout(npm: string) {
  const folder = await mkdtemp(path.join(tmpdir(), "weir-setup-"));
  await mkdir(path.join(folder, "scripts"));
  await mkdir(path.join(folder, "bin"));
  await cp(SCRIPT, path.join(folder, "scripts", "setup.mjs"));
  await writeFile(
    path.join(folder, "package.json"),
    JSON.stringify({ dependencies: { here: "1.0.0", gone: "1.0.0" }, devDependencies: {} }),
  );
  await writeFile(path.join(folder, "package-lock.json"), "{}");
  await writeFile(path.join(folder, "bin", "npm"), npm, { mode: 0o755 });
  return {
    folder,
    setUp: () =>
      new TestProcess(process.execPath, [path.join(folder, "scripts", "setup.mjs")], {
        cwd: folder,
        env: { PATH: `${path.join(folder, "bin")}:/usr/bin:/bin` },
      }),
    npmLog: () => readFile(path.join(folder, "npm.log"), "utf8").catch(() => ""),
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }),
  };
}

test("an interrupted installation ends after its npm, so that the next one keeps its packages", async () => {
  await using checkout = await openCheckout(SLOW_NPM);
  await using setup = checkout.setUp();
  while ((await checkout.npmLog()) === "") await new Promise((resolve) => setTimeout(resolve, 10));
  setup.signal("SIGTERM");
  assert.deepEqual(await setup.ended, { code: 130, signal: null });
  assert.equal(await checkout.npmLog(), "began\ncleaned\n");
});

test("an installation that lacks packages is said to be unfinished, and is not taken for done", async () => {
  const npm = "#!/bin/sh\nmkdir -p node_modules/here && echo '{}' > node_modules/here/package.json\n";
  await using checkout = await openCheckout(npm);
  for (let attempt = 1; attempt <= 2; attempt += 1) {
    await using setup = checkout.setUp();
    assert.deepEqual(await setup.ended, { code: 1, signal: null });
    assert.match(setup.stderr, /these packages are missing: gone\. Run the same command again/);
  }
});
