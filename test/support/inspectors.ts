import { PassThrough, Writable } from "node:stream";
import { createProgram } from "../../src/cli/program.ts";
import type { Io } from "../../src/cli/io.ts";
import { OperatorError } from "../../src/core/errors.ts";

/**
 * Runs commands of Weir, one after the other, as programs beside the daemon do: each reads its own configuration and opens its own
 * connections. They run in the test's process, as to start one takes longer than most of them.
 * @param env variables that the commands find, beside those of the process
 * @returns what they print; of one that ends with an error for the operator, its message
 */
export async function inspect(
  cwd: string,
  env: Readonly<Record<string, string>>,
  commands: readonly (readonly string[])[],
): Promise<{ readonly stdout: string; readonly stderr: string }> {
  const before = Object.keys(env).map((name) => [name, process.env[name]] as const);
  const printed = { stdout: new Kept(), stderr: new Kept() };
  // oxlint-disable-next-line no-unsafe-type-assertion -- what no terminal reads or writes
  const io = {
    ...printed,
    cwd,
    stdin: new PassThrough().end(),
    shutdown: new AbortController().signal,
    onHangUp: () => undefined,
    tellReady: () => undefined,
  } as unknown as Io;
  Object.assign(process.env, env);
  try {
    for (const words of commands) await runOne(io, words);
  } finally {
    for (const [name, value] of before) {
      if (value === undefined) delete process.env[name];
      else process.env[name] = value;
    }
  }
  return { stdout: printed.stdout.text, stderr: printed.stderr.text };
}

async function runOne(io: Io, words: readonly string[]): Promise<void> {
  try {
    await createProgram(io).parseAsync(["node", "weir", ...words]);
  } catch (error) {
    // What an operator is told instead of an answer.
    if (!(error instanceof OperatorError)) throw error;
    io.stderr.write(`${error.message}\n`);
  }
}

class Kept extends Writable {
  text = "";

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.text += chunk.toString();
    done();
  }
}
