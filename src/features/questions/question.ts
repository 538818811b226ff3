/** An approval lets a call of a tool run; a choice is one of the answers that the agent offers by its tool `ask`. */
export type QuestionKind = "approval" | "choice";

/**
 * Of an approval: `open`, `allowed`, `running`, `denied`, `expired`; `done`: it has run, or was started with an unknown outcome. Of a
 * choice: `asked`, `answered`, `lapsed`. `void`: the message that asked for it was deleted, or the channel was reset.
 */
export type QuestionState =
  | "open"
  | "allowed"
  | "running"
  | "done"
  | "denied"
  | "expired"
  | "void"
  | "asked"
  | "answered"
  | "lapsed";

/** The id of the entry that reports a decision or an answer to a channel. */
export function dueIdOf(question: number): string {
  return `approval/${question}`;
}

/** The question whose end a message reports; null: it is another message. */
export function questionOf(messageId: string): number | null {
  const match = /^approval\/(\d{1,15})$/.exec(messageId);
  return match === null ? null : Number(match[1]);
}

/** The id of an approved tool call: it stands in the log a second time, followed by its result. */
export function approvedCallId(approval: number): string {
  return `approval_${approval}`;
}
