import path from "node:path";
import process from "node:process";
import { type Ending, TestProcess } from "./process.ts";

export interface RunnerCommand {
  /** The words after `weir`. */
  readonly words: readonly string[];
  readonly cwd: string;
  readonly env: NodeJS.ProcessEnv;
}

export type Outcome = Ending & { readonly out: string[]; readonly stderr: string };

/** No command writes this. */
export const END_OF_COMMAND = "\u0000end of the command: ";

/** They read the standard input, keep the process running, or are stopped by a signal. */
const ALONE = new Set(["chat", "init", "loopback", "migrate", "replay", "restore", "start"]);

let runner: TestProcess | null = null;
let isBusy = false;

/**
 * Runs a command to its end, in a process that all commands of this test file share: loading the code takes most of a
 * short command's time.
 * @returns null: it needs its own process
 */
export async function runShared(command: RunnerCommand): Promise<Outcome | null> {
  if (isBusy || ALONE.has(command.words[0] ?? "")) return null;
  isBusy = true;
  try {
    if (runner === null || runner.isOver) runner = startRunner(command.env);
    return await carryOut(runner, command);
  } finally {
    isBusy = false;
  }
}

/** It ends with the test's process, and does not keep that alive. */
function startRunner(env: NodeJS.ProcessEnv): TestProcess {
  const script = path.join(import.meta.dirname, "command-runner.ts");
  const started = new TestProcess(process.execPath, [script], { cwd: import.meta.dirname, env });
  started.unref();
  return started;
}

async function carryOut(shared: TestProcess, command: RunnerCommand): Promise<Outcome> {
  const outputs = [shared.out, shared.err] as const;
  for (const lines of outputs) lines.length = 0;
  shared.write(`${JSON.stringify(command)}\n`);
  const isEnded = (lines: readonly string[]): boolean => lines.at(-1)?.includes(END_OF_COMMAND) === true;
  await shared.until("the end of a command", () => shared.isOver || outputs.every(isEnded));
  if (shared.isOver) return { ...(await shared.ended), out: shared.out, stderr: shared.stderr };
  const [out, err] = outputs.map((lines) => {
    // Output without a line end precedes the end mark.
    const [rest = ""] = lines.at(-1)?.split(END_OF_COMMAND) ?? [];
    return [...lines.slice(0, -1), ...(rest === "" ? [] : [rest])];
  });
  const code = Number(shared.out.at(-1)?.split(END_OF_COMMAND)[1]);
  return { code, signal: null, out: out ?? [], stderr: (err ?? []).join("\n") };
}
