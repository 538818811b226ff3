// proves: src/config/describe-config.ts, src/config/checks/check-platforms.ts
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { describeConfig } from "../../src/config/describe-config.ts";
import { loadConfig } from "../../src/config/load.ts";
import { CHAT_PLATFORMS } from "../../src/platforms/platforms.ts";
import { configErrorFrom, configFrom, errorOf, folderWith } from "./folder.ts";

const SLACK = { SLACK_BOT_TOKEN: "xoxb-secret-1", SLACK_APP_TOKEN: "xapp-secret-2" };

describe("platforms in the configuration", () => {
  test("Discord is on where its token is set, and off where it is not, whether the file names it or not", (t) => {
    const named = '[platforms.discord]\ntoken = "env:DISCORD_TOKEN"';
    assert.equal(configFrom(t, "", { DISCORD_TOKEN: "secret" }).platforms.discord?.token, "secret");
    assert.equal(configFrom(t, named, { DISCORD_TOKEN: "secret" }).platforms.discord?.token, "secret");
    assert.equal(configFrom(t, named, {}).platforms.discord, null);
    assert.equal(configFrom(t, "", { DISCORD_TOKEN: "" }).platforms.discord, null);
  });

  test("a variable of another name must be set: it may be misspelt", (t) => {
    assert.throws(
      () => configFrom(t, '[platforms.discord]\ntoken = "env:DISCORD_TOKN"', {}),
      /config\.toml:2.*platforms\.discord\.token.*DISCORD_TOKN is not set/su,
    );
  });

  test("Slack is connected to by socket, or calls", (t) => {
    assert.deepEqual(configFrom(t, "", SLACK).platforms.slack?.intake, {
      mode: "socket",
      appToken: "xapp-secret-2",
    });
    const http = '[platforms.slack]\nmode = "http"\nlisten = "[::1]:4000"';
    const env = { SLACK_BOT_TOKEN: "xoxb-1", SLACK_SIGNING_SECRET: "signed" };
    assert.deepEqual(configFrom(t, http, env).platforms.slack?.intake, {
      mode: "http",
      signingSecret: "signed",
      host: "::1",
      port: 4000,
    });
  });

  test("a binding of an agent that does not exist is refused, with those that do", (t) => {
    assert.throws(
      () => configFrom(t, '[[bindings]]\nagent = "mian"\nplatform = "discord"', {}),
      /config\.toml:2.*bindings\[0\]\.agent.*no agent has this id.*"main"/su,
    );
  });

  test("a binding listens unless it says otherwise; without any, nobody is listened to", (t) => {
    const [own] = configFrom(t, '[[bindings]]\nagent = "main"\nplatform = "discord"', {}).bindings;
    assert.equal(own?.listen, true);
    assert.deepEqual(
      configFrom(t, "", {}).bindings.map(({ platform, listen }) => [platform, listen]),
      CHAT_PLATFORMS.map((key) => [key, false]),
    );
  });

  test("what an operator is shown has no token in it", (t) => {
    const file =
      '[platforms.discord]\napi_url = "http://127.0.0.1:9"\nowners = ["1"]\n[[bindings]]\nagent = "main"\nplatform = "discord"\nchannels = ["general"]';
    const shown = describeConfig(configFrom(t, file, { ...SLACK, DISCORD_TOKEN: "very-secret" }));
    assert.match(shown, /Discord +on, DMs pairing, 1 owner, at http:\/\/127\.0\.0\.1:9/);
    assert.match(shown, /Slack +on, by Socket Mode/);
    assert.match(shown, /discord \(general\): main answers mentions, and listens/);
    assert.doesNotMatch(shown, /secret/);
  });
});

test("Slack's requests are awaited on a port that there is", (t) => {
  const file = (port: number): string => `[platforms.slack]\nmode = "http"\nlisten = "127.0.0.1:${port}"`;
  const env = { SLACK_BOT_TOKEN: "xoxb-1", SLACK_SIGNING_SECRET: "signed" };
  assert.ok(configFrom(t, file(65_535), env).platforms.slack !== null);
  assert.match(configErrorFrom(t, file(65_536), env).message, /slack\.listen.*with a port up to 65535/su);
});

test("an id without quotes is told what it should be, and not shown as another number", (t) => {
  for (const key of ["owners", "allow", "owner_roles"]) {
    const { message } = configErrorFrom(t, `[platforms.discord]\n${key} = [123456789012345678]`);
    assert.match(message, /expected: an id or a name, in quotes: "1234567890"/);
    assert.match(message, /found: +a whole number too large/);
    assert.doesNotMatch(message, /1234567890123456/);
  }
  assert.match(configErrorFrom(t, "[platforms.discord]\nowners = [12]").message, /expected: .*found: +12/su);
});

test("half of Slack is refused, with the other half, whether a file names it or not", (t) => {
  const env = { SLACK_BOT_TOKEN: "xoxb-1" };
  const http = '[platforms.slack]\nmode = "http"';
  const expected = /Slack has a bot token and no app_token\n.*SLACK_APP_TOKEN in the environment/;
  assert.match(configErrorFrom(t, "[platforms.slack]", env).message, expected);
  assert.match(configErrorFrom(t, "", env).message, expected);
  assert.match(errorOf(() => loadConfig({ cwd: folderWith(t, {}), env })).message, expected);
  assert.match(configErrorFrom(t, http, env).message, /signing_secret\n.*SLACK_SIGNING_SECRET/);
  assert.match(
    describeConfig(configFrom(t, "", { SLACK_APP_TOKEN: "xapp-1" })),
    /Slack +off: SLACK_BOT_TOKEN is not set/,
  );
});

test("shared_memory names agents that there are, and others; a misspelt one is told which was meant", (t) => {
  const agents = (shared: string): string =>
    `[[agents]]\nid = "main"\nshared_memory = ${shared}\n[[agents]]\nid = "night-watch"`;
  assert.deepEqual(
    configFrom(t, agents('["night-watch"]'), {}).agents.map(({ sharedMemory }) => sharedMemory),
    [["night-watch"], []],
  );
  assert.throws(
    () => configFrom(t, agents('["night-wach"]'), {}),
    /config\.toml:3.*agents\[0\]\.shared_memory.*no agent has this id.*"night-watch".*"night-wach".*did you mean `night-watch`\?/su,
  );
  assert.throws(
    () => configFrom(t, agents('["main"]'), {}),
    /agents\[0\]\.shared_memory.*an agent is always told its own memories/su,
  );
  assert.throws(() => configFrom(t, agents('"night-watch"'), {}), /a list of ids of agents/u);
});

test("the other agents of a binding are such, each another one, and no two have the same name", (t) => {
  const file = (also: string, aliases = "[]"): string =>
    `[[agents]]\nid = "main"\n[[agents]]\nid = "researcher"\nname = "Res"\n[[agents]]\nid = "coder"\naliases = ${aliases}\n` +
    `[[bindings]]\nagent = "main"\nplatform = "discord"\nalso = ${also}`;
  const config = configFrom(t, file('["coder", "researcher"]'), {});
  assert.deepEqual(config.bindings[0]?.also, ["researcher", "coder"]);
  assert.match(
    describeConfig(configFrom(t, file('["coder"]'), { DISCORD_TOKEN: "x" })),
    /main answers mentions, and listens; also coder/,
  );
  assert.deepEqual(configFrom(t, "", {}).bindings[0]?.also, []);
  assert.throws(
    () => configFrom(t, file('["reseacher"]'), {}),
    /config\.toml:12.*bindings\[0\]\.also.*no agent has this id.*"researcher", "coder".*"reseacher".*did you mean `researcher`\?/su,
  );
  assert.throws(() => configFrom(t, file('["main"]'), {}), /bindings\[0\]\.also.*answers here already/su);
  assert.throws(
    () => configFrom(t, file('["researcher", "coder"]', '["RES"]'), {}),
    /bindings\[0\]\.also.*"res" means two agents here: "researcher" and "coder"/su,
  );
  // In channels of their own they may share it.
  assert.equal(configFrom(t, file('["coder"]', '["RES"]'), {}).agents.length, 3);
});
