import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { auditText } from "../../../src/cli/audit/texts.ts";

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
