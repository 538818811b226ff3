// proves: scripts/generate.ts, src/config/schema/file.ts, src/config/schema/agents.ts, src/config/schema/platforms.ts
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { generatedFiles } from "../scripts/generate.ts";

for (const [file, text] of generatedFiles()) {
  test(`${file} is what \`npm run generate\` makes of the source`, () => {
    const found = readFileSync(join(import.meta.dirname, "..", file), "utf8");
    assert.equal(found, text, `${file} is out of date: run \`npm run generate\``);
  });
}
