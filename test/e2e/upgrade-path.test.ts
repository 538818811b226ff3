// proves: src/cli/upgrade.ts
/** The steps of docs/upgrade.md, in a clone of a repository that has a newer version, on a home beside it. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { appendFileSync, cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import { readKnownVersion } from "../../src/store/database/migrate.ts";
import { environment, openHome, openSeed } from "../support/e2e.ts";
import { TestProcess } from "../support/process.ts";
import { skipUnlessSetUp } from "../support/set-up.ts";

const ROOT = path.join(import.meta.dirname, "..", "..");
const PARTS = [
  "package.json",
  "package-lock.json",
  ".gitignore",
  "scripts",
  "src",
  "migrations",
  "prompts",
  "config.toml",
];
const run = promisify(execFile);

const [, steps = ""] =
  /```sh\n([\s\S]*?)```/.exec(readFileSync(path.join(ROOT, "docs", "upgrade.md"), "utf8")) ?? [];
const commands = steps
  .split("\n")
  .map((line) => line.replace(/\s+#.*$/, ""))
  .filter((line) => line !== "");

async function git(cwd: string, ...words: readonly string[]): Promise<string> {
  const identity = [
    "-c",
    "user.name=Weir",
    "-c",
    "user.email=weir@example.org",
    "-c",
    "commit.gpgsign=false",
  ];
  const { stdout } = await run("git", [...identity, ...words], { cwd, env: environment() });
  return stdout;
}

test(
  "the steps of the page upgrade a clone and touch nothing of the home",
  { skip: skipUnlessSetUp },
  async () => {
    await using seed = await openSeed();
    await using home = await openHome({
      modelUrl: "http://127.0.0.1:9/v1",
      config: "[log]\nlevel = 'info'\n",
      seed,
    });
    const origin = path.join(home.folder, "origin");
    const clone = path.join(home.folder, "clone");
    mkdirSync(origin);
    for (const part of PARTS) cpSync(path.join(ROOT, part), path.join(origin, part), { recursive: true });
    await git(origin, "init", "-q", "-b", "main");
    await git(origin, "add", "-A");
    await git(origin, "commit", "-qm", "a version");
    await git(home.folder, "clone", "-q", origin, clone);
    symlinkSync(path.join(ROOT, "node_modules"), path.join(clone, "node_modules"));
    const next = `${String((await readKnownVersion()) + 1).padStart(4, "0")}_next.sql`;
    writeFileSync(path.join(origin, "migrations", next), "alter table channels add column newer text;\n");
    appendFileSync(path.join(origin, "config.toml"), "\n# One option more.\n");
    await git(origin, "add", "-A");
    await git(origin, "commit", "-qm", "the next version");

    const env = environment({ OPENAI_BASE_URL: "http://127.0.0.1:9/v1", OPENAI_API_KEY: "sk-none" });
    const before = readFileSync(path.join(home.folder, "config.toml"), "utf8");
    const outputs: string[] = [];
    assert.match(commands[0] ?? "", /^export WEIR_HOME=/);
    for (const command of commands.slice(1).filter((line) => !line.startsWith("npx pm2"))) {
      const options = { cwd: clone, env: { ...env, WEIR_HOME: home.folder } };
      outputs.push((await run("sh", ["-c", command], options)).stdout);
    }
    assert.equal(outputs.length, 4);
    assert.match(
      outputs.at(-1) ?? "",
      new RegExp(`\\? database: the next start applies 1 migration: ${next}\n`),
    );
    assert.match(outputs.at(-1) ?? "", /✓ configuration: .*config\.toml\n/);
    assert.equal((await git(clone, "status", "--porcelain", "--untracked-files=no")).trim(), "");

    await using daemon = new TestProcess(process.execPath, ["src/main.ts", "start"], {
      cwd: clone,
      env: { ...env, WEIR_HOME: home.folder },
    });
    await daemon.line("ready");
    daemon.signal("SIGTERM");
    assert.equal((await daemon.ended).code, 0);
    assert.equal(readFileSync(path.join(home.folder, "config.toml"), "utf8"), before);
  },
);
