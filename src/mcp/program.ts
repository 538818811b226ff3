import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { once } from "node:events";
import {
  type JSONRPCMessage,
  ReadBuffer,
  serializeMessage,
  type Transport,
} from "@modelcontextprotocol/client";
import { getDefaultEnvironment } from "@modelcontextprotocol/client/stdio";
import { withDeadline } from "../async/deadline.ts";
import type { McpServerConfig } from "../config/config.ts";

export interface ProgramParts {
  readonly reach: Extract<McpServerConfig["reach"], { kind: "command" }>;
  /** Longest message, in bytes. */
  readonly longest: number;
  /** Longest time from the beginning of a message to its end: behind one that never ends no other can be read. */
  readonly lineMs: number;
  /** Gets the program's standard error. */
  readonly onStderr: (stream: NodeJS.EventEmitter) => void;
}

const LINE_END = 0x0a;
const IS_WINDOWS = process.platform === "win32";
/** Time for a program to end by itself, and again after the signal, ms. */
const GRACE_MS = 2000;
/** Time to read the output of a program that has ended, ms. */
const REST_MS = 2000;

/**
 * A server as a program, with all its processes: `npx` and shells start the server as another process, which would
 * outlive them. They form one process group, which also keeps a Ctrl-C for Weir from ending them before Weir's running
 * turn has finished. The SDK's own transport ends only the first process.
 */
export class ProgramTransport implements Transport {
  onclose?: (() => void) | undefined;
  onerror?: ((error: Error) => void) | undefined;
  onmessage?: ((message: JSONRPCMessage) => void) | undefined;
  readonly #parts: ProgramParts;
  readonly #read: ReadBuffer;
  #child: ChildProcessWithoutNullStreams | null = null;
  /** Resolves when no process holds its standard output. */
  #over: Promise<void> = Promise.resolve();
  #closing: Promise<void> | null = null;
  /** Runs while a message has begun and not ended. */
  #begun: NodeJS.Timeout | undefined;

  constructor(parts: ProgramParts) {
    this.#parts = parts;
    this.#read = new ReadBuffer({ maxBufferSize: parts.longest });
  }

  /** @throws Error if it cannot be started */
  async start(): Promise<void> {
    const { reach, onStderr } = this.#parts;
    const child = spawn(reach.command, reach.args, {
      cwd: reach.folder,
      env: { ...getDefaultEnvironment(), ...reach.env },
      stdio: "pipe",
      // Windows has no process groups: only the first process is ended there.
      detached: !IS_WINDOWS,
      windowsHide: true,
    });
    await once(child, "spawn");
    this.#child = child;
    this.#over = new Promise((resolve) => child.once("close", () => resolve()));
    child.on("error", (error) => this.onerror?.(error));
    child.stdin.on("error", (error) => this.onerror?.(error));
    child.stdout.on("error", (error) => this.onerror?.(error));
    child.stdout.on("data", (chunk: Buffer) => this.#take(chunk));
    onStderr(child.stderr);
    child.once("exit", () => void this.#end(REST_MS));
  }

  async send(message: JSONRPCMessage): Promise<void> {
    const child = this.#child;
    if (child === null || this.#closing !== null) throw new Error("the program has ended");
    const failed = await new Promise<Error | null>((resolve) => {
      child.stdin.write(serializeMessage(message), (error) => resolve(error ?? null));
    });
    if (failed === null) return;
    // It has ended, or stopped reading: its earlier output is read first.
    await withDeadline(this.#over, REST_MS);
    throw new Error("Connection closed", { cause: failed });
  }

  async close(): Promise<void> {
    await this.#end(GRACE_MS);
  }

  #take(chunk: Buffer): void {
    try {
      this.#read.append(chunk);
      this.#time(chunk);
    } catch (error) {
      // It exceeds the longest message, so the beginning of the next one is unknown.
      this.onerror?.(error instanceof Error ? error : new Error(String(error)));
      void this.close();
      return;
    }
    for (;;) {
      try {
        const message = this.#read.readMessage();
        if (message === null) return;
        this.onmessage?.(message);
      } catch (error) {
        this.onerror?.(error instanceof Error ? error : new Error(String(error)));
      }
    }
  }

  /** Ends a program whose message does not end in time. */
  #time(chunk: Buffer): void {
    if (chunk.includes(LINE_END)) {
      clearTimeout(this.#begun);
      this.#begun = undefined;
    }
    if (chunk.at(-1) === LINE_END) return;
    this.#begun ??= setTimeout(() => {
      this.onerror?.(new Error(`a message that did not end within ${this.#parts.lineMs} ms`));
      void this.close();
    }, this.#parts.lineMs).unref();
  }

  /** @param graceMs time before the signal */
  async #end(graceMs: number): Promise<void> {
    this.#closing ??= this.#endNow(graceMs);
    await this.#closing;
  }

  async #endNow(graceMs: number): Promise<void> {
    const child = this.#child;
    if (child === null) return;
    clearTimeout(this.#begun);
    child.stdin.end();
    await withDeadline(this.#over, graceMs);
    // A process that has closed its output may still run.
    if (this.#signal(child, "SIGTERM")) {
      await withDeadline(this.#over, GRACE_MS);
      this.#signal(child, "SIGKILL");
    }
    for (const stream of [child.stdin, child.stdout, child.stderr]) stream.destroy();
    this.#read.clear();
    this.onclose?.();
  }

  /** Signals the whole group. @returns whether it has a process */
  #signal(child: ChildProcessWithoutNullStreams, signal: NodeJS.Signals): boolean {
    const { pid } = child;
    if (pid === undefined) return false;
    try {
      if (IS_WINDOWS) return child.kill(signal);
      process.kill(-pid, signal);
      return true;
    } catch {
      // All processes have ended.
      return false;
    }
  }
}
