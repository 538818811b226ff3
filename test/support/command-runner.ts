/**
 * Run by tests: runs commands of Weir one after another, as `src/main.ts` runs each in its own process. A line of its
 * standard input is a command; after each, both outputs get a line that marks its end.
 */
import process from "node:process";
import { createInterface } from "node:readline";
import { createProgram } from "../../src/cli/program.ts";
import { reportFailure } from "../../src/cli/shared/report-failure.ts";
import { neverBlock } from "../../src/telemetry/bounded-output.ts";
import { END_OF_COMMAND, type RunnerCommand } from "./command-line.ts";

const { stdin, stdout, stderr } = process;
for (const stream of [stdout, stderr]) neverBlock(stream);

async function carryOut({ words, cwd, env }: RunnerCommand): Promise<number> {
  process.chdir(cwd);
  for (const name of Object.keys(process.env)) Reflect.deleteProperty(process.env, name);
  Object.assign(process.env, env);
  const io = {
    cwd: process.cwd(),
    stdin,
    stdout,
    stderr,
    shutdown: new AbortController().signal,
    onHangUp: () => undefined,
    onExit: () => undefined,
    tellReady: () => undefined,
  };
  try {
    await createProgram(io).parseAsync(["node", "weir", ...words]);
    return 0;
  } catch (error) {
    return reportFailure(io, error);
  }
}

// A command may wait for promises that keep no process alive.
setInterval(() => undefined, 60_000);
const lines = createInterface({ input: stdin });
lines.on("close", () => process.exit());
for await (const line of lines) {
  // oxlint-disable-next-line no-unsafe-type-assertion -- the test wrote it
  const code = await carryOut(JSON.parse(line) as RunnerCommand);
  for (const stream of [stdout, stderr]) stream.write(`${END_OF_COMMAND}${code}\n`);
}
