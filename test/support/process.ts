import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { Socket } from "node:net";
import { createInterface } from "node:readline";
import { setTimeout as delay } from "node:timers/promises";
import { Patience, workOf } from "./patience.ts";

export interface ProcessOptions {
  readonly cwd: string;
  readonly env: NodeJS.ProcessEnv;
  /** The account that it runs as. Default: the test's own. */
  readonly uid?: number;
  readonly gid?: number;
}

export interface Ending {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** Interval of checks for signs of life, ms. */
const LOOK_MS = 500;

/** A real process, read line by line. Disposing kills it if it still runs. */
export class TestProcess implements AsyncDisposable {
  readonly pid: number;
  /** Lines of its standard output so far. */
  readonly out: string[] = [];
  /** Lines of its standard error so far. */
  readonly err: string[] = [];
  /** Resolves when it has ended and all its output was read. */
  readonly ended: Promise<Ending>;
  readonly #child: ChildProcess;
  readonly #command: string;
  readonly #waiting = new Set<() => void>();
  #ending: Ending | null = null;

  constructor(command: string, args: readonly string[], options: ProcessOptions) {
    const { cwd, env, uid, gid } = options;
    const child = spawn(command, args, {
      cwd,
      env,
      ...(uid !== undefined && { uid }),
      ...(gid !== undefined && { gid }),
      stdio: ["pipe", "pipe", "pipe"],
    });
    this.#child = child;
    this.#command = args.join(" ");
    this.pid = child.pid ?? 0;
    // A killed process reads no more: later input is intentionally lost.
    child.stdin.on("error", () => undefined);
    this.#collect(child.stdout, this.out);
    this.#collect(child.stderr, this.err);
    this.ended = once(child, "close").then(([code, signal]): Ending => {
      this.#ending = { code: Number.isInteger(code) ? Number(code) : null, signal: signal ?? null };
      this.#wake();
      return this.#ending;
    });
  }

  get stderr(): string {
    return this.err.join("\n");
  }

  get isOver(): boolean {
    return this.#ending !== null;
  }

  write(text: string): void {
    this.#child.stdin?.write(text);
  }

  /** Lets the test's process end first, which ends this one's input. */
  unref(): void {
    this.#child.unref();
    const { stdin, stdout, stderr } = this.#child;
    for (const stream of [stdin, stdout, stderr]) if (stream instanceof Socket) stream.unref();
  }

  endInput(): void {
    this.#child.stdin?.end();
  }

  /** Stops reading its standard output, like `head`. */
  closeOutput(): void {
    this.#child.stdout?.destroy();
  }

  signal(signal: NodeJS.Signals): void {
    if (!this.isOver) process.kill(this.pid, signal);
  }

  /** kill -9. */
  async kill(): Promise<void> {
    this.signal("SIGKILL");
    await this.ended;
  }

  /** Ends the input and waits for the end. */
  async finish(): Promise<Ending> {
    this.endInput();
    await this.until("its end", () => this.isOver);
    return this.ended;
  }

  /** Resolves with the first line of the standard output, past or future, that contains this. */
  async line(wanted: string): Promise<string> {
    return this.until(`a line with "${wanted}"`, () => this.out.find((line) => line.includes(wanted)));
  }

  /** Resolves with the first line of the standard error, past or future, that contains this. */
  async errorLine(wanted: string): Promise<string> {
    return this.until(`an error line with "${wanted}"`, () => this.err.find((line) => line.includes(wanted)));
  }

  /**
   * Resolves with the function's result once it is truthy; it is called again after each line.
   * @throws Error with the process's output if it ends before, or neither writes nor works any more
   */
  async until<Found>(what: string, look: () => Found | undefined | false): Promise<Found> {
    const patience = new Patience(() => this.out.length + this.err.length + workOf(this.pid));
    for (;;) {
      const found = look();
      if (found !== undefined && found !== false) return found;
      if (this.isOver) throw this.#disappointment(what, `it ended with ${JSON.stringify(this.#ending)}`);
      const why = patience.whyOver();
      if (why !== null) throw this.#disappointment(what, why);
      await this.#next(LOOK_MS);
    }
  }

  /** Resolves when it has handled its input, such as a signal, and waits for something else. */
  async untilIdle(): Promise<void> {
    await delay(LOOK_MS);
    while (!this.isOver && isAtWork(this.pid)) await delay(LOOK_MS);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.signal("SIGKILL");
    await this.ended;
  }

  async #next(withinMs: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, withinMs);
    this.#waiting.add(resolve);
    await promise;
    clearTimeout(timer);
    this.#waiting.delete(resolve);
  }

  #collect(stream: NodeJS.ReadableStream, lines: string[]): void {
    createInterface({ input: stream }).on("line", (line) => {
      lines.push(line);
      this.#wake();
    });
  }

  #wake(): void {
    for (const resolve of this.#waiting) resolve();
  }

  #disappointment(what: string, why: string): Error {
    const tail = (lines: readonly string[]): string => lines.slice(-15).join("\n");
    return new Error(
      `\`${this.#command}\` did not bring ${what}: ${why}\nstdout:\n${tail(this.out)}\nstderr:\n${tail(this.err)}`,
    );
  }
}

/** Whether its main thread runs or is ready to run; false if the system does not provide it. */
function isAtWork(pid: number): boolean {
  try {
    return /^\d+ \(.*\) R /s.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch {
    return false;
  }
}
