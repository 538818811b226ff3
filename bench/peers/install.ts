import { execFile } from "node:child_process";
import { copyFile, mkdir, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import { errorMessage } from "../../src/core/errors.ts";
import type { LibraryName } from "./peer.ts";

/** The newest versions of November 2026. */
const VERSIONS: Readonly<Record<LibraryName, Readonly<Record<string, string>>>> = {
  langgraph: {
    langchain: "1.5.14",
    "@langchain/langgraph": "1.7.3",
    "@langchain/core": "1.4.0",
    "@langchain/openai": "1.6.0",
    "@langchain/langgraph-checkpoint-postgres": "1.0.5",
  },
  mastra: { "@mastra/core": "1.71.0", "@mastra/memory": "1.31.0", "@mastra/pg": "1.27.1" },
};

const INSTALL_MS = 300_000;

/**
 * Installs a peer outside this repository, and puts its adapter beside its packages, where it finds them. A second run
 * uses what the first one installed.
 * @returns the adapter
 * @throws Error with a sentence why it cannot be installed
 */
export async function installPeer(name: LibraryName): Promise<string> {
  const folder = path.join(tmpdir(), "weir-bench-peers", name);
  const adapter = path.join(folder, `${name}.mjs`);
  await mkdir(folder, { recursive: true });
  const manifest = { private: true, type: "module", dependencies: VERSIONS[name] };
  await writeFile(path.join(folder, "package.json"), JSON.stringify(manifest));
  await copyFile(path.join(import.meta.dirname, `${name}.mjs`), adapter);
  const words = [
    "install",
    "--no-audit",
    "--no-fund",
    "--ignore-scripts",
    "--prefer-offline",
    "--loglevel=error",
  ];
  try {
    await promisify(execFile)("npm", words, { cwd: folder, timeout: INSTALL_MS });
  } catch (cause) {
    const said = errorMessage(cause);
    const reason = /npm error (code \S+)/.exec(said)?.[1] ?? said.slice(0, 200);
    throw new Error(`npm could not install it (${reason}).`, { cause });
  }
  return adapter;
}
