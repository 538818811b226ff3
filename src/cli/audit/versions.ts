import type { AuditFinding } from "./finding.ts";

/** Whether the programs below Weir still get security fixes. Pure. */

/** The last day with security fixes, by major version, as their projects announce it. */
const ENDS = {
  Node: { 20: "2026-04-30", 22: "2027-04-30", 24: "2028-04-30" },
  Postgres: {
    13: "2025-11-13",
    14: "2026-11-12",
    15: "2027-11-11",
    16: "2028-11-09",
    17: "2029-11-08",
    18: "2030-11-14",
  },
} as const;

/** @param version as it calls itself: `v24.1.0`, `16.2 (Debian 16.2-1)` */
export function auditVersion(program: keyof typeof ENDS, version: string, now: Date): AuditFinding[] {
  const ends: Readonly<Record<number, string>> = ENDS[program];
  const major = Number.parseInt(version.replace(/^v/, ""), 10);
  // One that is newer than this list has its fixes.
  const isOlder = major < Math.min(...Object.keys(ends).map(Number));
  const end = ends[major];
  if (!isOlder && (end === undefined || now.toISOString().slice(0, 10) <= end)) return [];
  const since = end === undefined ? "" : ` since ${end}`;
  const detail = `version ${version} gets no security fixes${since}`;
  const newest = Math.max(...Object.keys(ends).map(Number));
  const fix =
    program === "Node"
      ? `start Weir with npm start, which brings its own, or install Node ${newest}`
      : `upgrade the server to Postgres ${newest}`;
  return [{ severity: "warn", what: program, where: null, detail, fix }];
}
