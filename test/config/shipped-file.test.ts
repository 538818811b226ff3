import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test, type TestContext } from "node:test";
import { loadConfig } from "../../src/config/load.ts";
import { leafPaths } from "../../src/config/schema-walk.ts";
import { parseToml } from "../../src/config/toml-document.ts";
import { valueAt, type KeyPath } from "../../src/config/value-tree.ts";
import { configFrom, folderWith } from "./folder.ts";

const shipped = readFileSync(join(import.meta.dirname, "../../config.toml"), "utf8");
/** An option that is switched off is `#name = …`, or `#[[agents]]`; a sentence is `# …`. */
const uncommented = shipped.replaceAll(/^#(?=\S)/gm, "");

// All must be set, since the file with every option switched on names them.
const env = {
  OPENAI_API_KEY: "key",
  OPENAI_BASE_URL: "http://127.0.0.1:1/v1",
  EMBEDDINGS_API_KEY: "key",
  TRANSCRIPTION_API_KEY: "key",
  EMBEDDINGS_BASE_URL: "http://127.0.0.1:1/v1",
  TRANSCRIPTION_BASE_URL: "http://127.0.0.1:1/v1",
  DATABASE_URL: "postgres://h/d",
  WEIR_HTTP_TOKEN: "a-token-of-some-length",
};

function settings(t: TestContext, toml: string): unknown {
  const cwd = folderWith(t, {});
  const { file, home: _home, database, agentsDir, agents, ...others } = configFrom(t, toml, env);
  // The schedule and the prompt that are shown are examples: by default there are none.
  const unscheduled = agents.map((agent) => ({ ...agent, schedules: [], suggestedPrompts: [] }));
  // So are the model of which something may be said, and the server.
  const models = others.llm.models.filter(({ name }) => name !== "NAME");
  const servers = others.llm.servers.filter(({ name }) => name !== "NAME");
  const rest = { ...others, agents: unscheduled, llm: { ...others.llm, models, servers } };
  const { file: none, home: _own, database: own, agentsDir: besides, ...defaults } = loadConfig({ cwd, env });
  assert.ok(file !== null && none === null);
  assert.equal(database.dataDir.slice(file.length - "config.toml".length), "data");
  assert.equal(agentsDir, join(dirname(file), "agents"));
  assert.equal(besides, join(cwd, "agents"));
  assert.equal(database.url, own.url);
  assert.deepEqual(rest, defaults);
  return rest;
}

test("config.toml as it is shipped changes nothing", (t) => {
  settings(t, shipped);
});

test("config.toml with every option switched on is the built-in defaults", (t) => {
  assert.notEqual(uncommented, shipped);
  settings(t, uncommented);
});

test("config.toml has every key there is", () => {
  const parsed = parseToml(uncommented, "config.toml", () => true);
  assert.ok("value" in parsed);
  const has = (path: KeyPath): boolean => valueAt(parsed.value.value, path) !== undefined;
  const missing = leafPaths().filter((path) => {
    // What an agent may override stands in [defaults].
    const isInherited = path[0] === "agents" && has(["defaults", ...path.slice(2)]);
    // A server has no default; the page of the configuration has its keys.
    const isServer = path[0] === "agents" && path[2] === "mcp" && shipped.includes("[[agents.mcp]]");
    return !has(path) && !isInherited && !isServer;
  });
  assert.deepEqual(missing, []);
});

test("every option of config.toml has a comment in front of it", () => {
  const lines = shipped.split("\n");
  const alone = lines.filter((line, index) => {
    if (!/^#\S.*=/.test(line)) return false;
    const before = lines[index - 1] ?? "";
    return !before.startsWith("# ") && !/^#\S.*=/.test(before);
  });
  assert.deepEqual(alone, []);
});
