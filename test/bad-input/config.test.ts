import assert from "node:assert/strict";
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import * as fc from "fast-check";
import { ConfigError } from "../../src/config/config-error.ts";
import { loadConfig } from "../../src/config/load.ts";
import { agentId } from "../../src/core/ids.ts";
import { loadPrompts, PromptError } from "../../src/prompts/load.ts";

const ROOT = join(import.meta.dirname, "..", "..");
const KEY = "sk-bad-input-5f1c7a9e3b";
const PASSWORD = "pw-bad-input-d84e02c6";
const ENV = { OPENAI_API_KEY: KEY, DATABASE_URL: `postgres://weir:${PASSWORD}@db.test/weir` };
const EXAMPLE = readFileSync(join(ROOT, "config.toml"));
/** At each of the shipped file's 20,000 bytes it takes half a minute on a busy machine, and most of them are of comments. */
const OPTIONS = Buffer.from(
  EXAMPLE.toString()
    .split("\n")
    .flatMap((line) => (/^#(?! )\S|^\[/.test(line) ? [line.replace(/^#/, "")] : []))
    .join("\n"),
);
/** Every kind of value that the file may have, with characters of several bytes. */
const RICH = `# Größe 日本
[llm]
base_url = "http://127.0.0.1:9/v1" # ü
api_key = "env:OPENAI_API_KEY"
max_retries = 2
[database]
url = "env:DATABASE_URL"
[defaults]
model = 'müller'
fallbacks = ["a", "b\\u0041"]
[defaults.compaction]
target = 0.5
enabled = true
[[agents]]
id = "main"
name = """
Wei"r"""
temperature = 0.5
`;

function folder(t: TestContext): string {
  const path = mkdtempSync(join(tmpdir(), "weir-bad-"));
  t.after(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

/** It loads, or says what is wrong and where, without a stack and without a secret. @returns whether it loads */
function loadsOrExplains(cwd: string): boolean {
  try {
    loadConfig({ cwd, env: ENV });
    return true;
  } catch (error) {
    assert.ok(error instanceof ConfigError, String(error instanceof Error ? error.stack : error));
    assert.ok(error.problems.length > 0);
    for (const { file, line, message } of error.problems) {
      assert.equal(file, "config.toml");
      assert.ok(line === null ? /bytes long|too deeply/.test(message) : line >= 1, message);
      assert.match(message, /\w/);
    }
    assert.doesNotMatch(error.message, /\n +at |node_modules|\bTypeError|undefined/);
    assert.ok(!error.message.includes(KEY) && !error.message.includes(PASSWORD));
    // oxlint-disable-next-line no-control-regex -- what a terminal obeys
    assert.doesNotMatch(error.message, /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/);
    return false;
  }
}

for (const [name, bytes, step] of [
  ["the shipped file", EXAMPLE, 7],
  ["the shipped file with every option on, without its sentences", OPTIONS, 1],
  ["a file with every kind of value", Buffer.from(RICH), 1],
] as const) {
  test(`${name}, cut off at any byte, is a configuration or an error with its line`, (t) => {
    const cwd = folder(t);
    let valid = 0;
    for (let length = 0; length <= bytes.length; length += step) {
      writeFileSync(join(cwd, "config.toml"), bytes.subarray(0, length));
      valid += Number(loadsOrExplains(cwd));
    }
    assert.ok(valid > 2);
  });
}

test("line ends of Windows and a byte order mark change nothing", (t) => {
  const cwd = folder(t);
  writeFileSync(join(cwd, "config.toml"), RICH);
  const plain = loadConfig({ cwd, env: ENV });
  for (const text of [
    RICH.replaceAll("\n", "\r\n"),
    `\uFEFF${RICH}`,
    `\uFEFF${RICH.replaceAll("\n", "\r\n")}`,
  ]) {
    writeFileSync(join(cwd, "config.toml"), text);
    assert.deepEqual(loadConfig({ cwd, env: ENV }).llm, plain.llm);
  }
});

test("a file with a byte changed, put in or left out is a configuration or an error with its line", (t) => {
  const cwd = folder(t);
  const bytes = [...Buffer.from(RICH)];
  const odd = fc.oneof(
    fc.constantFrom(0, 0x0d, 0x1b, 0x80, 0xff, 0xef, 0x22, 0x5b, 0x3d, 0x0a),
    fc.integer({ min: 0, max: 255 }),
  );
  fc.assert(
    fc.property(fc.nat({ max: bytes.length - 1 }), odd, fc.constantFrom(0, 1), (at, byte, removed) => {
      writeFileSync(join(cwd, "config.toml"), Buffer.from(bytes.toSpliced(at, removed, byte)));
      loadsOrExplains(cwd);
    }),
    { numRuns: 400, examples: [[1, 0x7f, 0]] },
  );
});

test("files that are no text, too deep or too long are errors with their line", (t) => {
  const cwd = folder(t);
  const files = [
    Buffer.of(0xff, 0xfe, 0x61, 0x00),
    Buffer.alloc(1000),
    Buffer.from(`a = ${"[".repeat(20_000)}`),
    Buffer.from(`a = ${"[".repeat(5000)}${"]".repeat(5000)}`),
    Buffer.from(`a = ${"{a=".repeat(5000)}1${"}".repeat(5000)}`),
    Buffer.from(`a = "${"x".repeat(900_000)}"`),
    Buffer.from(`${"x".repeat(900_000)} = 1`),
    Buffer.from(`${"a.".repeat(20_000)}a = 1`),
    Buffer.from(`a = "${"x".repeat(2_000_000)}"`),
    Buffer.from(`${"x".repeat(2_000_000)} = 1`),
    Buffer.from("[[agents]]\n".repeat(2000)),
  ];
  for (const [index, bytes] of files.entries()) {
    writeFileSync(join(cwd, "config.toml"), bytes);
    assert.equal(loadsOrExplains(cwd), false, `file ${index}`);
  }
});

test("a template that is cut off anywhere renders, or is an error that names it", (t) => {
  const dir = join(folder(t), "prompts");
  const shipped = join(ROOT, "prompts", "en");
  cpSync(shipped, dir, { recursive: true });
  const names = readdirSync(dir);
  for (const name of names) {
    const bytes = readFileSync(join(shipped, name));
    const step = Math.max(1, Math.ceil(bytes.length / 25));
    for (let length = 0; length < bytes.length; length += step) {
      writeFileSync(join(dir, name), bytes.subarray(0, length));
      try {
        const prompts = loadPrompts({ dir });
        assert.equal(
          typeof prompts.render(
            "system",
            { agentName: "Weir", instructions: "x", date: "2026-11-21", recall: "all" },
            agentId("main"),
          ),
          "string",
        );
      } catch (error) {
        assert.ok(error instanceof PromptError, String(error instanceof Error ? error.stack : error));
        assert.ok(
          error.problems.every((problem) => problem.startsWith(name)),
          error.message,
        );
        assert.doesNotMatch(error.message, /\n +at |node_modules|\bTypeError|undefined/);
      }
    }
    writeFileSync(join(dir, name), bytes);
  }
});
