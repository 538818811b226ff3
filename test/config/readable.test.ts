// proves: src/config/load.ts, src/config/toml-document.ts, src/config/environment.ts
import assert from "node:assert/strict";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { loadConfig, loadReadableConfig, type ReadableConfig } from "../../src/config/load.ts";
import { errorOf, folderWith } from "./folder.ts";

function readable(
  t: TestContext,
  toml: string,
  more: { readonly dotEnv?: string; readonly env?: Readonly<Record<string, string>> } = {},
): ReadableConfig & { readonly folder: string } {
  const { dotEnv, env = {} } = more;
  const folder = folderWith(t, { "config.toml": toml, ...(dotEnv !== undefined && { ".env": dotEnv }) });
  return { folder, ...loadReadableConfig({ cwd: folder, env }) };
}

const PLACE = '[database]\ndata_dir = "elsewhere"\n';

test("a configuration that is right is the same", (t) => {
  const { folder, config, error } = readable(t, `${PLACE}[log]\nlevel = "debug"\n`);
  assert.equal(error, null);
  assert.deepEqual(config, loadConfig({ cwd: folder, env: {} }));
});

test("keys that are wrong have their defaults, and all else is as the file says", (t) => {
  const toml = `${PLACE}[log]\nlevel = "loud"\nfiles = 3\n[[agents]]\nid = "anna"\nmodle = "m"\n`;
  const { folder, config, error } = readable(t, toml);
  assert.equal(error?.problems.length, 2);
  assert.equal(config.database.dataDir, join(folder, "elsewhere"));
  assert.deepEqual([config.log.level, config.log.files], ["info", 3]);
  assert.deepEqual(
    config.agents.map(({ id }) => id),
    ["anna"],
  );
  assert.match(error.first, /^config\.toml:4:1 {2}log\.level: this value cannot be used; expected: /);
  const strict = errorOf(() => loadConfig({ cwd: folder, env: {} }));
  assert.equal(strict.message, error.message);
});

const broken: readonly (readonly [what: string, table: string])[] = [
  ["a text without its end", '[log]\nlevel = "debug\nfiles = 3\n'],
  ["a table without its end", "[log\nfiles = 3\n"],
  ["a list without its end", '[[agents]]\nid = "anna"\naliases = ["a",\n'],
  ["a key without a value", "[log]\nfiles =\n"],
  ["a key that stands there twice", "[log]\nfiles = 3\nfiles = 4\n"],
  ["words", "[log]\nwhat is this\n"],
];
for (const [what, table] of broken)
  test(`${what} costs its table, wherever the others stand`, (t) => {
    for (const toml of [`${PLACE}${table}`, `${table}[daemon]\ndrain_deadline_ms = 700\n${PLACE}`]) {
      // What a list without an end takes with it nobody can tell.
      if (what.startsWith("a list") && toml.endsWith(PLACE)) continue;
      const { folder, config, error } = readable(t, toml);
      assert.equal(error?.problems.length, 1, toml);
      assert.equal(config.database.dataDir, join(folder, "elsewhere"), toml);
      if (toml.includes("[daemon]")) assert.equal(config.daemon.drainDeadlineMs, 700);
    }
  });

test("where the database is must be readable: all that is wrong is said, and nothing is guessed", (t) => {
  const unknown: readonly (readonly [toml: string, dotEnv?: string])[] = [
    ['[database]\ndata_dir = "elsewhere\n'],
    ['[database\ndata_dir = "elsewhere"\n'],
    ['[databse]\ndata_dir = "elsewhere"\n'],
    ["[database]\ndata_dir = 7\n"],
    ['[database]\nurl = "env:WHERE_IT_IS"\n'],
    ["", "DATABASE_URL postgres://somewhere/else\n"],
    ['[database]\nurl = "env:WHERE_IT_IS"\n', 'WHERE_IT_IS="postgres://somewhere\n'],
    ['[[agents]]\nid = "a"\ninstructions = """never closed\n[database]\ndata_dir = "elsewhere"\n'],
    ['database.data_dir = "elsewhere"\nnonsense\n'],
  ];
  for (const [toml, dotEnv] of unknown) {
    const folder = folderWith(t, { "config.toml": toml, ...(dotEnv !== undefined && { ".env": dotEnv }) });
    const load = (): unknown => loadReadableConfig({ cwd: folder, env: {} });
    const strict = errorOf(() => loadConfig({ cwd: folder, env: {} }));
    assert.equal(errorOf(load).message, strict.message, toml);
  }
  const absent = folderWith(t, {});
  assert.match(
    errorOf(() => loadReadableConfig({ cwd: absent, file: "other.toml", env: {} })).message,
    /there is no such file/,
  );
});

test("a line of .env that cannot be read hides no other one", (t) => {
  const dotEnv = "DATABASE_URL=postgres://db/weir\nwhat is this\nOPENAI_API_KEY=sk-1\n";
  const { config, error } = readable(t, "", { dotEnv });
  assert.equal(error?.problems.length, 1);
  assert.deepEqual([config.database.url, config.llm.apiKey], ["postgres://db/weir", "sk-1"]);
  // The process has it.
  const env = { DATABASE_URL: "postgres://db/other" };
  const over = readable(t, "", { dotEnv: "DATABASE_URL postgres://db/weir\n", env });
  assert.equal(over.config.database.url, "postgres://db/other");
});
