// proves: src/cli/init.ts, src/cli/init/files.ts
import assert from "node:assert/strict";
import { existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { loadConfig } from "../../src/config/load.ts";
import { setUp } from "../../src/cli/init.ts";
import { Cancelled, type Choice, type Questions } from "../../src/cli/init/questions.ts";
import { useProxies } from "../../src/network/use-proxies.ts";
import { folderWith } from "../config/folder.ts";
import { startDiscordServer } from "../support/discord/server.ts";
import { text } from "../support/model-behaviours.ts";
import { startModelServer } from "../support/model-server.ts";

/** Somebody who answers in order; at the end of the answers Ctrl-C. */
function person(
  ...answers: readonly (string | boolean | readonly string[])[]
): Questions & { readonly said: string[] } {
  const said: string[] = [];
  const left = [...answers];
  const next = (question: string): string | boolean | readonly string[] => {
    const answer = left.shift();
    if (answer === undefined) throw new Cancelled();
    said.push(`${question} ${String(answer)}`);
    return answer;
  };
  const chosen = <Value extends string>(choices: readonly Choice<Value>[], answer: unknown): Value => {
    const found = choices.find(({ value }) => value === answer);
    assert.ok(
      found !== undefined,
      `${String(answer)} is none of ${choices.map(({ value }) => value).join(", ")}`,
    );
    return found.value;
  };
  return {
    said,
    say: (line) => void said.push(line),
    one: async (question, choices) => chosen(choices, next(question)),
    async several(question, choices) {
      const answer = next(question);
      return (Array.isArray(answer) ? answer : []).map((one) => chosen(choices, one));
    },
    async text(question, _hint, wrong) {
      const answer = String(next(question));
      assert.equal(wrong(answer), undefined);
      return answer;
    },
    secret: async (question) => String(next(question)),
    confirm: async (question) => next(question) === true,
    during: async (_, work) => work(),
  };
}

test("a first set-up: each answer is checked, and both files hold what was said, .env for its owner alone", async (t) => {
  await using model = await startModelServer();
  model.respond(() => text("pong"));
  await using discord = await startDiscordServer();
  discord.world.addGuild({ name: "Mill" });
  const shipped = `# mine\n[platforms.discord]\napi_url = "${discord.api}"\n#owners = []\n`;
  const cwd = folderWith(t, { "config.toml": shipped, ".env": "# kept\nOTHER=1\n" });
  const answers = person(
    "server",
    model.url,
    "sk-1",
    ["discord"],
    "wrong-token",
    "again",
    discord.token,
    "123456789012345678",
    true,
  );
  await setUp(answers, { cwd, file: undefined });
  const said = answers.said.join("\n");
  assert.match(said, /✓ model auto: .* answers/);
  assert.match(said, /✗ Discord token: Discord does not know it/);
  assert.match(said, /✓ Discord token/);
  const env = readFileSync(path.join(cwd, ".env"), "utf8");
  assert.equal(
    env,
    `# kept\nOTHER=1\nOPENAI_BASE_URL=${model.url}\nOPENAI_API_KEY=sk-1\nDISCORD_TOKEN=${discord.token}\n`,
  );
  assert.equal(statSync(path.join(cwd, ".env")).mode & 0o777, 0o600);
  assert.equal(
    readFileSync(path.join(cwd, "config.toml"), "utf8"),
    shipped.replace("#owners = []", 'owners = ["123456789012345678"]'),
  );
  const config = loadConfig({ cwd, env: {} });
  assert.deepEqual(config.platforms.discord?.owners, ["123456789012345678"]);
  // A second time everything may stay, and nothing is written.
  const again = person("keep", ["discord"], true, "");
  await setUp(again, { cwd, file: undefined });
  assert.match(again.said.join("\n"), /There is nothing to write/);
});

test("the key of one server is not sent to another", async (t) => {
  await using model = await startModelServer();
  model.respond(() => text("pong"));
  const before = "OPENAI_BASE_URL=http://127.0.0.1:9/v1\nOPENAI_API_KEY=sk-of-another\n";
  const cwd = folderWith(t, { ".env": before });
  await setUp(person("own", model.url, [], true), { cwd, file: undefined });
  assert.equal(
    readFileSync(path.join(cwd, ".env"), "utf8"),
    `OPENAI_BASE_URL=${model.url}\nOPENAI_API_KEY=\n`,
  );
  assert.ok(model.requests.length > 0);
  for (const { headers } of model.requests) assert.doesNotMatch(JSON.stringify(headers), /sk-of-another/);
  assert.equal(loadConfig({ cwd, env: {} }).llm.apiKey, null);
});

test("whoever stops at any question, or does not want it written, has the files that were there", async (t) => {
  await using model = await startModelServer();
  model.respond(() => text("pong"));
  await using discord = await startDiscordServer();
  const shipped = `[platforms.discord]\napi_url = "${discord.api}"\n`;
  const cwd = folderWith(t, { "config.toml": shipped });
  const answers = ["own", model.url, ["discord"], discord.token, "123456789012345678"];
  for (let stop = 0; stop <= answers.length; stop++)
    await assert.rejects(
      setUp(person(...answers.slice(0, stop)), { cwd, file: undefined }),
      Cancelled,
      String(stop),
    );
  await setUp(person(...answers, false), { cwd, file: undefined });
  assert.equal(readFileSync(path.join(cwd, "config.toml"), "utf8"), shipped);
  assert.ok(!existsSync(path.join(cwd, ".env")));
});

test("what could not be read any more is not written, and what is broken is told before the first question", async (t) => {
  await using discord = await startDiscordServer();
  const odd = `[platforms]\ndiscord = { dm = "off", api_url = "${discord.api}" }\n`;
  const cwd = folderWith(t, { "config.toml": odd });
  const answers = person("none", ["discord"], discord.token, "123456789012345678", true);
  await assert.rejects(setUp(answers, { cwd, file: undefined }), /Nothing was written: /);
  assert.equal(readFileSync(path.join(cwd, "config.toml"), "utf8"), odd);
  assert.ok(!existsSync(path.join(cwd, ".env")));
  writeFileSync(path.join(cwd, "config.toml"), "[nonsense\n");
  const asked = person("none");
  await assert.rejects(setUp(asked, { cwd, file: undefined }), /config\.toml/);
  assert.deepEqual(asked.said, []);
});

test("Anthropic is a server of its own, and its key stands in .env alone", async (t) => {
  const cwd = folderWith(t, {});
  // Nobody is asked over a network: the key goes nowhere before the address is known.
  const before = process.env["HTTPS_PROXY"];
  const answers = person("anthropic", "sk-ant-0123456789", "claude-sonnet-5", "kept", [], true);
  process.env["HTTPS_PROXY"] = "http://127.0.0.1:9";
  try {
    await setUp(answers, { cwd, file: undefined });
  } finally {
    useProxies(null);
    if (before === undefined) delete process.env["HTTPS_PROXY"];
    else process.env["HTTPS_PROXY"] = before;
  }
  const { llm, agents } = loadConfig({ cwd, env: { ANTHROPIC_API_KEY: "sk-ant-0123456789" } });
  assert.equal(agents[0]?.model, "claude/claude-sonnet-5");
  assert.deepEqual(
    llm.servers.map(({ name, baseUrl, apiKey }) => [name, baseUrl, apiKey]),
    [["claude", "https://api.anthropic.com", "sk-ant-0123456789"]],
  );
  assert.match(readFileSync(path.join(cwd, ".env"), "utf8"), /^ANTHROPIC_API_KEY=sk-ant-0123456789$/m);
  assert.doesNotMatch(readFileSync(path.join(cwd, "config.toml"), "utf8"), /sk-ant/);
});
