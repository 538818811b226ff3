import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import path from "node:path";
import { test } from "node:test";
import { parseEnv } from "node:util";

test("the example of a .env sets nothing as it is, and names what Weir reads", async () => {
  const text = await readFile(path.join(import.meta.dirname, "../../.env.example"), "utf8");
  assert.deepEqual(parseEnv(text), {});
  const filled = parseEnv(text.replaceAll(/^# (?=[A-Z_]+=)/gm, ""));
  assert.deepEqual(Object.keys(filled).toSorted(), [
    "AMQP_URL",
    "DATABASE_URL",
    "DISCORD_TOKEN",
    "OPENAI_API_KEY",
    "OPENAI_BASE_URL",
    "OTEL_EXPORTER_OTLP_ENDPOINT",
    "OTEL_EXPORTER_OTLP_HEADERS",
    "SLACK_APP_TOKEN",
    "SLACK_BOT_TOKEN",
    "WEIR_HTTP_TOKEN",
  ]);
});
