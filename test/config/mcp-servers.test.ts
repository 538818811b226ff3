import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { maskOf, secretsOf } from "../../src/admin/secrets.ts";
import { configErrorFrom, configFrom } from "./folder.ts";

const agent = (mcp: string): string => `[[agents]]\nid = "main"\n[[agents.mcp]]\n${mcp}`;
const SECRET = "planted-0123456789";

suite("[[agents.mcp]]", () => {
  test("a command is given the variables that are named, and no other", (t) => {
    const toml = agent(
      'name = "hub"\ncommand = "npx"\nargs = ["-y", "hub"]\nenv = ["HUB_TOKEN", "OTHER=env:MINE", "HOME"]\ntimeout_ms = 500\napprove = "always"',
    );
    const config = configFrom(t, toml, { HUB_TOKEN: SECRET, MINE: "m-value", HOME: "/home/ann", REST: "x" });
    const [server] = config.agents[0]?.mcp ?? [];
    assert.ok(server?.reach.kind === "command");
    assert.deepEqual(server.reach.env, { HUB_TOKEN: SECRET, OTHER: "m-value", HOME: "/home/ann" });
    assert.deepEqual([server.timeoutMs, server.approve, server.tools], [500, "always", []]);
    // A path stands in too many results.
    assert.equal(maskOf(secretsOf(config))(`${SECRET} in /home/ann`), "••• in /home/ann");
  });

  test("a header may name a variable, and is never shown", (t) => {
    const toml = agent(
      'name = "web"\nurl = "env:ADDRESS"\nheaders = { Authorization = "Bearer env:TOKEN", X-Team_Name = "a team" }',
    );
    const address = "https://mcp.example/mcp?key=abcdef-123";
    const config = configFrom(t, toml, { ADDRESS: address, TOKEN: SECRET });
    const [server] = config.agents[0]?.mcp ?? [];
    assert.ok(server?.reach.kind === "url");
    assert.equal(server.reach.url, address);
    assert.deepEqual(server.reach.headers, { Authorization: `Bearer ${SECRET}`, "X-Team_Name": "a team" });
    assert.equal(maskOf(secretsOf(config))(`at ${address} with ${SECRET}`), "at ••• with •••");
    assert.equal(config.agents[0]?.mcp[0]?.approve, "writes");
  });

  for (const [what, mcp, words] of [
    [
      "neither a command nor an url",
      'name = "a"',
      /agents\[0\]\.mcp\[0\]\.name .*\n.*neither a command nor an url/,
    ],
    ["both", 'name = "a"\ncommand = "x"\nurl = "http://h/mcp"', /mcp\[0\]\.url .*\n.*has a command, too/],
    ["env beside url", 'name = "a"\nurl = "http://h/mcp"\nenv = ["HOME"]', /mcp\[0\]\.env .*\n.*no effect/],
    ["headers beside a command", 'name = "a"\ncommand = "x"\nheaders = { A = "b" }', /headers has no effect/],
    ["a variable that is not set", 'name = "a"\ncommand = "x"\nenv = ["ABSENT"]', /ABSENT is not set/],
    [
      "a secret in the list of names",
      `name = "a"\ncommand = "x"\nenv = ["KEY=${SECRET}"]`,
      /the name of a variable/,
    ],
    ["a name that is none", 'name = "A__b"\ncommand = "x"', /small letters/],
    ["a password in the address", `name = "a"\nurl = "http://u:${SECRET}@h/mcp"`, /without user, password/],
    ["an unknown key", 'name = "a"\ncommand = "x"\ntimeout = 3', /did you mean.*timeout_ms/is],
    ["an unknown word", 'name = "a"\ncommand = "x"\napprove = "maybe"', /"always", "never", "writes"/],
    [
      "a name twice",
      'name = "a"\ncommand = "x"\n[[agents.mcp]]\nname = "a"\ncommand = "y"',
      /mcp\[1\]\.name .*\n.*is taken/,
    ],
  ] as const)
    test(`${what} is an error that points, and shows no secret`, (t) => {
      const error = configErrorFrom(t, agent(mcp), { HOME: "/home/ann" });
      assert.match(error.message, words);
      assert.match(error.message, /config\.toml:\d+:\d+/);
      assert.ok(!error.message.includes(SECRET), error.message);
    });
});
