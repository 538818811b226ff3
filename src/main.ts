#!/usr/bin/env node
import process from "node:process";
import { CommanderError } from "commander";
import type { Io } from "./cli/io.ts";
import { createProgram } from "./cli/program.ts";
import { errorMessage, OperatorError } from "./core/errors.ts";

/** Past the drain deadline of any configuration something hangs: end anyway, the log keeps what is left. */
const FORCED_EXIT_MS = 120_000;
/** npm passes a Ctrl-C on to a child that the terminal has signalled already: one key press, two signals. */
const SAME_SIGNAL_MS = 150;

const shutdown = new AbortController();
let signalledAt = 0;

/** The first signal drains, the second ends at once. */
function onSignal(signal: NodeJS.Signals): void {
  const now = performance.now();
  if (shutdown.signal.aborted) {
    if (signal === "SIGINT" && now - signalledAt < SAME_SIGNAL_MS) return;
    process.exit(signal === "SIGINT" ? 130 : 143);
  }
  signalledAt = now;
  shutdown.abort();
  setTimeout(() => process.exit(1), FORCED_EXIT_MS).unref();
}
process.on("SIGINT", onSignal);
process.on("SIGTERM", onSignal);

const io: Io = {
  cwd: process.cwd(),
  stdin: process.stdin,
  stdout: process.stdout,
  stderr: process.stderr,
  shutdown: shutdown.signal,
  tellReady: () => process.send?.("ready"),
};

try {
  await createProgram(io).parseAsync(process.argv);
} catch (error) {
  process.exitCode = report(error);
}
// What still holds the event loop (a terminal's input, a keep-alive socket) is nobody's work any more.
process.stdin.unref?.();
process.disconnect?.();

/** Says what went wrong, in words for whoever has to act on it. @returns the exit code */
function report(error: unknown): number {
  if (error instanceof CommanderError) return error.exitCode;
  const text =
    error instanceof OperatorError
      ? error.message
      : error instanceof Error
        ? error.stack
        : errorMessage(error);
  process.stderr.write(`${text}\n`);
  return 1;
}
