import assert from "node:assert/strict";
import { suite, test } from "node:test";
import * as fc from "fast-check";
import { describeConfig } from "../../src/config/describe-config.ts";
import { loadConfig } from "../../src/config/load.ts";
import { configErrorFrom, configFrom, errorOf, folderWith } from "./folder.ts";

const SECRET = "sk-proj-Zm9vYmFyYmF6cXV4MTIzNDU2";

function assertHidden(text: string, secret = SECRET): void {
  assert.ok(!text.includes(secret), `the secret shows in: ${text}`);
  assert.ok(!text.includes(secret.slice(4, 16)), `a part of the secret shows in: ${text}`);
}

suite("environment variables", () => {
  test("work with no file at all", (t) => {
    const env = {
      OPENAI_API_KEY: SECRET,
      OPENAI_BASE_URL: "http://127.0.0.1:1/v1",
      DATABASE_URL: "postgres://u:p@db/weir",
    };
    const config = loadConfig({ cwd: folderWith(t, {}), env });
    assert.equal(config.llm.apiKey, SECRET);
    assert.equal(config.llm.baseUrl, "http://127.0.0.1:1/v1");
    assert.equal(config.database.url, "postgres://u:p@db/weir");
  });

  test("that are empty count as not set", (t) => {
    const config = loadConfig({
      cwd: folderWith(t, {}),
      env: { OPENAI_API_KEY: "", OPENAI_BASE_URL: "  ", DATABASE_URL: "" },
    });
    assert.deepEqual([config.llm.apiKey, config.llm.baseUrl, config.database.url], [null, null, null]);
  });

  test("that the file names must be set", (t) => {
    const error = configErrorFrom(t, '[llm]\napi_key = "env:OPENAI_API_KEY"', { OPENAI_API_KEY: "" });
    assert.match(error.message, /config\.toml:2:1 +llm\.api_key\n.*OPENAI_API_KEY is not set, or empty/);
  });

  test("of another name are used when the file names them", (t) => {
    const toml = '[llm]\napi_key = "env:MINE"\nbase_url = "env:SERVER"\n[database]\nurl = "env:DB"';
    const env = { MINE: "k", SERVER: "https://h/v1", DB: "postgresql://h/d", OPENAI_API_KEY: "other" };
    const config = configFrom(t, toml, env);
    assert.deepEqual(
      [config.llm.apiKey, config.llm.baseUrl, config.database.url],
      ["k", "https://h/v1", "postgresql://h/d"],
    );
  });

  test("of the model server are those of the embedding model, unless it has a server of its own", (t) => {
    const env = { OPENAI_API_KEY: SECRET, OPENAI_BASE_URL: "http://127.0.0.1:1/v1" };
    const named = '[llm.embeddings]\nmodel = "words"\n';
    const of = { model: "words", sentAs: "words", dimensions: 0, serverHeaders: {} };
    assert.equal(configFrom(t, "", env).llm.embeddings, null);
    const shared = { ...of, baseUrl: env.OPENAI_BASE_URL, apiKey: SECRET };
    assert.deepEqual(configFrom(t, named, env).llm.embeddings, shared);
    const baseUrl = "http://127.0.0.1:2/v1";
    const own = configFrom(t, `${named}base_url = "${baseUrl}"`, env);
    assert.deepEqual(own.llm.embeddings, { ...of, baseUrl, apiKey: null }, "no key for a stranger");
    const byKey = configFrom(t, named, { ...env, EMBEDDINGS_API_KEY: "k" });
    assert.deepEqual(byKey.llm.embeddings, { ...of, baseUrl: null, apiKey: "k" });
    assert.match(configErrorFrom(t, named, {}).message, /:2:1 +llm\.embeddings\.model\n.*no server is known/);
  });

  test("that cannot be used are named, and what they hold is not shown", (t) => {
    const env = {
      OPENAI_API_KEY: `${SECRET} x`,
      OPENAI_BASE_URL: SECRET,
      DATABASE_URL: `mysql://u:${SECRET}@h/d`,
    };
    const { message, problems } = errorOf(() => loadConfig({ cwd: folderWith(t, {}), env }));
    assert.equal(problems.length, 3);
    for (const name of Object.keys(env)) assert.match(message, new RegExp(`${name} cannot be used`));
    assertHidden(message);
  });
});

suite("the model server's address in the environment", () => {
  const addresses = [
    `http://u:${SECRET}@host/v1`,
    `http://${SECRET}@host/v1`,
    `https://host/v1?key=${SECRET}`,
    `https://host/v1#${SECRET}`,
  ];
  for (const address of addresses) {
    test(`${address.replaceAll(SECRET, "SECRET")} is refused and does not show`, (t) => {
      const { message } = configErrorFrom(t, "", { OPENAI_BASE_URL: address });
      assert.match(
        message,
        /variable OPENAI_BASE_URL cannot be used\n.*without user, password and query: a key belongs in OPENAI_API_KEY/,
      );
      assertHidden(message);
      const named = configErrorFrom(t, '[llm]\nbase_url = "env:MINE"', { MINE: address });
      assert.match(named.message, /config\.toml:2:1 +llm\.base_url\n.*variable MINE cannot be used/);
      assertHidden(named.message);
    });
  }
});

suite(".env", () => {
  test("beside the file is read, and the real environment wins", (t) => {
    const cwd = folderWith(t, {
      "etc/weir.toml": "",
      "etc/.env":
        "\uFEFF# comment\r\nexport OPENAI_API_KEY='from file'\r\n\r\nDATABASE_URL=postgres://a/b # why\r\n",
      ".env": "OPENAI_BASE_URL=http://not-this-one/",
    });
    const env = { OPENAI_API_KEY: "real" };
    const config = loadConfig({ cwd, file: "etc/weir.toml", env });
    assert.equal(config.llm.apiKey, "real");
    assert.equal(config.database.url, "postgres://a/b");
    assert.equal(config.llm.baseUrl, null);
  });

  test("in the working directory is read where there is no file", (t) => {
    const cwd = folderWith(t, { ".env": 'OPENAI_API_KEY="k"\n' });
    assert.equal(loadConfig({ cwd, env: {} }).llm.apiKey, "k");
  });

  test("is overruled by a real variable that is empty", (t) => {
    const cwd = folderWith(t, { ".env": "OPENAI_API_KEY=k" });
    assert.equal(loadConfig({ cwd, env: { OPENAI_API_KEY: "" } }).llm.apiKey, null);
  });

  test("with a line that sets nothing is an error that names the line and hides it", (t) => {
    const cwd = folderWith(t, { ".env": `A=1\n${SECRET}\n` });
    const { message } = errorOf(() => loadConfig({ cwd, env: {} }));
    assert.match(message, /\.env:2\n.*not of the form NAME=value/);
    assertHidden(message);
  });

  test("with a quote that is never closed is an error that names its line", (t) => {
    const cwd = folderWith(t, { ".env": `A="two\nlines"\nB="${SECRET}\nC=1\n` });
    const { message } = errorOf(() => loadConfig({ cwd, env: {} }));
    assert.match(message, /\.env:3\n.*closing quote/);
    assertHidden(message);
  });

  test("that is no text is an error", (t) => {
    const cwd = folderWith(t, { ".env": Buffer.from([0x41, 0x3d, 0xff, 0xfe]) });
    assert.match(errorOf(() => loadConfig({ cwd, env: {} })).message, /\.env:1\n.*UTF-8/);
    const folder = folderWith(t, { ".env/x": "" });
    assert.match(errorOf(() => loadConfig({ cwd: folder, env: {} })).message, /\.env\n.*is a folder/);
  });
});

suite("a secret in the file", () => {
  const places: string[] = [
    `[llm]\napi_key = "${SECRET}"`,
    `[llm]\napi_key = ["${SECRET}"]`,
    `[llm]\napi_key = "${SECRET}`,
    `[llm]\napi_key = ${SECRET}`,
    `[llm]\napi_key = """\n${SECRET}`,
    `[llm]\napi_kye = "${SECRET}"`,
    `[llm]\nbase_url = "${SECRET}"`,
    `[llm]\nbase_url = "http://u:${SECRET}@host/v1"`,
    `[llm]\nbase_url = "http://host/v1?key=${SECRET}"`,
    `[llm]\n${SECRET}`,
    `[llm]\n${SECRET} = 1`,
    `[${SECRET}]`,
    `[${SECRET}`,
    `# ${SECRET}\u0001`,
    `[defaults]\nmodel = "${SECRET}`,
    `[log]\nlevel = "${SECRET}"`,
    `[database]\nurl = "postgres://u:${SECRET}@h/d"`,
    `[database]\nurl = "env:${SECRET}"`,
    `[platforms.loopback]\nurl = "http://${SECRET}@h/"`,
  ];
  for (const toml of places) {
    test(`${JSON.stringify(toml.replaceAll(SECRET, "SECRET"))} is refused and does not show`, (t) => {
      const error = configErrorFrom(t, toml);
      assertHidden(error.message);
      assertHidden(JSON.stringify(error.problems));
      assertHidden(String(error.stack));
    });
  }

  test("of any shape, at llm.api_key or database.url, never shows", (t) => {
    const password = fc.stringMatching(/^[A-Za-z0-9_.!@$%&*+-]{16,40}$/);
    fc.assert(
      fc.property(password, fc.constantFrom("[llm]\napi_key", "[database]\nurl"), (secret, key) => {
        const { message } = configErrorFrom(t, `${key} = "${secret}"`);
        assert.match(message, /env:NAME/);
        assert.ok(!message.includes(secret));
      }),
      { numRuns: 100 },
    );
  });
});

suite("the description of a configuration", () => {
  const env = {
    OPENAI_API_KEY: SECRET,
    OPENAI_BASE_URL: `https://models.example/${SECRET}/v1`,
    DATABASE_URL: `postgres://user:${SECRET}@db.example:5432/weir?password=${SECRET}`,
  };

  test("says which secrets are set, and never what they are", (t) => {
    const text = describeConfig(configFrom(t, "", env));
    assertHidden(text);
    assert.match(text, /API key +set$/m);
    assert.match(text, /database +set \(Postgres at db\.example:5432\/weir\)/);
    assert.match(text, /model server +https:\/\/models\.example$/m);
  });

  test("says of every agent its models, window and thresholds", (t) => {
    const text = describeConfig(
      configFrom(
        t,
        '[[agents]]\nid = "a"\nname = "Ada"\nmodel = "m"\nfallbacks = ["n"]\ncontext_window = 9000\n',
      ),
    );
    assert.match(text, /agent a \("Ada"\)\n +model +m, then n\n/);
    assert.match(text, /9000 tokens, 2250 kept free/);
    assert.match(text, /target 60 %, background 80 %, aggressive 85 %, emergency 95 %/);
  });
});

test("variables of the model server are those of the model that transcribes, unless it has a server of its own", (t) => {
  const env = { OPENAI_API_KEY: SECRET, OPENAI_BASE_URL: "http://127.0.0.1:1/v1" };
  const named = '[llm.transcription]\nmodel = "words"\n';
  const of = { model: "words", sentAs: "words", withinMs: 20_000, serverHeaders: {} };
  assert.equal(configFrom(t, "", env).llm.transcription, null);
  const shared = { ...of, baseUrl: env.OPENAI_BASE_URL, apiKey: SECRET };
  assert.deepEqual(configFrom(t, named, env).llm.transcription, shared);
  const byKey = configFrom(t, named, { ...env, TRANSCRIPTION_API_KEY: "k" });
  assert.deepEqual(byKey.llm.transcription, { ...of, baseUrl: null, apiKey: "k" });
  assert.match(
    configErrorFrom(t, named, {}).message,
    /:2:1 +llm\.transcription\.model\n.*no server is known/,
  );
});
