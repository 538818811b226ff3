import type { AuditFinding } from "./finding.ts";
import { quoted } from "./modes.ts";
import { weirCommand } from "../../files/installation.ts";

/** Whether there is a recent backup, and no half of one. Pure. */

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
  const file = `${folder === "." ? "" : `${folder}/`}weir-${now.toISOString().slice(0, 10)}.backup`;
  const fix = `\`${weirCommand(`backup ${file} --verify`)}\`; --backups names the folder where you keep them`;
  if (newest === undefined)
    return [
      {
        severity: "warn",
        what,
        where: null,
        detail: `there is none in ${folder === "." ? "this folder" : folder}`,
        fix,
      },
    ];
  const days = Math.floor((now.getTime() - newest.at.getTime()) / DAY_MS);
  if (days < OLD_DAYS) return [];
  return [{ severity: "warn", what, where: newest.file, detail: `the newest one is ${days} days old`, fix }];
}

/** @param found files that no finished backup or export has made, as they are shown */
export function auditUnfinished(found: readonly string[]): AuditFinding[] {
  return found.map((file) => ({
    severity: "warn",
    what: "unfinished",
    where: file,
    detail: "it has people's words, and nothing reads it: a backup or an export writes it now, or was killed",
    fix: `if none runs: rm ${quoted(file)}`,
  }));
}
