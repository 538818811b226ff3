import type { ApprovalRow } from "../../store/turns/approval-rows.ts";
import type { MessageAction } from "../../core/message.ts";
import { displayable } from "../../text/displayable.ts";
import { formatNumber } from "../../text/format.ts";
import { codeBlock, displayName, sliceWhole } from "../../text/text.ts";

/** Longest arguments that a question shows, in UTF-16 units; a command shows all of them. */
const MOST_SHOWN = 1200;
/** What stands beside them, at most. */
const FRAME = 700;

/** How a question is told. */
export interface QuestionStyle {
  /** Name of the agent that asks. */
  readonly agent: string;
  /** Whether buttons are drawn; else people are told what to type. */
  readonly hasButtons: boolean;
  /** A command as people type it there. */
  readonly typed: (command: string) => string;
  /** A time, as people read it. */
  readonly time: (at: Date) => string;
  /** Takes the operator's secrets out of a text. */
  readonly masked: (text: string) => string;
  readonly maxLength: number;
}

/**
 * The message of an approval: the question, or what has become of it. What people and models wrote stands in a code block, where
 * nothing of it is markup, and nobody is mentioned. Pure.
 */
export function questionText(approval: ApprovalRow, style: QuestionStyle): string {
  const { id, tool, state, expiresAt } = approval;
  const { hasButtons, typed, time, agent } = style;
  if (state !== "open") return `#${id}: ${outcomeOf(approval)}${describedCall(approval, style)}`;
  const how = hasButtons
    ? "The buttons are for approvers"
    : `Approvers type ${typed(`approve ${id}`)}, ${typed(`approve ${id} always`)} (from now on, with exactly these arguments) or ${typed(`deny ${id} REASON`)}`;
  return (
    `#${id}: ${plain(agent)} asks for an approval, to use the tool ${plain(tool)}.${describedCall(approval, style)}\n` +
    `${how}. Without a decision by ${time(expiresAt)} it counts as denied.`
  );
}

/** What became of an approval, in a sentence. Pure. */
export function outcomeOf({ state, decidedName }: Pick<ApprovalRow, "state" | "decidedName">): string {
  const by = decidedName === "" ? "" : ` by ${plain(decidedName)}`;
  switch (state) {
    case "open":
      return "It waits for a decision.";
    case "allowed":
    case "running":
    case "done":
      return `Allowed${by}.`;
    case "denied":
      return `Denied${by}.`;
    case "expired":
      return "Expired: nobody decided in time, so it counts as denied.";
    case "void":
      return "Void: what it was asked for was taken back or changed, or the conversation was reset.";
  }
}

/** The tool, whoever asked, and the arguments. */
function describedCall(
  { tool, askedBy, arguments: json, id }: ApprovalRow,
  { masked, maxLength, typed }: Pick<QuestionStyle, "masked" | "maxLength" | "typed">,
): string {
  if (json === "") return "";
  const whole = displayable(masked(json));
  const limit = Math.max(100, Math.min(MOST_SHOWN, maxLength - FRAME));
  const shown = sliceWhole(whole, 0, limit);
  const left = whole.length - shown.length;
  const more = left === 0 ? [] : [`… and ${formatNumber(left)} characters more: ${typed(`approvals ${id}`)}`];
  const people = askedBy.slice(0, 5).map(displayName).join(", ");
  const lines = [`tool: ${tool}`, ...(people === "" ? [] : [`asked by: ${people}`]), shown, ...more];
  return `\n${codeBlock(lines.join("\n"))}`;
}

/** A name that is no mention and no markup. */
function plain(name: string): string {
  return displayName(name)
    .replaceAll(/[@<>`*~|#&]/g, "")
    .trim();
}

/** What is drawn below a question. Pure. */
export function questionActions({ id, state }: Pick<ApprovalRow, "id" | "state">): readonly MessageAction[] {
  if (state !== "open") return [];
  return [
    { label: "Allow once", style: "primary", command: "approve", argument: String(id) },
    { label: "Allow from now on", style: "plain", command: "approve", argument: `${id} always` },
    { label: "Deny", style: "danger", command: "deny", argument: String(id) },
  ];
}
