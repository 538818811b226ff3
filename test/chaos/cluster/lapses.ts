import { parseLogLine } from "../../../src/telemetry/log-line.ts";

/** A time in which a daemon that ran was no member of the cluster. ms by the clock of the machine. */
export interface Lapse {
  readonly from: number;
  readonly until: number;
  readonly why: string;
}

/**
 * When a daemon has given up what it had, as its log tells. On a machine that is too busy, one does so that hears nothing from the broker
 * within its lease: whoever is home next begins its turns again. Pure.
 * @param lines of all its processes, in their order
 */
export function lapsesOf(lines: readonly string[]): Lapse[] {
  const lapses: Lapse[] = [];
  let open: Omit<Lapse, "until"> | null = null;
  for (const line of lines) {
    const record = parseLogLine(line);
    if (record === null) continue;
    const { msg, time, why } = record;
    const at = Date.parse(String(time));
    if (msg.startsWith("Not in the cluster")) open ??= { from: at, why: String(why) };
    if (msg !== "In the cluster" || open === null) continue;
    lapses.push({ ...open, until: at });
    open = null;
  }
  return open === null ? lapses : [...lapses, { ...open, until: Number.POSITIVE_INFINITY }];
}
