// proves: src/files/installation.ts
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { cpSync, existsSync, globSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import { z } from "zod";
import { asJavaScript } from "../../scripts/package.ts";
import { environment, openHome, openSeed } from "../support/e2e.ts";
import { text } from "../support/model-behaviours.ts";
import { startModelServer } from "../support/model-server.ts";
import { TestProcess } from "../support/process.ts";
import { skipUnlessSetUp } from "../support/set-up.ts";

const ROOT = path.join(import.meta.dirname, "..", "..");
const run = promisify(execFile);
const manifest = z.looseObject({
  version: z.string(),
  dependencies: z.record(z.string(), z.string()),
  peerDependencies: z.record(z.string(), z.string()),
});
const outputLine = z.object({ type: z.string() });

/** What git has, as a clone: the package is made there, beside nobody. */
function cloneInto(folder: string): string {
  const clone = path.join(folder, "clone");
  const { files } = z
    .object({ files: z.array(z.string()) })
    .parse(JSON.parse(readFileSync(path.join(ROOT, "package.json"), "utf8")));
  const parts = [
    ...files.filter((file) => !file.startsWith("!")).map((file) => file.split("/")[0] ?? ""),
    "package.json",
    "package-lock.json",
    "scripts",
  ];
  mkdirSync(clone);
  for (const part of new Set(parts))
    cpSync(path.join(ROOT, part), path.join(clone, part), { recursive: true });
  symlinkSync(path.join(ROOT, "node_modules"), path.join(clone, "node_modules"));
  return clone;
}

/** Installed as npm does it by default, but for the packages it needs: no registry is in reach, so the clone lends its own. */
async function installInto(prefix: string, archive: string, env: NodeJS.ProcessEnv): Promise<string> {
  const unpacked = path.join(prefix, "unpacked");
  mkdirSync(unpacked, { recursive: true });
  await run("tar", ["-xzf", archive, "-C", unpacked]);
  const folder = path.join(unpacked, "package");
  const file = path.join(folder, "package.json");
  const {
    dependencies: _,
    peerDependencies: _peers,
    ...rest
  } = manifest.parse(JSON.parse(readFileSync(file, "utf8")));
  writeFileSync(file, JSON.stringify(rest));
  const words = ["install", "-g", "--prefix", prefix, "--install-links", "--offline", "--no-audit", folder];
  await run("npm", words, { env, cwd: prefix });
  const installed = path.join(prefix, "lib", "node_modules", "@weir-bot", "weir");
  symlinkSync(path.join(ROOT, "node_modules"), path.join(installed, "node_modules"));
  return installed;
}

test(
  "packed and installed, weir is a command: it finds its home, serves, chats and says what to type",
  { skip: skipUnlessSetUp },
  async () => {
    await using model = await startModelServer();
    await using seed = await openSeed();
    await using home = await openHome({ modelUrl: model.url, seed });
    const clone = cloneInto(home.folder);
    const account = path.join(home.folder, "account");
    mkdirSync(account);
    const env = environment({
      HOME: account,
      npm_config_cache: path.join(home.folder, "cache"),
      OPENAI_BASE_URL: model.url,
      OPENAI_API_KEY: "sk-none",
    });
    const { stdout: packed } = await run("npm", ["pack", "--silent"], { cwd: clone, env });
    assert.deepEqual(globSync("src/**/*.js", { cwd: clone }), []);

    const prefix = path.join(home.folder, "prefix");
    const installed = await installInto(prefix, path.join(clone, packed.trim()), env);
    assert.deepEqual(globSync("src/**/*.ts", { cwd: installed }), []);
    // Data beside the code as well.
    const data = globSync("src/**/*.*", { cwd: ROOT, exclude: ["**/*.ts", "**/*.js"] });
    assert.deepEqual(
      data.filter((file) => !existsSync(path.join(installed, file))),
      [],
    );
    assertDeclared(installed);

    const weir = path.join(prefix, "bin", "weir");
    const { version } = manifest.parse(JSON.parse(readFileSync(path.join(ROOT, "package.json"), "utf8")));
    assert.equal((await run(weir, ["--version"], { cwd: account, env })).stdout, `${version}\n`);
    const checked = await run(weir, ["config", "check"], { cwd: account, env });
    assert.ok(checked.stdout.includes(path.join(account, ".weir", "data")), checked.stdout);
    await assert.rejects(
      run(weir, ["status"], { cwd: account, env }),
      /yet: the first `weir start` makes it/,
    );

    const options = { cwd: account, env: { ...env, WEIR_HOME: home.folder } };
    await using daemon = new TestProcess(weir, ["start"], options);
    assert.ok((await daemon.line("ready")).includes(`home ${home.folder};`));
    model.reply(text("Good morning."));
    await using chat = new TestProcess(weir, ["chat", "--jsonl"], options);
    chat.write(`${JSON.stringify({ author: "Ann", text: "good morning", id: "m1", channel: "room" })}\n`);
    assert.deepEqual(await chat.finish(), { code: 0, signal: null });
    assert.deepEqual(
      chat.out.map((line) => outputLine.parse(JSON.parse(line)).type),
      ["accepted", "reply"],
    );
    daemon.signal("SIGTERM");
    assert.deepEqual(await daemon.ended, { code: 0, signal: null });

    // A clone runs its source, also by npx.
    const ofClone = await run("npx", ["--offline", ".", "config", "check"], { cwd: clone, env });
    assert.ok(ofClone.stdout.includes(path.join(clone, "data")), ofClone.stdout);
  },
);

/** Each package that the code imports is one that npm installs with it, or that an operator may add. */
function assertDeclared(installed: string): void {
  const { dependencies, peerDependencies } = manifest.parse(
    JSON.parse(readFileSync(path.join(ROOT, "package.json"), "utf8")),
  );
  const declared = new Set([...Object.keys(dependencies), ...Object.keys(peerDependencies)]);
  const IMPORT = /^[^"\n]*\bfrom "([^".][^"]*)";$|\bimport\("([^".][^"]*)"\)/gm;
  const imported = globSync("src/**/*.js", { cwd: installed }).flatMap((file) =>
    [...readFileSync(path.join(installed, file), "utf8").matchAll(IMPORT)].map(
      (match) => match[1] ?? match[2] ?? "",
    ),
  );
  const packages = imported
    .filter((name) => !name.startsWith("node:"))
    .map((name) =>
      name
        .split("/")
        .slice(0, name.startsWith("@") ? 2 : 1)
        .join("/"),
    );
  assert.ok(packages.includes("discord.js") && packages.includes("pg"));
  assert.deepEqual(
    packages.filter((name) => !declared.has(name)),
    [],
  );
}

test("the names of source files become those of the package, and types go", () => {
  const written = asJavaScript(
    [
      'import { a } from "./a.ts";',
      'import type { B } from "./b.ts";',
      'export * from "../é/c.ts";',
      'const worker: URL = new URL("./worker.ts", import.meta.url);',
      'const late = await import("./late.ts");',
    ].join("\n"),
    "src/x.ts",
  );
  assert.deepEqual(
    written.split("\n").map((line) => line.replaceAll(/\s+/g, " ").trim()),
    [
      'import { a } from "./a.js";',
      "",
      'export * from "../é/c.js";',
      'const worker = new URL("./worker.js", import.meta.url);',
      'const late = await import("./late.js");',
    ],
  );
  assert.throws(() => asJavaScript('join(folder, "worker.ts");', "src/x.ts"), /src\/x\.ts: "worker\.ts"/);
  assert.throws(() => asJavaScript("import(`./${name}.ts`);", "src/x.ts"), /no relative name/);
});

test("an old Node is refused in a sentence", async () => {
  const file = path.join(ROOT, "bin", "weir.cjs");
  // What a Node before ES2015 cannot read.
  assert.doesNotMatch(
    readFileSync(file, "utf8").replaceAll(/\/\*[\s\S]*?\*\//g, ""),
    /\b(?:const|let|import|class)\b|=>|\.\.\.|\$\{/,
  );
  const old = 'Object.defineProperty(process, "versions", { value: { node: "18.20.0" } });';
  const shim = `data:text/javascript,${encodeURIComponent(old)}`;
  await assert.rejects(
    run(process.execPath, ["--import", shim, file, "--version"], { env: environment() }),
    (error: Error & { stderr?: string }) =>
      /^Weir needs Node 20 or newer; this is v[\d.]+\.\n$/.test(error.stderr ?? ""),
  );
});
