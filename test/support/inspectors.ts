// Runs several commands of Weir in one process of their own. Arguments: a JSON list of lists of words.
import { OperatorError } from "../../src/core/errors.ts";
import { createProgram } from "../../src/cli/program.ts";

const { stdin, stdout, stderr } = process;
const io = {
  cwd: process.cwd(),
  stdin,
  stdout,
  stderr,
  shutdown: new AbortController().signal,
  onHangUp: () => undefined,
  tellReady: () => undefined,
};
const commands: string[][] = JSON.parse(process.argv[2] ?? "[]");
for (const words of commands) {
  try {
    await createProgram(io).parseAsync(["node", "weir", ...words]);
  } catch (error) {
    // What an operator is told instead of an answer.
    if (!(error instanceof OperatorError)) throw error;
    stderr.write(`${error.message}\n`);
  }
}
