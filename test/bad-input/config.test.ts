import assert from "node:assert/strict";
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import * as fc from "fast-check";
import { ConfigError } from "../../src/config/config-error.ts";
import { loadConfig } from "../../src/config/load.ts";
import { agentId } from "../../src/core/ids.ts";
import { rulesOf, TEMPLATE_NAMES } from "../../src/prompts/catalogue.ts";
import { loadPrompts, PromptError } from "../../src/prompts/load.ts";
import { compileTemplate } from "../../src/prompts/template.ts";

const ROOT = join(import.meta.dirname, "..", "..");
const KEY = "sk-bad-input-5f1c7a9e3b";
const PASSWORD = "pw-bad-input-d84e02c6";
const ENV = { OPENAI_API_KEY: KEY, DATABASE_URL: `postgres://weir:${PASSWORD}@db.test/weir` };
const SHIPPED = join(ROOT, "prompts", "en");
const EXAMPLE = readFileSync(join(ROOT, "config.toml"));
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

/** Each byte of a file costs a millisecond: of a long one these are the places where something begins or ends, and some between. */
function cutsOf(bytes: Buffer): number[] {
  const isBorder = (length: number): boolean =>
    ["\n", "="].some((end) => bytes[length - 1] === end.charCodeAt(0));
  const lengths = Array.from({ length: bytes.length + 1 }, (_, length) => length);
  return lengths.filter((length) => length % 13 === 0 || isBorder(length));
}

for (const [name, bytes, cuts] of [
  ["the shipped file", EXAMPLE, Array.from({ length: EXAMPLE.length / 53 }, (_, index) => index * 53)],
  ["the shipped file with every option on, without its sentences", OPTIONS, cutsOf(OPTIONS)],
  ["a file with every kind of value", Buffer.from(RICH), [...Buffer.from(RICH).keys()]],
] as const) {
  test(`${name}, cut off anywhere, is a configuration or an error with its line`, (t) => {
    const cwd = folder(t);
    let valid = 0;
    for (const length of [...cuts, bytes.length]) {
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

test("a template that is cut off anywhere renders, or is an error in words", () => {
  for (const name of TEMPLATE_NAMES) {
    const bytes = readFileSync(join(SHIPPED, `${name}.md.j2`));
    for (let length = 0; length < bytes.length; length += 37) {
      const outcome = compileTemplate(bytes.subarray(0, length).toString(), rulesOf(name));
      const problems = "problems" in outcome ? outcome.problems.map(({ message }) => message) : [];
      assert.doesNotMatch(problems.join("\n"), /\n +at |node_modules|\bTypeError|undefined/);
    }
  }
});

test("a folder with a template that is cut off is read, or is an error that names the template", (t) => {
  const dir = join(folder(t), "prompts");
  cpSync(SHIPPED, dir, { recursive: true });
  for (const name of readdirSync(dir)) {
    const bytes = readFileSync(join(SHIPPED, name));
    for (const part of [0, 0.4, 0.8]) {
      writeFileSync(join(dir, name), bytes.subarray(0, bytes.length * part));
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
