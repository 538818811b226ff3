/**
 * `done`: it has run, or was started with an unknown outcome. `void`: the message that asked for it was deleted, or the channel
 * was reset.
 */
export type ApprovalState = "open" | "allowed" | "running" | "done" | "denied" | "expired" | "void";

/** The id of the entry that reports a decision to a channel. */
export function dueIdOf(approval: number): string {
  return `approval/${approval}`;
}

/** The approval whose decision a message reports; null: it is another message. */
export function approvalOf(messageId: string): number | null {
  const match = /^approval\/(\d{1,15})$/.exec(messageId);
  return match === null ? null : Number(match[1]);
}

/** The id of an approved tool call: it stands in the log a second time, followed by its result. */
export function approvedCallId(approval: number): string {
  return `approval_${approval}`;
}
