// proves: src/platforms/row.ts, src/platforms/discord/row.ts, src/platforms/slack/row.ts
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { secretsOf } from "../../src/admin/secrets.ts";
import type { Config } from "../../src/config/config.ts";
import { changesBetween } from "../../src/config/changes.ts";
import { describeConfig } from "../../src/config/describe-config.ts";
import { secretVariable } from "../../src/config/references.ts";
import { knownKeys, secretOptions } from "../../src/config/schema-walk.ts";
import { PLATFORM_ROWS } from "../../src/platforms/platforms.ts";
import { isId } from "../../src/router/bindings.ts";
import { configFrom } from "../config/folder.ts";

const ROOT = join(import.meta.dirname, "../..");

for (const row of PLATFORM_ROWS) {
  const { key, title } = row;
  const secrets = secretOptions(["platforms", key]);
  const env = Object.fromEntries(
    secrets.map((option) => [secretVariable(key, option), `hidden-${option}-of-${key}`]),
  );

  describe(`the row of ${title}`, () => {
    test("names a folder and a page that there are", () => {
      assert.match(key, /^[a-z]+$/);
      assert.ok(existsSync(join(ROOT, "src/platforms", key, "row.ts")));
      assert.ok(existsSync(join(ROOT, row.guide)), row.guide);
    });

    test("is on with its secrets, off without its token, and never half of it without a word", (t) => {
      assert.notEqual(configFrom(t, "", env).platforms[key], null);
      const { [secretVariable(key, row.token)]: _, ...others } = env;
      const off = configFrom(t, "", others);
      assert.equal(off.platforms[key], null);
      assert.match(
        describeConfig(off),
        new RegExp(`^${title} +off: ${secretVariable(key, row.token)} is not set$`, "m"),
      );
      const alone = configOrNull(() => configFrom(t, "", { [secretVariable(key, row.token)]: "hidden" }));
      assert.ok(
        alone === null || alone.platforms[key] !== null,
        "its token alone leaves it off, and is no mistake",
      );
    });

    test("keeps its secrets to itself: each is masked, and none is shown", (t) => {
      const config = configFrom(t, "", env);
      const known = secretsOf(config);
      for (const value of Object.values(env)) assert.ok(known.includes(value), "a secret is not masked");
      assert.doesNotMatch(describeConfig(config), /hidden-/);
      const { live, atStart } = changesBetween(configFrom(t, "", {}), config);
      assert.doesNotMatch([...live, ...atStart].join(), /hidden-/);
    });

    test("tells of changes by the options of its section", (t) => {
      const read = (of: string, values: typeof env): Config =>
        configFrom(t, `[database]\ndata_dir = "/data"\n[platforms.${key}]\n${of}`, values);
      const { live, atStart } = changesBetween(
        read("", env),
        read(
          'dm = "off"\ncatch_up_max_age_ms = 1',
          Object.fromEntries(Object.entries(env).map(([name, value]) => [name, `${value}-anew`])),
        ),
      );
      assert.deepEqual(live, [`platforms.${key}.dm`]);
      const options = new Set(knownKeys(["platforms", key]).map((option) => `platforms.${key}.${option}`));
      assert.deepEqual(
        atStart.filter((option) => !options.has(option)),
        [],
      );
      assert.ok(atStart.includes(`platforms.${key}.catch_up_max_age_ms`));
      assert.ok(atStart.includes(`platforms.${key}.${row.token}`));
    });

    test("asks in weir init for secrets that there are, its token among them, and knows an id of a person", () => {
      const asked = row.questions.secrets.map(({ option }) => option);
      assert.ok(asked.includes(row.token));
      assert.deepEqual(
        asked.filter((option) => !secrets.includes(option)),
        [],
      );
      assert.doesNotMatch(title, row.questions.person);
    });
  });
}

test("an id of any platform is no name", () => {
  for (const id of ["123456789012345678", "C012AB3CD"]) assert.ok(isId(id));
  for (const name of ["general", "1234", "COMMUNITY"]) assert.ok(!isId(name));
});

/** Null: the configuration is refused. */
function configOrNull(load: () => Config): Config | null {
  try {
    return load();
  } catch {
    return null;
  }
}
