import assert from "node:assert/strict";
import { runShared } from "./command-line.ts";

/**
 * Runs commands of Weir, one after the other, as programs beside the daemon.
 * @param env variables that the commands find, beside those of the process
 * @returns what they print; of one that ends with an error for the operator, its message
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
    // An error that nobody foresaw comes with its stack.
    assert.doesNotMatch(ended.stderr, /^ +at /m);
    printed.stdout += ended.out.map((line) => `${line}\n`).join("");
    if (ended.stderr !== "") printed.stderr += `${ended.stderr}\n`;
  }
  return printed;
}
