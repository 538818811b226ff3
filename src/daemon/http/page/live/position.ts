import type { Seq } from "../../../../core/ids.ts";

/** How much of a channel a browser knows: the id of an event, with which a cut stream resumes. */
export interface Position {
  /** The newest entry that it has. */
  readonly seq: Seq;
  /** Its entries up to here are no longer shown as waiting. */
  readonly settledTo: Seq;
  /** Edits and deletions, as counted by `MemoryStore.takenBack`. */
  readonly changes: number;
}

const FORM = /^(?<seq>\d{1,15})-(?<settledTo>\d{1,15})-(?<changes>\d{1,15})$/;

export function formatPosition({ seq, settledTo, changes }: Position): string {
  return `${seq}-${settledTo}-${changes}`;
}

/** Null: it is none. Pure. */
export function parsePosition(text: string): Position | null {
  const groups = FORM.exec(text)?.groups;
  if (groups === undefined) return null;
  const { seq, settledTo, changes } = groups;
  return { seq: Number(seq), settledTo: Number(settledTo), changes: Number(changes) };
}

/** The position once a row is there, and all before it are. Pure. @param known of the rows that are being sent */
export function positionAt(before: Position, row: Seq, known: Pick<Position, "settledTo">): Position {
  return {
    seq: Math.max(before.seq, row),
    settledTo: Math.max(before.settledTo, Math.min(row, known.settledTo)),
    changes: before.changes,
  };
}
