/**
 * Writes what is made of the source, so that a fact stands in one place: config.toml and docs/configuration.md of the
 * configuration's schema, docs/commands.md of the commands, .env.example of the platforms,
 * and Grafana's dashboard. `npm run generate`; a test compares.
 */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { commandsPage } from "./generate/commands-page.ts";
import { configFile } from "./generate/config-file.ts";
import { configurationPage } from "./generate/configuration-page.ts";
import { dashboard } from "./generate/dashboard.ts";
import { envExample } from "./generate/env-example.ts";

/** Each file, as a path from the project's folder, with its text. */
export function generatedFiles(): ReadonlyMap<string, string> {
  return new Map([
    ["config.toml", configFile()],
    ["docs/configuration.md", configurationPage()],
    ["docs/commands.md", commandsPage()],
    [".env.example", envExample()],
    ["ops/grafana/weir.json", dashboard()],
  ]);
}

if (import.meta.main) {
  for (const [file, text] of generatedFiles()) {
    writeFileSync(join(import.meta.dirname, "..", file), text);
    process.stdout.write(`${file}\n`);
  }
}
