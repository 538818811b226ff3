// proves: src/cli/demo.ts, src/cli/demo/performance.ts
import assert from "node:assert/strict";
import { chmod, mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import process from "node:process";
import { test } from "node:test";
import { environment } from "../support/e2e.ts";
import { TestProcess } from "../support/process.ts";

const MAIN = path.join(import.meta.dirname, "..", "..", "src", "main.ts");

interface Started extends AsyncDisposable {
  readonly demo: TestProcess;
  /** What the demo has left among the temporary files, and in the folder in which it was started. */
  left(): Promise<string[]>;
}

/** Starts it where an operator has a configuration that no Weir could run with. */
async function startDemo(...args: readonly string[]): Promise<Started> {
  const folder = await mkdtemp(path.join(tmpdir(), "demo-"));
  // As root, the server runs as another account, which needs access.
  await chmod(folder, 0o755);
  const [cwd, temporary] = [path.join(folder, "home"), path.join(folder, "tmp")];
  for (const one of [cwd, temporary]) await mkdir(one);
  await writeFile(path.join(cwd, "config.toml"), "this is no TOML");
  const env = environment({
    TMPDIR: temporary,
    DATABASE_URL: "postgres://nobody@127.0.0.1:9/nothing",
    OPENAI_BASE_URL: "http://127.0.0.1:9/v1",
    OPENAI_API_KEY: "sk-unused",
  });
  const demo = new TestProcess(process.execPath, [MAIN, "demo", ...args], { cwd, env });
  return {
    demo,
    async left() {
      const found = await Promise.all([temporary, cwd].map(async (one) => readdir(one)));
      return found.flat().filter((name) => name !== "config.toml");
    },
    async [Symbol.asyncDispose]() {
      await demo[Symbol.asyncDispose]();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

test("the demo fills the window, summarises, heals an emergency, finds the beginning, and leaves nothing", async () => {
  await using started = await startDemo("--speed", "max");
  const { demo } = started;
  assert.deepEqual(await demo.finish(), { code: 0, signal: null }, demo.stderr);
  const out = demo.out.join("\n");
  assert.match(out, /^ {2}http:\/\/weir-[\da-f]{20}\.localhost:\d+\/#[\w-]{43}$/m);
  assert.match(out, /\[\d+ %: \d+ old messages are being summarised; the channel goes on answering\]/);
  assert.match(out, /\[\d+ messages summarised: [\d,]+ tokens became \d+, .*; now \d+ %\]/);
  assert.match(out, /\[\d+ %: \d+ old messages leave the view now, without a model; the log keeps them\]/);
  assert.match(out, /\[healed: \d+ messages /);
  assert.match(out, /\[older summaries merged: /);
  const answer = out.slice(out.lastIndexOf("@weir "));
  assert.match(answer, /^weir .*\n +> .*code 4719$/m);
  assert.match(answer, /^The last answer quotes a message of 2026-03-02, which left the view long ago\.$/m);
  assert.match(answer, /^ +messages +400 said, 0 lost\n +answers +20 of 20, longest wait /m);
  assert.match(answer, /weir (?:-- )?init/);
  assert.deepEqual(await started.left(), []);
});

test("Ctrl-C in the middle of the demo leaves nothing", async () => {
  await using started = await startDemo();
  const { demo } = started;
  await demo.line("ben   great");
  demo.signal("SIGINT");
  assert.deepEqual(await demo.finish(), { code: 0, signal: null }, demo.stderr);
  assert.match(demo.out.join("\n"), /^Stopped\. Nothing of this is left on this machine\.$/m);
  assert.deepEqual(await started.left(), []);
});
