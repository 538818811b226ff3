#!/usr/bin/env node
import { enableCompileCache } from "node:module";
import { join } from "node:path";
import process from "node:process";
import { LONGEST_TIMER_MS, MAX_DRAIN_MS } from "./async/clock.ts";
import { type Io, SEEN_ENOUGH } from "./cli/shared/io.ts";
import { createProgram } from "./cli/program.ts";
import { reportFailure } from "./cli/shared/report-failure.ts";
import { neverBlock } from "./telemetry/bounded-output.ts";

// What a command imports is compiled once, and read from here by the next command and the next start.
enableCompileCache(join(import.meta.dirname, "..", "node_modules", ".cache", "weir-code"));

/** Past the longest drain deadline, and the time to stop a Postgres, something hangs: end anyway, the log keeps what is left. */
const FORCED_EXIT_MS = MAX_DRAIN_MS + 30_000;
/** How long a process that is done waits for readers of its output. */
const STALLED_READER_MS = 2000;
/**
 * One request to stop can arrive as two signals: the process gets it from the terminal (Ctrl-C) or from what stops a
 * whole group of processes (systemd, `timeout`), and again from npm. Signals within this time count as one, ms.
 */
const SAME_SIGNAL_MS = 150;

const shutdown = new AbortController();
let signals: "none" | "same request" | "another ends it" = "none";

/** The first signal drains, the second ends at once. */
function onSignal(signal: NodeJS.Signals): void {
  if (signals === "same request") return;
  if (signals === "another ends it") process.exit(signal === "SIGINT" ? 130 : 143);
  signals = "same request";
  const over = (): void => {
    signals = "another ends it";
  };
  // A busy process hears of a signal late: first of those that came meanwhile.
  setTimeout(() => setImmediate(over), SAME_SIGNAL_MS).unref();
  drain();
}

function drain(): void {
  if (shutdown.signal.aborted) return;
  shutdown.abort();
  setTimeout(() => {
    process.stderr.write(
      "Weir hangs while it stops, and ends now. What is left to do is in the log, for the next start.\n",
    );
    process.exit(1);
  }, FORCED_EXIT_MS).unref();
}
process.on("SIGINT", onSignal);
process.on("SIGTERM", onSignal);
/**
 * A closing terminal sends SIGHUP, often more than once. The process then finishes its work as at the first SIGTERM, so
 * that no Postgres is left running.
 */
let hangUp = drain;
process.on("SIGHUP", () => hangUp());
// The process manager died: the one that comes after it starts a daemon of its own, which this one must make way for.
process.on("disconnect", () => {
  // The part of pm2 in this process sends by it, and ends the process at once where nobody is there to send to.
  Reflect.deleteProperty(process, "send");
  drain();
});
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  // `weir log … | head` has seen enough: no failure, but what is open has to be closed in order.
  shutdown.abort(error.code === "EPIPE" ? SEEN_ENOUGH : undefined);
  if (error.code === "EPIPE") return;
  process.stderr.write(`The output cannot be written: ${error.message}\n`);
  process.exitCode = 1;
});
// There is nobody left to tell that it can't be written.
process.stderr.on("error", () => undefined);
for (const stream of [process.stdout, process.stderr]) neverBlock(stream);

const io: Io = {
  cwd: process.cwd(),
  stdin: process.stdin,
  stdout: process.stdout,
  stderr: process.stderr,
  shutdown: shutdown.signal,
  onHangUp(listener) {
    hangUp = listener;
  },
  onExit: (work) => process.once("exit", work),
  tellReady: () => process.send?.("ready"),
};

// A promise keeps no process alive: a daemon that waits for its first message would end with its last idle socket.
const alive = setInterval(() => undefined, LONGEST_TIMER_MS);
try {
  await createProgram(io).parseAsync(process.argv);
} catch (error) {
  process.exitCode = reportFailure(io, error);
}
clearInterval(alive);
// A terminal's input or a keep-alive socket may still hold the event loop, though all work is done.
process.stdin.unref?.();
// Not cut: pm2 would end the process with a code of its own.
process.channel?.unref();
// Somebody may page through an output for hours; a reader of the log that stalls keeps nothing alive.
if (shutdown.signal.aborted || process.stdout.writableLength === 0)
  setTimeout(() => process.exit(), STALLED_READER_MS).unref();
