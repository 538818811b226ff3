import { existsSync, readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { monitorEventLoopDelay } from "node:perf_hooks";
import type { Row } from "./figure.ts";

/** The cost of some work for this process and its database server. */
export interface Load {
  /** Milliseconds of processor time. */
  readonly daemonCpuMs: number;
  /** NaN if the system does not provide it. */
  readonly postgresCpuMs: number;
  readonly wallMs: number;
  /** 99th percentile, ms. */
  readonly loopDelayMs: number;
  /** Share of the time in which the daemon's thread was busy; the rest it waited for others. */
  readonly threadBusy: number;
}

/** Measures the load of some work; a daemon runs in this process, its server on `dataDir`. */
export async function underWatch<Result>(
  dataDir: string,
  work: () => Promise<Result>,
): Promise<{ readonly result: Result; readonly load: Load }> {
  const delays = monitorEventLoopDelay({ resolution: 1 });
  const postgresBefore = postgresCpuMs(dataDir);
  const cpuBefore = process.cpuUsage();
  const idleBefore = performance.eventLoopUtilization();
  const startedAt = performance.now();
  delays.enable();
  const result = await work();
  delays.disable();
  const wallMs = performance.now() - startedAt;
  const cpu = process.cpuUsage(cpuBefore);
  const load = {
    daemonCpuMs: (cpu.user + cpu.system) / 1000,
    postgresCpuMs: postgresCpuMs(dataDir) - postgresBefore,
    wallMs,
    loopDelayMs: delays.percentile(99) / 1e6,
    threadBusy: performance.eventLoopUtilization(idleBefore).utilization,
  };
  return { result, load };
}

/** The bar that all figures share. */
export function loopDelayRow(...loads: readonly Load[]): Row {
  const value = Math.max(...loads.map(({ loopDelayMs }) => loopDelayMs));
  return { what: "event-loop delay, p99", value, unit: "ms", bar: { atMost: 15 } };
}

const TICKS_PER_SECOND = 100;

/** Processor time so far of the server on a data folder, with all its processes. */
function postgresCpuMs(dataDir: string): number {
  const pidFile = path.join(dataDir, "postgres", "postmaster.pid");
  if (!existsSync("/proc/self/stat") || !existsSync(pidFile)) return Number.NaN;
  const postmaster = Number.parseInt(readFileSync(pidFile, "utf8"), 10);
  let ticks = 0;
  for (const pid of readdirSync("/proc").filter((name) => /^\d+$/.test(name))) {
    const fields = statOf(pid);
    if (fields === null || (Number(pid) !== postmaster && Number(fields[1]) !== postmaster)) continue;
    // utime and stime; for the postmaster also those of ended children.
    const from = fields.slice(11, Number(pid) === postmaster ? 15 : 13);
    for (const field of from) ticks += Number(field);
  }
  return (ticks * 1000) / TICKS_PER_SECOND;
}

/** The fields of `/proc/PID/stat` after the name: state, ppid, … */
function statOf(pid: string): string[] | null {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, "utf8");
    return text.slice(text.lastIndexOf(")") + 2).split(" ");
  } catch {
    // It ended meanwhile.
    return null;
  }
}
