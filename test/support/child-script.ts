import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";

/** A running script of test/support in its own process, after its first line. */
export interface ChildScript extends AsyncDisposable {
  readonly child: ChildProcess;
  readonly firstLine: string;
}

/**
 * Starts a script and waits for its first line. Disposing ends its input, and waits for its end.
 * @throws Error if it ends without a line
 */
export async function startChildScript(name: string, ...args: readonly string[]): Promise<ChildScript> {
  const child = spawn(process.execPath, [join(import.meta.dirname, name), ...args], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  const ended = once(child, "exit");
  const lines = createInterface({ input: child.stdout });
  const firstLine = await Promise.race([
    once(lines, "line").then(([line]) => String(line)),
    ended.then(() => null),
  ]);
  if (firstLine === null) throw new Error(`${name} ended without a word`);
  return {
    child,
    firstLine,
    async [Symbol.asyncDispose]() {
      child.stdin.end();
      await ended;
    },
  };
}
