// proves: src/cli/audit/settings.ts, src/cli/audit.ts, src/cli/audit/backups.ts
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { auditText, auditVersion } from "../../../src/cli/audit.ts";
import { auditBackups } from "../../../src/cli/audit/backups.ts";
import { auditSettings } from "../../../src/cli/audit/settings.ts";
import { loadConfig } from "../../../src/config/load.ts";
import { folderWith } from "../../config/folder.ts";

const ENV = {
  DISCORD_TOKEN: "discord-token-of-a-test",
  SLACK_BOT_TOKEN: "xoxb-of-a-test",
  SLACK_SIGNING_SECRET: "signing-secret-of-a-test",
  OPENAI_API_KEY: "key-of-a-test",
};

const OPEN = `
[llm]
base_url = "http://model.example/v1"
[log]
level = "trace"
[http]
listen = "0.0.0.0:8080"
[platforms.discord]
dm = "everyone"
[platforms.slack]
mode = "http"
listen = "0.0.0.0:3000"
[[bindings]]
agent = "main"
platform = "discord"
mention_required = false
rate_limit = 0
[[agents]]
id = "main"
model = "m"
[[agents.mcp]]
name = "tools"
url = "http://tools.example/mcp"
approve = "never"
[[agents.mcp]]
name = "docs"
command = "docs"
tools = ["search"]
approve = "never"
`;

const CLOSED = `
[http]
listen = "127.0.0.1:8080"
[platforms.slack]
mode = "http"
[[bindings]]
agent = "main"
platform = "discord"
workspaces = ["123456789012345678"]
mention_required = false
[[bindings]]
agent = "main"
platform = "slack"
[[agents]]
id = "main"
model = "m"
[[agents.mcp]]
name = "tools"
url = "https://tools.example/mcp"
`;

test("each unsafe setting is named with its key, and a safe configuration has none", (t) => {
  const audited = (config: string, more: Readonly<Record<string, string>>): string[] => {
    const cwd = folderWith(t, { "config.toml": config });
    const loaded = loadConfig({ cwd, file: path.join(cwd, "config.toml"), env: { ...ENV, ...more } });
    return auditSettings(loaded, () => "f:1").map(({ severity, where }) => `${severity} ${where}`);
  };
  assert.deepEqual(audited(OPEN, { DATABASE_URL: "postgres://a:b@db.example/weir" }), [
    "warn f:1 bindings[0].workspaces",
    "warn f:1 bindings[0].mention_required",
    "warn f:1 bindings[0].rate_limit",
    "warn f:1 platforms.discord.dm",
    "warn f:1 http.listen",
    "error f:1 http.token",
    "warn f:1 platforms.slack.listen",
    "error f:1 agents[0].mcp[0].approve",
    "warn f:1 agents[0].mcp[1].approve",
    "warn f:1 llm.base_url",
    "warn f:1 agents[0].mcp[0].url",
    "warn f:1 database.url",
    "warn f:1 log.level",
  ]);
  assert.deepEqual(
    audited(CLOSED, { DATABASE_URL: "postgres://a:b@db.example/weir?sslmode=verify-full" }),
    [],
  );
});

test("a version without security fixes and an old backup are findings", () => {
  const now = new Date("2026-11-20T12:00:00Z");
  const count = (program: "Node" | "Postgres", version: string): number =>
    auditVersion(program, version, now).length;
  assert.deepEqual(
    ["v18.20.0", "v20.1.0", "v22.3.0", "v24.21.0", "v99.0.0"].map((version) => count("Node", version)),
    [1, 1, 0, 0, 0],
  );
  assert.deepEqual(
    ["14.9 (Debian 14.9-1)", "15.4", "18.1", "19beta1"].map((version) => count("Postgres", version)),
    [1, 0, 0, 0],
  );
  const days = (age: number) => ({ file: `${age}.backup`, at: new Date(now.getTime() - age * 86_400_000) });
  assert.deepEqual(auditBackups([days(30), days(6)], ".", now), []);
  assert.equal(auditBackups([days(30), days(7)], ".", now)[0]?.where, "7.backup");
  assert.match(
    auditBackups([], "kept", now)[0]?.fix ?? "",
    /^`npm run -s weir -- backup kept\/weir-2026-11-20\.backup/,
  );
});

const SHIPPED = path.join(import.meta.dirname, "..", "..", "..", "config.toml");

test("the shipped configuration holds no secret: it names variables", () => {
  assert.deepEqual(auditText("config.toml", readFileSync(SHIPPED, "utf8")), []);
});

test("a key in the configuration is found at its line, also where another line names a variable", () => {
  const key = `sk-${"a1B2".repeat(10)}`;
  const found = auditText("config.toml", `api_key = "env:OPENAI_API_KEY"\napi_key = "${key}"`);
  assert.deepEqual(
    found.map(({ where }) => where),
    ["config.toml:2"],
  );
});
