// proves: src/config/config.ts, src/config/resolve.ts, src/config/references.ts, src/config/schema/values.ts
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { basename, join } from "node:path";
import { suite, test } from "node:test";
import { loadConfig } from "../../src/config/load.ts";
import { configErrorFrom, configFrom, errorOf, folderWith } from "./folder.ts";
import { CHAT_PLATFORMS } from "../../src/platforms/platforms.ts";

const DEFAULT_AGENTS = [
  {
    id: "main",
    name: "main",
    instructions: "",
    prompt: null,
    compactorPrompt: null,
    model: "auto",
    compactorModel: "auto",
    fallbacks: [],
    seesImages: false,
    temperature: null,
    contextWindow: 0,
    maxOutputTokens: 2048,
    generationReserve: 4096,
    maxToolIterations: 8,
    maxCallsPerTurn: 64,
    mcp: [],
    toolTimeoutMs: 20_000,
    notes: true,
    steer: true,
    longAnswers: "messages",
    files: { attach: false },
    sharedMemory: [],
    approvals: { tools: {}, approvers: [], expireMs: 86_400_000 },
    aliases: [],
    mentionRoles: [],
    questions: { enabled: true, expireMs: 86_400_000 },
    reminders: { enabled: true, graceMs: 86_400_000 },
    schedules: [],
    suggestedPrompts: [],
    pruning: { wholeTurns: 0, stepTurns: 4, stubOver: 400, stubLength: 200, threshold: 0 },
    memory: { share: "channel", recall: "all" },
    subagents: {
      enabled: false,
      waitMs: 30_000,
      maxParallel: 4,
      maxSteps: 16,
      timeoutMs: 900_000,
      personas: {},
    },
    budget: {
      tokens: 0,
      dollars: 0,
      channelTokens: 0,
      channelDollars: 0,
      personTokens: 0,
      personDollars: 0,
      warnAt: 0.8,
    },
    timeZone: "UTC",
    compaction: {
      enabled: true,
      preset: "default",
      notify: "off",
      backgroundThreshold: 0.8,
      aggressiveThreshold: 0.85,
      emergencyThreshold: 0.95,
      target: 0.6,
      keepMessages: 20,
      maxRawMessages: 300,
      maxRawTokens: 16_000,
      writeAhead: true,
      deadlineMs: 180_000,
    },
  },
];

test("what is shared of memories is said of all agents, of one, and of a binding", (t) => {
  const file = `
[defaults.memory]
share = "workspace"
[[agents]]
id = "open"
[[agents]]
id = "closed"
memory = { share = "channel" }
[[bindings]]
agent = "open"
platform = "slack"
[[bindings]]
agent = "closed"
platform = "slack"
[[bindings]]
agent = "open"
platform = "slack"
memory_share = "channel"
`;
  const { agents, bindings } = loadConfig({ cwd: folderWith(t, { "config.toml": file }), env: {} });
  assert.deepEqual(
    agents.map(({ memory }) => memory.share),
    ["workspace", "channel"],
  );
  assert.deepEqual(
    bindings.map(({ memoryShare }) => memoryShare),
    ["workspace", "channel", "channel"],
  );
});

test("the HTTP service has a host, a port, its own names in small letters, and a token where one is set", (t) => {
  const file = `[http]\nlisten = "[::1]:8420"\nhosts = ["Weir.internal"]\n`;
  const cwd = folderWith(t, { "config.toml": file });
  const expected = { host: "::1", port: 8420, mayMove: false, token: null, hosts: ["weir.internal"] };
  assert.deepEqual(loadConfig({ cwd, env: {} }).http, expected);
  const token = "a-token-of-some-length";
  assert.deepEqual(loadConfig({ cwd, env: { WEIR_HTTP_TOKEN: token } }).http, { ...expected, token });
  for (const listen of ["8420", ":8420", "127.0.0.1", "127.0.0.1:70000", "http://127.0.0.1:8420"]) {
    const wrong = folderWith(t, { "config.toml": `[http]\nlisten = "${listen}"\n` });
    assert.throws(
      () => loadConfig({ cwd: wrong, env: {} }),
      /http\.listen[\s\S]*such as "127\.0\.0\.1:8420"/,
    );
  }
});

const DEFAULT_BINDING = {
  agent: "main",
  also: [],
  workspaces: [],
  channels: [],
  threads: true,
  dms: true,
  mentionRequired: true,
  listen: false,
  allowUsers: [],
  allowRoles: [],
  allowBots: false,
  rateLimit: 20,
  streaming: true,
  acknowledge: "",
  memoryShare: "channel",
};

suite("without a file", () => {
  test("the built-in defaults run one agent named main", (t) => {
    const cwd = folderWith(t, {});
    const config = loadConfig({ cwd, env: {} });
    assert.deepEqual(config, {
      file: null,
      home: cwd,
      database: { url: null, dataDir: join(cwd, "data") },
      agentsDir: join(cwd, "agents"),
      proxies: null,
      llm: {
        baseUrl: null,
        apiKey: null,
        api: "auto",
        servers: [],
        firstTokenTimeoutMs: 60_000,
        idleTimeoutMs: 30_000,
        maxRetries: 3,
        models: [],
        embeddings: null,
        transcription: null,
      },
      telemetry: null,
      retention: { textDays: 0, imageDays: 0 },
      terminal: { history: true },
      log: { level: "info", format: "auto", fileMaxBytes: 10_000_000, files: 5 },
      daemon: {
        drainDeadlineMs: 20_000,
        maxLoadedChannels: 1000,
        idleEvictMs: 600_000,
        mailboxSize: 100,
        maxCompactions: 4,
      },
      prompts: { language: "en", dir: null },
      platforms: { loopback: null, ...Object.fromEntries(CHAT_PLATFORMS.map((key) => [key, null])) },
      http: { host: "127.0.0.1", port: 8420, mayMove: true, token: null, hosts: [] },
      cluster: null,
      bindings: CHAT_PLATFORMS.map((platform) => ({ ...DEFAULT_BINDING, platform })),
      agents: DEFAULT_AGENTS,
    });
  });

  test("an empty file means the same", (t) => {
    const { file, home, database, agentsDir, ...rest } = configFrom(t, "");
    const without = loadConfig({ cwd: folderWith(t, {}), env: {} });
    const { file: none, home: cwd, database: other, agentsDir: besides, ...defaults } = without;
    assert.notEqual(home, cwd);
    assert.equal(basename(agentsDir), basename(besides));
    assert.deepEqual(rest, defaults);
    assert.equal(none, null);
    assert.notEqual(file, null);
    assert.equal(database.url, other.url);
  });
});

test("the configuration cannot be changed", (t) => {
  const config = configFrom(t, '[[agents]]\nid = "a"\nfallbacks = ["x"]');
  assert.ok(Object.isFrozen(config) && Object.isFrozen(config.agents) && Object.isFrozen(config.llm));
  assert.ok(Object.isFrozen(config.agents[0]?.compaction) && Object.isFrozen(config.agents[0]?.fallbacks));
});

const PRECEDENCE_TOML = `
[defaults]
model = "shared"
temperature = 0.3
max_output_tokens = 1000
[defaults.compaction]
background_threshold = 0.7
keep_messages = 5
[[agents]]
id = "one"
[[agents]]
id = "two"
name = "Two"
model = "own"
temperature = "default"
[agents.compaction]
background_threshold = 0.5
`;

suite("precedence", () => {
  test("the agent wins over the defaults, and these over the built-in ones, key by key", (t) => {
    const [one, two] = configFrom(t, PRECEDENCE_TOML).agents;
    assert.equal(one?.model, "shared");
    assert.equal(one?.name, "one");
    assert.equal(one?.temperature, 0.3);
    assert.equal(one?.maxOutputTokens, 1000);
    assert.equal(one?.generationReserve, 4096);
    assert.equal(one?.compaction.backgroundThreshold, 0.7);
    assert.equal(two?.model, "own");
    assert.equal(two?.compactorModel, "own");
    assert.equal(two?.name, "Two");
    assert.equal(two?.temperature, null);
    assert.equal(two?.maxOutputTokens, 1000);
    assert.equal(two?.compaction.backgroundThreshold, 0.5);
    assert.equal(two?.compaction.keepMessages, 5);
  });

  test("a target that nobody sets follows the background threshold", (t) => {
    const [one, two] = configFrom(t, PRECEDENCE_TOML).agents;
    assert.equal(one?.compaction.target, 0.5);
    assert.equal(two?.compaction.target, 0.3);
  });

  test("the example of the manual is right", (t) => {
    const config = configFrom(
      t,
      `[defaults.compaction]
background_threshold = 0.80
aggressive_threshold = 0.85
emergency_threshold = 0.95
[[agents]]
id = "small-model-bot"
[agents.compaction]
background_threshold = 0.70
aggressive_threshold = 0.75
emergency_threshold = 0.90`,
    );
    assert.deepEqual(config.agents[0]?.compaction, {
      enabled: true,
      preset: "default",
      notify: "off",
      backgroundThreshold: 0.7,
      aggressiveThreshold: 0.75,
      emergencyThreshold: 0.9,
      target: 0.5,
      keepMessages: 20,
      maxRawMessages: 300,
      maxRawTokens: 16_000,
      writeAhead: true,
      deadlineMs: 180_000,
    });
  });
});

suite("files and folders", () => {
  test("relative paths are relative to the file, not to the working directory", (t) => {
    const cwd = folderWith(t, {
      "etc/weir.toml": `[database]\ndata_dir = "store"\n[prompts]\ndir = "../own"\n[defaults]\nprompt = "me.j2"`,
    });
    const config = loadConfig({ cwd, file: "etc/weir.toml", env: {} });
    assert.equal(config.file, join(cwd, "etc/weir.toml"));
    assert.equal(config.database.dataDir, join(cwd, "etc/store"));
    assert.equal(config.agentsDir, join(cwd, "etc/agents"));
    assert.equal(config.prompts.dir, join(cwd, "own"));
    assert.equal(config.agents[0]?.prompt, join(cwd, "etc/me.j2"));
  });

  test("--config with a file that is not there is an error that names it", (t) => {
    const cwd = folderWith(t, { "config.toml": "" });
    const error = errorOf(() => loadConfig({ cwd, file: "missing.toml", env: {} }));
    assert.match(error.message, /missing\.toml\n.*there is no such file/);
  });

  test("a folder in place of the file is an error", (t) => {
    const cwd = folderWith(t, { "config.toml/x": "" });
    assert.match(
      errorOf(() => loadConfig({ cwd, env: {} })).message,
      /config\.toml\n.*is a folder, not a file/,
    );
  });

  test("a pipe or a device in place of the file is an error, and is not waited for", (t) => {
    const cwd = folderWith(t, {});
    execFileSync("mkfifo", [join(cwd, "config.toml")]);
    const shown = (file?: string): string => errorOf(() => loadConfig({ cwd, file, env: {} })).message;
    assert.match(shown(), /config\.toml\n.*is a pipe, not a file/);
    assert.match(shown("/dev/zero"), /\/dev\/zero\n.*is a device, not a file/);
    assert.match(shown("/dev/null"), /\/dev\/null\n.*is a device, not a file/);
  });

  test("a byte order mark and Windows line ends are accepted", (t) => {
    const config = configFrom(t, '\uFEFF[log]\r\nlevel = "debug"\r\n');
    assert.equal(config.log.level, "debug");
  });

  test("bytes that are no UTF-8 are an error at their line", (t) => {
    const error = configErrorFrom(t, Buffer.from("[log]\n# caf\u00e9\n", "latin1"));
    assert.equal(error.problems[0]?.line, 2);
    assert.match(error.message, /config\.toml:2\n.*not valid UTF-8/);
  });

  test("a NUL byte is an error at its line", (t) => {
    const error = configErrorFrom(t, '[log]\nlevel = "in\0fo"\n');
    assert.match(error.message, /config\.toml:2\n.*NUL byte/);
  });

  test("a file far too large is refused", (t) => {
    assert.match(configErrorFrom(t, "#".repeat(2_000_000)).message, /2000000 bytes long/);
  });

  test("the loopback platform is off until it has an address", (t) => {
    assert.equal(configFrom(t, "[platforms.loopback]").platforms.loopback, null);
    const url = "http://127.0.0.1:8787";
    const { platforms } = configFrom(t, `[platforms.loopback]\nurl = "${url}"`);
    assert.deepEqual(platforms.loopback, { url, maxTextLength: 1_000_000 });
    const small = configFrom(t, `[platforms.loopback]\nurl = "${url}"\nmax_text_length = 240`);
    assert.equal(small.platforms.loopback?.maxTextLength, 240);
  });
});

suite("compaction.preset", () => {
  test("plain has marks at 80, 85 and 95 %, cuts no further than its shares, and writes nothing ahead", (t) => {
    const compaction = configFrom(t, `[defaults.compaction]\npreset = "plain"\n`).agents[0]?.compaction;
    assert.deepEqual(
      [compaction?.backgroundThreshold, compaction?.aggressiveThreshold, compaction?.emergencyThreshold],
      [0.8, 0.85, 0.95],
    );
    assert.equal(compaction?.target, 0.79);
    assert.equal(compaction?.writeAhead, false);
    assert.equal(compaction?.maxRawTokens, 100_000_000);
  });

  test("gives way to an option beside it, in the defaults or of the agent", (t) => {
    const defaults = `[defaults.compaction]\npreset = "plain"\nmax_raw_tokens = 9000\nbackground_threshold = 0.7\n`;
    const agent = `[[agents]]\nid = "main"\n[agents.compaction]\nwrite_ahead = true\n`;
    const compaction = configFrom(t, defaults + agent).agents[0]?.compaction;
    assert.equal(compaction?.maxRawTokens, 9000);
    assert.equal(compaction?.writeAhead, true);
    assert.equal(compaction?.target, 0.69);
  });
});
