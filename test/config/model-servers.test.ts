// proves: src/config/checks/check-models.ts, src/config/schema/models.ts
import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { maskOf, secretsOf } from "../../src/admin/secrets.ts";
import { warnOfModelNames } from "../../src/config/checks/check-models.ts";
import { changesBetween } from "../../src/config/changes.ts";
import { serverOf } from "../../src/config/config.ts";
import { describeConfig } from "../../src/config/describe-config.ts";
import { configErrorFrom, configFrom } from "./folder.ts";

const KEY = "planted-0123456789";
const FAST = '[llm.servers.fast]\nbase_url = "http://127.0.0.1:9000/v1"\n';

suite("[llm.servers]", () => {
  test("a server has an address, and a key and headers from the environment, which nobody is shown", (t) => {
    const config = configFrom(
      t,
      '[llm.servers.Fast_1]\nbase_url = "env:FAST_URL"\napi_key = "env:FAST_KEY"\napi = "responses"\n' +
        'headers = { "X-Team" = "Bearer env:TEAM_KEY" }\n',
      { FAST_URL: "https://fast.example/v1", FAST_KEY: KEY, TEAM_KEY: "team-9876543210" },
    );
    assert.deepEqual(config.llm.servers, [
      {
        name: "Fast_1",
        baseUrl: "https://fast.example/v1",
        apiKey: KEY,
        api: "responses",
        headers: { "X-Team": "Bearer team-9876543210" },
      },
    ]);
    assert.equal(maskOf(secretsOf(config))(`${KEY} team-9876543210`), "••• •••");
    assert.match(describeConfig(config), /server Fast_1 +https:\/\/fast\.example, with a key, by the API/);
    assert.doesNotMatch(describeConfig(config), /planted|9876/);
  });

  for (const [what, toml, words] of [
    ["no address", '[llm.servers.fast]\napi_key = ""\n', /llm\.servers\.fast\.base_url.*\n.*missing/],
    ["a key in the file", `${FAST}api_key = "${KEY}"\n`, /llm\.servers\.fast\.api_key[^]*"env:NAME"/],
    ["a variable that is not set", `${FAST}api_key = "env:FAST_KEZ"\n`, /FAST_KEZ is not set/],
    ["a variable that is nearly set", `${FAST}api_key = "env:FAST_KEZ"\n`, /did you mean.*FAST_KEY/is],
    ["an unknown key", `${FAST}apikey = "x"\n`, /did you mean.*api_key/is],
    ["an unknown API", `${FAST}api = "anthropic"\n`, /"auto", "chat", "responses", "messages"/],
    ["a name with a dot", '[llm.servers.my.box]\nbase_url = "http://h/v1"\n', /llm\.servers/],
    [
      "a password in the address",
      '[llm.servers.a]\nbase_url = "http://u:p@h/v1"\n',
      /without user, password/,
    ],
  ] as const) {
    test(`${what} is an error that says where`, (t) => {
      const error = configErrorFrom(t, toml, { FAST_KEY: KEY });
      assert.match(error.message, words);
      assert.match(error.message, /config\.toml:\d+/);
      assert.doesNotMatch(error.message, /planted/);
    });
  }

  test("a variable that is empty is not meant by its own name", (t) => {
    const { message } = configErrorFrom(t, `${FAST}api_key = "env:FAST_KEY"\n`, { FAST_KEY: "" });
    assert.match(message, /FAST_KEY is not set, or empty/);
    assert.doesNotMatch(message, /did you mean/i);
  });
});

suite("names of servers", () => {
  test("a variable that holds no address is told without it", (t) => {
    const error = configErrorFrom(t, '[llm.servers.a]\nbase_url = "env:WHERE"\n', { WHERE: "zxq//h" });
    assert.match(error.message, /WHERE[^]*an address such as/);
    assert.doesNotMatch(error.message, /zxq/);
  });

  test("the part before the first / is a server only if one has that name", () => {
    const servers = [{ name: "fast" }, { name: "google" }];
    assert.equal(serverOf("fast/google/gemma", servers)?.name, "fast");
    assert.equal(serverOf("meta-llama/fast", servers), undefined);
    assert.equal(serverOf("fast", servers), undefined);
  });

  test("an embedding model is one of a server, unless an address stands beside it", (t) => {
    const env = { FAST_KEY: KEY };
    const server = `${FAST}api_key = "env:FAST_KEY"\nheaders = { X-A = "b" }\n`;
    const of = (more: string) =>
      configFrom(t, `[llm.embeddings]\nmodel = "fast/e5"\n${more}${server}`, env).llm;
    assert.deepEqual(of("").embeddings, {
      model: "fast/e5",
      sentAs: "e5",
      dimensions: 0,
      baseUrl: "http://127.0.0.1:9000/v1",
      apiKey: KEY,
      serverHeaders: { "X-A": "b" },
    });
    const own = of('base_url = "http://127.0.0.1:9001/v1"\n').embeddings;
    assert.deepEqual([own?.sentAs, own?.baseUrl, own?.apiKey], ["fast/e5", "http://127.0.0.1:9001/v1", null]);
  });

  test("`config check` warns where a name could be read in two ways, or is nearly a server's", (t) => {
    const config = (servers: string, base: string) =>
      configFrom(
        t,
        `[llm]\nbase_url = "${base}"\n${servers}[[agents]]\nid = "main"\nmodel = "google/gemma-3-27b-it"\nfallbacks = ["fasst/llama"]\n`,
      );
    const google = '[llm.servers.google]\nbase_url = "http://127.0.0.1:9000/v1"\n';
    const [both, ...others] = warnOfModelNames(config(google, "https://openrouter.ai/api/v1"));
    assert.match(both ?? "", /model google\/gemma-3-27b-it: taken for a model of \[llm\.servers\.google\]/);
    assert.deepEqual(others, []);
    assert.deepEqual(warnOfModelNames(config(google, "https://api.openai.com/v1")), []);
    const [near] = warnOfModelNames(config(FAST, "https://openrouter.ai/api/v1"));
    assert.match(near ?? "", /Did you mean fast\/llama\?/);
  });

  test("a changed server is told as one, and takes effect at once", (t) => {
    const before = configFrom(t, FAST);
    const after = configFrom(t, FAST.replace("9000", "9001"));
    assert.deepEqual(changesBetween(before, { ...after, database: before.database }), {
      live: ["llm.servers"],
      atStart: [],
    });
  });
});
