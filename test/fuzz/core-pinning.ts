import { execFile } from "node:child_process";
import process from "node:process";
import { promisify } from "node:util";
import { parsePlaces } from "./step-places.ts";

const run = promisify(execFile);

/**
 * Calls `start` once for each of so many cores, one after the other. What it starts stays on that core: a run and
 * its Postgres take turns, and hand over in half the time where both are on one core. If the system has no `taskset`,
 * its scheduler decides.
 */
export async function onEachCore(count: number, start: (core: number) => Promise<void>): Promise<void> {
  const all = count > 1 ? await coresOfThisProcess() : [];
  try {
    for (let core = 0; core < count; core++) {
      const own = all[core];
      // Who is started inherits it.
      if (own !== undefined) await stayOn([own]);
      await start(core);
    }
  } finally {
    if (all.length > 0) await stayOn(all);
  }
}

async function coresOfThisProcess(): Promise<number[]> {
  const answer = await run("taskset", ["-c", "-p", String(process.pid)]).catch(() => null);
  return answer === null ? [] : parsePlaces(answer.stdout.split(":").at(-1)?.trim() ?? "");
}

async function stayOn(cores: readonly number[]): Promise<void> {
  await run("taskset", ["-c", "-p", cores.join(","), String(process.pid)]);
}
