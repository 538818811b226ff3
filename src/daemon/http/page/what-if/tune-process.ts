import { execFile } from "node:child_process";
import { constants, setPriority } from "node:os";
import { fileURLToPath } from "node:url";
import { HTTPException } from "hono/http-exception";
import PQueue from "p-queue";
import { BoundedMap } from "../../../../async/bounded-map.ts";
import { errorMessage } from "../../../../core/errors.ts";
import type { TuneReport } from "../../../../tune/format.ts";

const MAIN = fileURLToPath(new URL("../../../../main.ts", import.meta.url));
/** A log of 100,000 entries takes a minute. */
const LONGEST_MS = 180_000;
const MOST_BYTES = 1_000_000;

export interface TriedLog {
  /** `platform:name` */
  readonly channel: string;
  /** `key=value` */
  readonly settings: readonly string[];
  readonly home: string;
  /** The configuration file; null: the home's, or none. */
  readonly file: string | null;
}

interface Run {
  /** Null: it is not over yet. */
  outcome: TuneReport | Error | null;
  /** ms */
  endedAt: number;
}

/** How long an outcome is shown before the log, which has grown, is played once more, ms. */
const SHOWN_MS = 120_000;
const MOST_KNOWN = 16;
const MOST_WAITING = 3;

/** `weir tune` for the page, in processes of its own: one at a time, and after all others on this machine. */
export class TuneRuns {
  readonly #queue = new PQueue({ concurrency: 1 });
  readonly #runs = new BoundedMap<Run>(MOST_KNOWN);
  readonly #signal: AbortSignal;

  /** @param signal ends all */
  constructor(signal: AbortSignal) {
    this.#signal = signal;
  }

  /**
   * The outcome of a log that is played again with these settings, which begins where it has not.
   * @returns null: it is not over yet
   * @throws HTTPException with the command's own words if the settings are impossible
   */
  look(tried: TriedLog): TuneReport | null {
    const key = JSON.stringify(tried);
    const known = this.#runs.get(key);
    const isOld = known?.outcome != null && Date.now() - known.endedAt > SHOWN_MS;
    if (known === undefined || isOld) {
      this.#begin(key, tried);
      return null;
    }
    if (known.outcome instanceof Error) {
      this.#runs.delete(key);
      throw known.outcome;
    }
    return known.outcome;
  }

  #begin(key: string, tried: TriedLog): void {
    if (this.#queue.size >= MOST_WAITING)
      throw new HTTPException(503, { message: "Too many logs are played again at a time: wait a minute." });
    const run: Run = { outcome: null, endedAt: 0 };
    this.#runs.set(key, run);
    void this.#play(tried, run);
  }

  async #play(tried: TriedLog, run: Run): Promise<void> {
    try {
      run.outcome = await this.#queue.add(async () => play(tried, this.#signal));
    } catch (error) {
      run.outcome = error instanceof Error ? error : new Error(String(error));
    }
    run.endedAt = Date.now();
  }
}

async function play({ channel, settings, home, file }: TriedLog, signal: AbortSignal): Promise<TuneReport> {
  const named = [...(file === null ? [] : ["--config", file]), "--home", home];
  const tried = settings.flatMap((setting) => ["--set", setting]);
  const args = [MAIN, "tune", "--json", ...named, ...tried, "--", channel];
  const options = { cwd: home, signal, timeout: LONGEST_MS, maxBuffer: MOST_BYTES };
  return new Promise((resolve, reject) => {
    const child = execFile(process.execPath, args, options, (error, out, said) => {
      if (error === null) resolve(JSON.parse(out));
      // It says what is wrong with the settings, unless it prints a stack.
      else if (typeof error.code === "number" && !said.includes("\n    at "))
        reject(new HTTPException(400, { message: said.trim() }));
      else reject(new Error(`a log was not played again: ${errorMessage(error)}`));
    });
    if (child.pid !== undefined) leaveRoom(child.pid);
  });
}

/** Turns come first. Where the system does not allow it, or the process has ended, it runs as others do. */
function leaveRoom(pid: number): void {
  try {
    setPriority(pid, constants.priority.PRIORITY_LOW);
  } catch {
    // As said above.
  }
}
