// proves: src/config/literal-secret.ts
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { literalSecretLine } from "../../src/config/literal-secret.ts";

const KNOWN = "harborlight";
const mask = (text: string): string => text.replaceAll(KNOWN, "•••");

test("a file that names variables has no secret", () => {
  for (const text of [
    "",
    'top = "x"\n[llm]\napi_key = "env:OPENAI_API_KEY"\n',
    '[platforms.discord]\ntoken = "env:DISCORD_TOKEN"\nowners = ["123456789012345678"]',
    '# token = "env:OTHER"\n# the key of the house lies under the stone',
    '[[agents]]\nid = "main"\nmodel = "anthropic/claude-sonnet-4-5-20250929"\nmax_output_tokens = 512',
    '[[agents.mcp]]\nheaders = { Authorization = "Bearer env:MCP_TOKEN" }\nargs = ["-y", "server-filesystem"]',
    '[llm]\nbase_url = "http://127.0.0.1:8080/v1"',
    'this is = no "TOML',
    readFileSync(new URL("../../config.toml", import.meta.url), "utf8"),
  ])
    assert.equal(literalSecretLine(text, mask), null, text.slice(0, 200));
});

test("a secret is found by what it is known as, looks like, or stands behind; also in comments and in no TOML", () => {
  for (const [text, line] of [
    [`a = 1\nname = "${KNOWN}"`, 2],
    [`a = 1\n# it was ${KNOWN}`, 2],
    ['[llm]\napi_key = "short"', 2],
    ['[llm]\n\nbase_url = "https://user:pass@models.example/v1"', 3],
    ['[database]\nurl = "postgres://weir:pw@db/weir"', 2],
    ["# old: sk-abcdefgh1234", 1],
    ['# api_key = "hunter2"', 1],
    ['[platforms.slack]\napp_token = "xapp-1-abcd"', 2],
    ['[nothing]\npasswort = 1\nmy_password = "hunter2"', 3],
    ['[[agents]]\n[[agents.mcp]]\nheaders = { "X-Api-Key" = "hunter2" }', 3],
    ['[[agents]]\n[[agents.mcp]]\nheaders = { Authorization = "Bearer hunter2" }', 3],
    ['[[agents]]\n[[agents.mcp]]\nheaders = { "X-Auth" = "hunter2" }', 3],
    ['[[agents]]\n[[agents.mcp]]\nheaders = { Cookie = "a=hunter2" }', 3],
    ["broken = \ntoken = xoxb-12345678", 2],
    [`a = """\nharbor\\\n  light"""\nb = "x"`, null],
  ] as const)
    assert.equal(literalSecretLine(text, mask), line, text);
});
