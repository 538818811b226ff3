import assert from "node:assert/strict";
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { openTypedHistory } from "../../../src/cli/chat/typed-history.ts";
import type { Config } from "../../../src/config/config.ts";
import { loadConfig } from "../../../src/config/load.ts";

function configOf(context: TestContext, toml: string): Config {
  const cwd = mkdtempSync(join(tmpdir(), "weir-typed-"));
  context.after(() => rmSync(cwd, { recursive: true, force: true }));
  mkdirSync(join(cwd, "data"));
  writeFileSync(join(cwd, "config.toml"), toml);
  return loadConfig({ cwd, env: { OPENAI_API_KEY: "plainwordsasakey" } });
}

test("what is typed is kept without what looks like a secret, and without the keys of the configuration", (context) => {
  const config = configOf(context, "");
  const history = openTypedHistory(config);
  history?.add("the mill is old");
  history?.add("my password: hunter2!x9");
  history?.add("sk-abcdefghijklmnopqrstuvwx");
  history?.add("it is plainwordsasakey, really");
  assert.deepEqual(openTypedHistory(config)?.lines, ["the mill is old"]);
});

test("nothing is kept where the configuration says so", (context) => {
  const config = configOf(context, "[terminal]\nhistory = false\n");
  assert.equal(openTypedHistory(config), undefined);
  assert.equal(existsSync(join(config.database.dataDir, "history")), false);
});
