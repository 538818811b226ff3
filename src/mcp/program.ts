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
  /** Given the program's standard error. */
  readonly onStderr: (stream: NodeJS.EventEmitter) => void;
}

const IS_WINDOWS = process.platform === "win32";
/** How long a program may take to end by itself, and again once it is told to, ms. */
const GRACE_MS = 2000;
/** What it wrote before its end is read for so long, ms. */
const REST_MS = 2000;

/**
 * A program that is a server, with all processes that it starts: `npx` and shells start the server as another process, which would
 * outlive them. They are one process group, which also keeps a Ctrl-C for Weir from ending them under a turn that Weir still
 * finishes. The SDK's own transport ends the first process alone.
 */
export class ProgramTransport implements Transport {
  onclose?: (() => void) | undefined;
  onerror?: ((error: Error) => void) | undefined;
  onmessage?: ((message: JSONRPCMessage) => void) | undefined;
  readonly #parts: ProgramParts;
  readonly #read: ReadBuffer;
  #child: ChildProcessWithoutNullStreams | null = null;
  /** Resolves when nobody holds its standard output any more. */
  #over: Promise<void> = Promise.resolve();
  #closing: Promise<void> | null = null;

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
      // Windows has no process groups: there, the first process alone is ended.
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
    // It has ended, or reads no more: what it has said before is heard first.
    await withDeadline(this.#over, REST_MS);
    throw new Error("Connection closed", { cause: failed });
  }

  async close(): Promise<void> {
    await this.#end(GRACE_MS);
  }

  #take(chunk: Buffer): void {
    try {
      this.#read.append(chunk);
    } catch (error) {
      // It is longer than any message may be: nobody knows where the next one begins.
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

  /** @param graceMs before it is told to end */
  async #end(graceMs: number): Promise<void> {
    this.#closing ??= this.#endNow(graceMs);
    await this.#closing;
  }

  async #endNow(graceMs: number): Promise<void> {
    const child = this.#child;
    if (child === null) return;
    child.stdin.end();
    await withDeadline(this.#over, graceMs);
    // Who has closed its output may still be there.
    if (this.#signal(child, "SIGTERM")) {
      await withDeadline(this.#over, GRACE_MS);
      this.#signal(child, "SIGKILL");
    }
    for (const stream of [child.stdin, child.stdout, child.stderr]) stream.destroy();
    this.#read.clear();
    this.onclose?.();
  }

  /** Tells the whole group. @returns whether there was anybody */
  #signal(child: ChildProcessWithoutNullStreams, signal: NodeJS.Signals): boolean {
    const { pid } = child;
    if (pid === undefined) return false;
    try {
      if (IS_WINDOWS) return child.kill(signal);
      process.kill(-pid, signal);
      return true;
    } catch {
      // All of them are gone.
      return false;
    }
  }
}
