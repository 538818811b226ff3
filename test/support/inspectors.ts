import assert from "node:assert/strict";
import { runShared } from "./command-line.ts";

/**
 * Runs commands of Weir, one after another, as programs beside the daemon.
 * @param env variables besides those of the process
 * @returns their output; for an operator's error, its message
 */
export async function inspect(
  cwd: string,
  env: Readonly<Record<string, string>>,
  commands: readonly (readonly string[])[],
): Promise<{ readonly stdout: string; readonly stderr: string }> {
  const printed = { stdout: "", stderr: "" };
  for (const words of commands) {
    const ended = await runShared({ words, cwd, env: { ...process.env, ...env } });
    assert.ok(ended !== null, `"${words.join(" ")}" shares a process`);
    // An unexpected error has a stack.
    assert.doesNotMatch(ended.stderr, /^ +at /m);
    printed.stdout += ended.out.map((line) => `${line}\n`).join("");
    if (ended.stderr !== "") printed.stderr += `${ended.stderr}\n`;
  }
  return printed;
}
