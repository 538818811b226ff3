import type { AuditFinding } from "./finding.ts";

/** Whether there is a recent backup. Pure. */

const DAY_MS = 86_400_000;
/** Age at which the newest backup is too old, days. */
const OLD_DAYS = 7;

export interface FoundBackup {
  readonly file: string;
  /** The moment whose data it has. */
  readonly at: Date;
}

/** @param folder in which they were looked for, as it is shown */
export function auditBackups(found: readonly FoundBackup[], folder: string, now: Date): AuditFinding[] {
  const newest = found.toSorted((a, b) => b.at.getTime() - a.at.getTime())[0];
  const what = "backup";
  const fix = `weir backup ${folder === "." ? "" : `${folder}/`}weir-${now.toISOString().slice(0, 10)}.backup --verify; --backups names the folder where you keep them`;
  if (newest === undefined)
    return [{ severity: "warn", what, where: null, detail: `there is none in ${folder}`, fix }];
  const days = Math.floor((now.getTime() - newest.at.getTime()) / DAY_MS);
  if (days < OLD_DAYS) return [];
  return [{ severity: "warn", what, where: newest.file, detail: `the newest one is ${days} days old`, fix }];
}
