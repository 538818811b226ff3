// proves: src/config/changes.ts, src/config/schema-walk.ts
import assert from "node:assert/strict";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { changesBetween, takeUp } from "../../src/config/changes.ts";
import type { Config } from "../../src/config/config.ts";
import { isForStart, leafPaths } from "../../src/config/schema-walk.ts";
import { configFrom } from "./folder.ts";

const ENV = {
  DISCORD_TOKEN: "discord-token",
  SLACK_BOT_TOKEN: "slack-bot",
  SLACK_APP_TOKEN: "slack-app",
  SLACK_SIGNING_SECRET: "slack-signing",
  OPENAI_API_KEY: "a-key",
  DATABASE_URL: "postgres://one/db",
};

/** Each in a folder of its own, which is no change. */
function read(t: TestContext, toml: string, env = {}): Config {
  const config = configFrom(t, toml, { ...ENV, ...env });
  const database = {
    ...config.database,
    dataDir: config.database.dataDir.endsWith("/data") ? "/data" : "/other",
  };
  return { ...config, database, agentsDir: join("/", "agents") };
}

/** What a text, or a variable, changes in the built-in defaults. */
const LIVE: Readonly<Record<string, string>> = {
  '[log]\nlevel = "debug"': "log.level",
  "[llm]\nmax_retries = 5": "llm.max_retries",
  '[platforms.discord]\ndm = "off"': "platforms.discord.dm",
  '[platforms.discord]\nowners = ["1"]': "platforms.discord.owners",
  '[platforms.slack]\nowner_roles = ["ops"]': "platforms.slack.owner_roles",
  '[[bindings]]\nagent = "main"\nplatform = "slack"': "bindings",
  "[defaults.compaction]\ntarget = 0.3": "agents.main.compaction.target",
  '[defaults]\nmodel = "other"\ncompactor_model = "auto"': "agents.main.model",
  "[defaults.budget]\ntokens = 5": "agents.main.budget.tokens",
  '[defaults.approvals]\ntools = { note = "always" }': "agents.main.approvals.tools",
  '[[agents]]\nid = "main"\n[[agents.mcp]]\nname = "kit"\ncommand = "true"': "agents.main.mcp",
  '[[agents]]\nid = "main"\n[[agents]]\nid = "second"': "agents.second",
  '[models."m.1"]\nprice_in = 1\nprice_out = 2': 'models."m.1"',
};
const AT_START: Readonly<Record<string, string>> = {
  '[database]\ndata_dir = "./elsewhere"': "database.data_dir",
  "[daemon]\nmax_compactions = 2": "daemon.max_compactions",
  "[llm]\nidle_timeout_ms = 5": "llm.idle_timeout_ms",
  '[llm]\nbase_url = "http://127.0.0.1:1/v1"': "llm.base_url",
  '[http]\nhosts = ["weir.internal"]\nlisten = "127.0.0.1:1"': "http.listen",
  '[platforms.discord]\napi_url = "http://127.0.0.1:1"': "platforms.discord.api_url",
  '[platforms.slack]\nmode = "http"': "platforms.slack.mode",
  "[platforms.slack]\ncatch_up_max_age_ms = 1": "platforms.slack.catch_up_max_age_ms",
  '[platforms.loopback]\nurl = "http://127.0.0.1:1"': "platforms.loopback.url",
};

test("what a running Weir can change is told by its key, and it takes it up", (t) => {
  const started = read(t, "");
  for (const [toml, key] of Object.entries(LIVE)) {
    const next = read(t, toml);
    const taken = takeUp(started, next);
    const { live } = changesBetween(started, taken);
    assert.ok(live.includes(key), `${toml}: ${live.join(", ")}`);
    assert.deepEqual(changesBetween(taken, next), { live: [], atStart: [] }, toml);
  }
});

test("what only a start can change is told as that, and everything else in the file is taken up", (t) => {
  const started = read(t, "");
  for (const [toml, key] of Object.entries(AT_START)) {
    const next = read(t, toml);
    const taken = takeUp(started, next);
    assert.deepEqual(changesBetween(started, taken).live, [], toml);
    const { atStart } = changesBetween(taken, next);
    assert.ok(atStart.includes(key), `${toml}: ${atStart.join(", ")}`);
    assert.deepEqual({ ...taken, file: null }, { ...started, file: null }, toml);
  }
});

test("a token that is new, other or gone waits, and no list of people is widened meanwhile", (t) => {
  const people = '[platforms.discord]\ndm = "allowlist"\nallow = ["1"]\n';
  const started = read(t, people);
  const other = read(t, people, { DISCORD_TOKEN: "another" });
  assert.deepEqual(changesBetween(takeUp(started, other), other).atStart, ["platforms.discord.token"]);
  const gone = read(t, people, { DISCORD_TOKEN: "" });
  const { discord } = takeUp(started, gone).platforms;
  assert.deepEqual(discord, started.platforms.discord);
  assert.deepEqual(changesBetween(takeUp(started, gone), gone).atStart, ["platforms.discord.token"]);
  const fresh = takeUp(gone, started);
  assert.equal(fresh.platforms.discord, null);
  assert.deepEqual(changesBetween(fresh, started), { live: [], atStart: ["platforms.discord.token"] });
});

test("no value is told, and the mark of the schema is on each key that takeUp keeps", (t) => {
  const kept = leafPaths()
    .filter((path) => isForStart(path))
    .map((path) => path.join("."));
  assert.ok(kept.includes("platforms.discord.token") && kept.includes("models.NAME.cache_markers"));
  assert.ok(!kept.some((key) => /^(?:agents|bindings|defaults|log|prompts)/.test(key)), kept.join(" "));
  const secret = read(t, "", { OPENAI_API_KEY: "sk-planted-secret" });
  assert.doesNotMatch(JSON.stringify(changesBetween(read(t, ""), secret)), /planted/);
});
