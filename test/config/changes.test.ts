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
  AMQP_URL: "amqp://127.0.0.1:1",
  EMBEDDINGS_API_KEY: "vectors-key",
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
  "[retention]\nimage_days = 5": "retention.image_days",
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
    assert.deepEqual({ ...taken, file: null, home: "" }, { ...started, file: null, home: "" }, toml);
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

/** Tables that are off by default, switched on: of one that is off only its switch is told. */
const ALL_ON: Readonly<Record<string, string>> = {
  "platforms.loopback.url": '"http://127.0.0.1:1"',
  "llm.embeddings.model": '"vectors"',
  "llm.embeddings.base_url": '"http://127.0.0.1:3/v1"',
  "llm.transcription.model": '"words"',
  "llm.transcription.base_url": '"http://127.0.0.1:3/v1"',
  "telemetry.endpoint": '"http://127.0.0.1:1"',
  'llm.servers."m".base_url': '"http://127.0.0.1:1/v1"',
  "cluster.url": '"env:AMQP_URL"',
  "platforms.slack.mode": '"http"',
  'models."m".price_in': "1",
  'models."m".price_out': "1",
};
/** Another value of each option that is no agent's, as the file has it; `env:` is another variable. */
const OTHER: Readonly<Record<string, string>> = {
  "retention.text_days": "90",
  "retention.image_days": "30",
  "database.url": "env:DATABASE_URL=postgres://two/db",
  "database.data_dir": '"./elsewhere"',
  "llm.base_url": '"http://127.0.0.1:1/v1"',
  "llm.api_key": "env:OPENAI_API_KEY=another-key",
  "llm.api": '"responses"',
  "llm.first_token_timeout_ms": "5",
  "llm.idle_timeout_ms": "5",
  "llm.max_retries": "5",
  "llm.embeddings.model": '"others"',
  "llm.embeddings.base_url": '"http://127.0.0.1:1/v1"',
  "llm.embeddings.api_key": "env:EMBEDDINGS_API_KEY=another-key",
  "llm.embeddings.dimensions": "64",
  "llm.transcription.model": '"others"',
  "llm.transcription.base_url": '"http://127.0.0.1:1/v1"',
  "llm.transcription.api_key": "env:TRANSCRIPTION_API_KEY=another-key",
  "llm.transcription.within_ms": "5000",
  "log.level": '"debug"',
  "log.format": '"json"',
  "log.file_max_bytes": "20000",
  "log.files": "7",
  "terminal.history": "false",
  "daemon.drain_deadline_ms": "5",
  "daemon.max_loaded_channels": "5",
  "daemon.idle_evict_ms": "5",
  "daemon.mailbox_size": "5",
  "daemon.max_compactions": "5",
  "http.listen": '"127.0.0.1:8421"',
  "http.token": "env:WEIR_HTTP_TOKEN=a-token-of-enough-letters",
  "http.hosts": '["weir.internal"]',
  "cluster.url": "env:AMQP_URL=amqp://127.0.0.1:2",
  "cluster.name": '"two"',
  "cluster.prefix": '"two"',
  "telemetry.endpoint": '"http://127.0.0.1:2"',
  "telemetry.headers": "env:OTEL_EXPORTER_OTLP_HEADERS=authorization=another-key",
  "telemetry.service_name": '"another"',
  "prompts.language": '"de"',
  "prompts.dir": '"./own"',
  "platforms.loopback.url": '"http://127.0.0.1:2"',
  "platforms.loopback.max_text_length": "200",
  "platforms.slack.mode": '"socket"',
  "platforms.slack.bot_token": "env:SLACK_BOT_TOKEN=another-token",
  "platforms.slack.signing_secret": "env:SLACK_SIGNING_SECRET=another-secret",
  "platforms.slack.agent_view": '"off"',
  "platforms.slack.feedback_buttons": "false",
  "platforms.slack.listen": '"127.0.0.1:3001"',
  "platforms.discord.token": "env:DISCORD_TOKEN=another-token",
  "platforms.discord.shards": "2",
  ...Object.fromEntries(
    ["discord", "slack"].flatMap((name) =>
      Object.entries({
        api_url: '"http://127.0.0.1:1"',
        dm: '"off"',
        allow: '["1"]',
        owners: '["1"]',
        owner_roles: '["ops"]',
        catch_up_max_age_ms: "5",
      }).map(([key, value]) => [`platforms.${name}.${key}`, value]),
    ),
  ),
  'llm.servers."m".base_url': '"http://127.0.0.1:2/v1"',
  'llm.servers."m".api_key': '"env:OPENAI_API_KEY"',
  'llm.servers."m".api': '"messages"',
  'llm.servers."m".headers': '{ X-Team = "blue" }',
  'models."m".context_window': "4096",
  'models."m".max_output_tokens': "5",
  'models."m".price_in': "2",
  'models."m".price_out': "2",
  'models."m".price_cached': "2",
  'models."m".write_price': "2",
  'models."m".sees_images': "false",
  'models."m".cache_markers': "true",
};

/** A config.toml with all tables on, and one option set otherwise. */
function otherwise(t: TestContext, key = "", value = ""): Config {
  const [name = "", of = ""] = value.startsWith("env:") ? value.slice(4).split(/=(.*)/) : [];
  const lines = { ...ALL_ON, ...(name === "" && key !== "" && { [key]: value }) };
  const toml = Object.entries(lines).map(([path, said]) => `${path} = ${said}`);
  return read(t, toml.join("\n"), name === "" ? {} : { [name]: of });
}

test("each option is taken up or kept as its mark in the schema says, and told as that", (t) => {
  const started = otherwise(t);
  for (const [key, value] of Object.entries(OTHER)) {
    const isStart = isForStart(key.replace('"m"', "NAME").split("."));
    const next = otherwise(t, key, value);
    const taken = takeUp(started, next);
    const live = changesBetween(started, taken).live;
    const { atStart } = changesBetween(taken, next);
    // Servers are a list, which is told as a whole.
    const told = key.replace(/^(llm\.servers)\..*/, "$1");
    assert.deepEqual(isStart ? atStart : live, [told], key);
    assert.deepEqual(isStart ? live : atStart, [], key);
    assert.deepEqual(
      { ...taken, file: null, home: "" },
      { ...(isStart ? started : next), file: null, home: "" },
      key,
    );
  }
});

test("no option of the schema is without such a value, and none of agents and bindings is for a start alone", () => {
  const all = leafPaths().map((path) => path.join(".").replace("NAME", '"m"'));
  const isOfAgents = (key: string): boolean => /^(?:agents|bindings|defaults)\b/.test(key);
  // Slack has it only where it is reached through a socket.
  const unread = ["platforms.slack.app_token"];
  assert.deepEqual(
    all.filter((key) => !isOfAgents(key) && !(key in OTHER)),
    unread,
  );
  assert.deepEqual(
    leafPaths().filter((path) => isOfAgents(path.join(".")) && isForStart(path)),
    [],
  );
});

test("what was said of a model at the start holds on where the file says nothing of it any more", (t) => {
  const started = read(t, '[models."m"]\ncache_markers = true\nprice_in = 1\nprice_out = 1');
  const next = read(t, "");
  const taken = takeUp(started, next);
  assert.equal(taken.llm.models[0]?.cacheMarkers, true);
  assert.deepEqual(changesBetween(started, taken).live, ['models."m".price_in', 'models."m".price_out']);
  assert.deepEqual(changesBetween(taken, next).atStart, ['models."m".cache_markers']);
  const fresh = takeUp(next, started);
  assert.equal(fresh.llm.models[0]?.cacheMarkers, "auto");
  assert.deepEqual(changesBetween(fresh, started).atStart, ['models."m".cache_markers']);
});

test("no value is told", (t) => {
  const secret = read(t, "", { OPENAI_API_KEY: "sk-planted-secret" });
  assert.doesNotMatch(JSON.stringify(changesBetween(read(t, ""), secret)), /planted/);
});
