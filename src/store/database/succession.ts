import { rmSync, statSync, utimesSync } from "node:fs";
import path from "node:path";
import type { Logger } from "pino";
import { z } from "zod";
import { readText, SHORT } from "../../files/read-file.ts";
import { replaceFile } from "../../files/write-file.ts";
import { NEXT_DAEMON } from "./data-folder.ts";
import { isLiveProcess } from "./live-process.ts";

const comerSchema = z.object({
  pid: z.number(),
  /** The place that a process manager has for one process; null: it runs under none that is known. */
  place: z.string().nullable(),
  /** When the process began, ms since 1970. */
  since: z.number(),
});

/** A daemon, as it announces itself in its data folder. */
export type Comer = Readonly<z.output<typeof comerSchema>>;

const LOOK_MS = 250;
/** A daemon that waits touches its announcement with each look at the folder; an older one waits no more, ms. */
const WAITS_MS = 10_000;

/**
 * Whether a process makes way for a daemon that comes. A chat with a Weir of its own does for one that waits. A daemon does for a younger
 * one in its place: the process manager has started two, and knows the younger one alone. Pure.
 * @param own null: a chat
 */
export function makesWay(own: Comer | null, comer: Comer, isWaiting: boolean): boolean {
  if (own === null) return isWaiting;
  if (own.place === null || own.place !== comer.place || own.pid === comer.pid) return false;
  return comer.since === own.since ? comer.pid > own.pid : comer.since > own.since;
}

/** @returns the live daemon that has announced itself last; null: there is none */
export function readComer(
  dataDir: string,
  now = Date.now(),
): (Comer & { readonly isWaiting: boolean }) | null {
  try {
    const file = path.join(dataDir, NEXT_DAEMON);
    const comer = comerSchema.parse(JSON.parse(readText(file, SHORT)));
    const isWaiting = Math.abs(now - statSync(file).mtimeMs) < WAITS_MS;
    return isLiveProcess(comer.pid) ? { ...comer, isWaiting } : null;
  } catch {
    return null;
  }
}

/** Says that the daemon which has announced itself still waits for the data folder. */
export function stillWaits(dataDir: string): void {
  try {
    const now = new Date();
    utimesSync(path.join(dataDir, NEXT_DAEMON), now, now);
  } catch {
    // It is announced again with the next look.
  }
}

/** Announces a daemon in its data folder, and notices the one that it makes way for. A folder that cannot be used holds nothing up. */
export class Succession implements Disposable {
  readonly #dataDir: string;
  readonly #own: Comer | null;
  readonly #log: Logger;
  readonly #way = new AbortController();
  readonly #timer: NodeJS.Timeout;

  /** @param own null: a chat, which announces nothing */
  constructor(dataDir: string, own: Comer | null, log: Logger) {
    this.#dataDir = dataDir;
    this.#own = own;
    this.#log = log;
    if (own !== null) this.#announce(own);
    this.#timer = setInterval(() => this.#look(), LOOK_MS).unref();
  }

  /** Aborted once another daemon takes over: this process drains, and ends. */
  get makesWay(): AbortSignal {
    return this.#way.signal;
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
    if (this.#own === null || readComer(this.#dataDir)?.pid !== this.#own.pid) return;
    rmSync(path.join(this.#dataDir, NEXT_DAEMON), { force: true });
  }

  #announce(own: Comer): void {
    const comer = readComer(this.#dataDir);
    if (comer !== null && makesWay(own, comer, comer.isWaiting)) return;
    try {
      replaceFile(path.join(this.#dataDir, NEXT_DAEMON), `${JSON.stringify(own)}\n`);
    } catch {
      // With a Postgres elsewhere the folder need not be there.
    }
  }

  #look(): void {
    const comer = readComer(this.#dataDir);
    if (comer === null) {
      if (this.#own !== null) this.#announce(this.#own);
      return;
    }
    if (!makesWay(this.#own, comer, comer.isWaiting)) return;
    clearInterval(this.#timer);
    this.#log.warn({ process: comer.pid }, "makes_way: that daemon takes the place of this process");
    this.#way.abort();
  }
}
