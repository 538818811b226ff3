/** When a tool may run only once a person has allowed it. `writes`: unless it says that it only reads. */
export type ApprovalMode = "always" | "never" | "writes";

/** `done`: it has run, or was taken up and nobody knows. `void`: what it was asked for was taken back, or the channel was reset. */
export type ApprovalState = "open" | "allowed" | "running" | "done" | "denied" | "expired" | "void";

/** The id of the entry that tells a channel of a decision. */
export function dueIdOf(approval: number): string {
  return `approval/${approval}`;
}

/** The approval of whose decision a message tells; null: it is another message. */
export function approvalOf(messageId: string): number | null {
  const match = /^approval\/(\d{1,15})$/.exec(messageId);
  return match === null ? null : Number(match[1]);
}

/** The id of the call of a tool that was approved: it stands in the log a second time, with its result behind it. */
export function approvedCallId(approval: number): string {
  return `approval_${approval}`;
}
