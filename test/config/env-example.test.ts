import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import path from "node:path";
import { test } from "node:test";
import { parseEnv } from "node:util";
import { secretVariable } from "../../src/config/references.ts";
import { PLATFORM_ROWS } from "../../src/platforms/platforms.ts";

const OTHERS = [
  "AMQP_URL",
  "DATABASE_URL",
  "OPENAI_API_KEY",
  "OPENAI_BASE_URL",
  "HTTPS_PROXY",
  "NO_PROXY",
  "OTEL_EXPORTER_OTLP_ENDPOINT",
  "OTEL_EXPORTER_OTLP_HEADERS",
  "WEIR_HTTP_TOKEN",
];

test("the example of a .env sets nothing as it is, and names what Weir reads", async () => {
  const text = await readFile(path.join(import.meta.dirname, "../../.env.example"), "utf8");
  assert.deepEqual(parseEnv(text), {});
  const filled = parseEnv(text.replaceAll(/^# (?=[A-Z_]+=)/gm, ""));
  const platforms = PLATFORM_ROWS.flatMap(({ key, questions }) =>
    questions.secrets.map(({ option }) => secretVariable(key, option)),
  );
  assert.deepEqual(new Set(Object.keys(filled)), new Set([...OTHERS, ...platforms]));
  for (const known of ["DISCORD_TOKEN", "SLACK_BOT_TOKEN"]) assert.ok(known in filled);
});
