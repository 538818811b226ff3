import { mkdtempSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { TestContext } from "node:test";
import type { Config } from "../../src/config/config.ts";
import { ConfigError } from "../../src/config/config-error.ts";
import type { Environment } from "../../src/config/environment.ts";
import { loadConfig } from "../../src/config/load.ts";

/** A fresh folder with these files, gone when the test ends. */
export function folderWith(t: TestContext, files: Readonly<Record<string, string | Uint8Array>>): string {
  const folder = mkdtempSync(join(tmpdir(), "weir-config-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), content);
  }
  return folder;
}

/** The configuration of a folder that has this `config.toml`, read with no other environment. */
export function configFrom(t: TestContext, toml: string | Uint8Array, env: Environment = {}): Config {
  return loadConfig({ cwd: folderWith(t, { "config.toml": toml }), env });
}

/** The error of a folder that has this `config.toml`. */
export function configErrorFrom(
  t: TestContext,
  toml: string | Uint8Array,
  env: Environment = {},
): ConfigError {
  return errorOf(() => configFrom(t, toml, env));
}

/** What it throws, which must be a ConfigError. */
export function errorOf(load: () => unknown): ConfigError {
  try {
    load();
  } catch (error) {
    if (error instanceof ConfigError) return error;
    throw error;
  }
  throw new Error("Expected a ConfigError; nothing was thrown");
}
