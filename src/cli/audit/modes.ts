import { posixQuoted } from "../completion/quoted.ts";
import type { AuditFinding } from "./finding.ts";

/** Whether other accounts of this machine can read or change files. Pure. */

/** A file or folder, as `lstat` or `stat` has it. */
export interface FileFacts {
  readonly path: string;
  /** For people. */
  readonly shownAs: string;
  readonly kind: "file" | "folder" | "socket";
  /** The lowest nine bits, and the sticky bit. */
  readonly mode: number;
  readonly uid: number;
  /** The path is a symbolic link, or the file has a second hard link: the file may belong elsewhere. */
  readonly isLinked: boolean;
  /** `private`: others may not even read it. `unchanged`: they may not write it. */
  readonly demand: "private" | "unchanged";
}

const OTHERS_READ = 0o077;
const OTHERS_WRITE = 0o022;
const STICKY = 0o1000;
const ROOT = 0;

/** @param uid of this account; null: the system has none */
export function auditModes(facts: readonly FileFacts[], uid: number | null): AuditFinding[] {
  if (uid === null) return [];
  return facts.flatMap((one) => {
    const finding = auditMode(one, uid) ?? auditOwner(one, uid);
    return finding === null ? [] : [finding];
  });
}

function auditMode(facts: FileFacts, uid: number): AuditFinding | null {
  const { path, shownAs, kind, mode, demand } = facts;
  // In a folder with the sticky bit others replace none of our files.
  const write = kind === "folder" && (mode & STICKY) !== 0 ? 0 : mode & OTHERS_WRITE;
  const surplus = demand === "private" ? mode & OTHERS_READ : write;
  if (surplus === 0) return null;
  const wanted = mode & 0o777 & ~(demand === "private" ? OTHERS_READ : OTHERS_WRITE);
  const isOurs = facts.uid === uid && !facts.isLinked;
  const can = write === 0 ? "read" : demand === "private" ? "read and change" : "change";
  return {
    severity: "error",
    what: "permissions",
    where: shownAs,
    detail: `other accounts of this machine can ${can} this ${kind} (mode ${octal(mode)})`,
    fix: `chmod ${octal(wanted)} ${quoted(path)}`,
    ...(isOurs && { chmod: { path, mode: wanted } }),
  };
}

function auditOwner({ path, shownAs, kind, uid: owner }: FileFacts, uid: number): AuditFinding | null {
  // Root, and the account of root's own Postgres, can do anything anyway.
  if (owner === uid || owner === ROOT || uid === ROOT) return null;
  return {
    severity: "error",
    what: "permissions",
    where: shownAs,
    detail: `this ${kind} belongs to another account (uid ${owner}), which can change it`,
    fix: `as root: chown ${uid} ${quoted(path)}`,
  };
}

function octal(mode: number): string {
  return (mode & 0o777).toString(8).padStart(3, "0");
}

/** A path as a shell takes it. */
export function quoted(path: string): string {
  return /^[\w./-]+$/.test(path) ? path : posixQuoted(path);
}
