/**
 * Loaded into the daemon before anything else (`--import`): at SIGUSR2 it collects garbage, and appends to the file
 * $WEIR_SOAK_PROBE a line of JSON with what the process holds. It is no part of a daemon that is not soaked.
 */
import { appendFileSync } from "node:fs";
import { monitorEventLoopDelay } from "node:perf_hooks";
import process from "node:process";
import { setImmediate as nextTurn, setTimeout as delay } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/** What a line says. Sizes in bytes, times in ms. */
export interface ProbeLine {
  readonly rss: number;
  readonly heapUsed: number;
  /** Beside the heap: buffers and what native code holds. */
  readonly external: number;
  /** 99th percentile since the line before, without the collection that this one takes. */
  readonly loopDelay: number;
  /** Counts by kind of what keeps the event loop alive, as `Timeout`, `TCPSocketWrap`. */
  readonly resources: Readonly<Record<string, number>>;
}

const file = process.env["WEIR_SOAK_PROBE"];
setFlagsFromString("--expose-gc");
const collect: unknown = runInNewContext("gc");
const delays = monitorEventLoopDelay({ resolution: 2 });
delays.enable();

async function probe(): Promise<void> {
  if (file === undefined || typeof collect !== "function") return;
  const loopDelay = delays.percentile(99) / 1e6;
  // What the first collection finalises is garbage of the second one.
  for (let times = 0; times < 2; times++) {
    Reflect.apply(collect, undefined, []);
    await nextTurn();
  }
  const { rss, heapUsed, external } = process.memoryUsage();
  const resources: Record<string, number> = {};
  for (const kind of process.getActiveResourcesInfo()) resources[kind] = (resources[kind] ?? 0) + 1;
  const line: ProbeLine = { rss, heapUsed, external, loopDelay, resources };
  appendFileSync(file, `${JSON.stringify(line)}\n`);
  await delay(20);
  delays.reset();
}

process.on("SIGUSR2", () => void probe());
