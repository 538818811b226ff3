import type { QuestionRow } from "./question.ts";
import type { MessageAction } from "../../core/message.ts";
import { codeBlock, displayName } from "../../text/text.ts";
import { sliceVisible, visible, weightOf } from "../../text/visible.ts";
import { shownArguments, type ShownPart, shownPart } from "./shown-arguments.ts";

/** Longest arguments that a question shows, as `weightOf` counts; a command shows all of them. */
const MOST_SHOWN = 1200;
/** Shown at least, even where the rest of the question nearly fills a message. */
const FEWEST_SHOWN = 100;
const LONGEST_NAME = 80;

/** How a question is rendered. */
export interface QuestionStyle {
  /** Name of the agent that asks. */
  readonly agent: string;
  /** Whether the platform shows buttons; if not, the text says what to type. */
  readonly hasButtons: boolean;
  /** A command as people type it on this platform. */
  readonly typed: (command: string) => string;
  /** Formats a time for people. */
  readonly time: (at: Date) => string;
  /** Takes the operator's secrets out of a text. */
  readonly masked: (text: string) => string;
  readonly maxLength: number;
}

/**
 * The message of an approval: the question, or its outcome. Texts of people and models stand in a code block, where they are no markup
 * and mention nobody. Pure.
 */
export function questionText(approval: QuestionRow, style: QuestionStyle): string {
  const call = describedCall(approval, style);
  return call === null
    ? around(approval, style, true)("")
    : around(approval, style, call.isWhole)(blockOf(approval, call.text));
}

export function isShownWhole(approval: QuestionRow, style: QuestionStyle): boolean {
  return describedCall(approval, style)?.isWhole !== false;
}

/** A question, to be completed with the block of the call. */
function around(approval: QuestionRow, style: QuestionStyle, isWhole: boolean): (block: string) => string {
  const { id, tool, state, expiresAt } = approval;
  const { hasButtons, typed, time, agent } = style;
  if (state !== "open") return (block) => `#${id}: ${outcomeOf(approval)}${block}`;
  const unread = isWhole ? "" : `Not all of it is shown here: ${typed(`approvals ${id}`)} shows the rest. `;
  // A press while Weir restarts fails.
  const how = hasButtons
    ? `Approvers press a button, or type ${typed(`approve ${id}`)} or ${typed(`deny ${id} REASON`)}`
    : `Approvers type ${typed(`approve ${id}`)}, ${typed(`approve ${id} always`)} (from now on, with exactly these arguments) or ${typed(`deny ${id} REASON`)}`;
  return (block) =>
    `#${id}: ${plainName(agent)} asks for an approval, to use the tool ${plainName(tool)}.${block}\n` +
    `${unread}${how}. Without a decision by ${time(expiresAt)} it counts as denied.`;
}

/** The outcome of an approval as a sentence. Pure. */
export function outcomeOf({ state, decidedName }: Pick<QuestionRow, "state" | "decidedName">): string {
  const by = decidedName === "" ? "" : ` by ${plainName(decidedName)}`;
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
    // A choice has its own text.
    case "asked":
    case "answered":
    case "lapsed":
    case "void":
      return "Void: what it was asked for was taken back or changed, or the conversation was reset.";
  }
}

/** The arguments, as far as a message has room; null: they were deleted. */
function describedCall(approval: QuestionRow, style: QuestionStyle): ShownPart | null {
  const { id, arguments: json } = approval;
  if (json === "") return null;
  const { masked, maxLength, typed } = style;
  const more = typed(`approvals ${id}`);
  const frame = weightOf(
    around(approval, style, false)(blockOf(approval, `… and 000,000 characters more: ${more}`)),
  );
  const limit = Math.max(FEWEST_SHOWN, Math.min(MOST_SHOWN, maxLength - frame));
  return shownPart(shownArguments(json, masked), limit, more);
}

function blockOf({ tool, askedBy }: QuestionRow, shown: string): string {
  const people = askedBy.slice(0, 5).map(shownName).join(", ");
  const lines = [`tool: ${shownTool(tool)}`, ...(people === "" ? [] : [`asked by: ${people}`]), shown];
  return `\n${codeBlock(lines.join("\n"))}`;
}

export function shownTool(tool: string): string {
  return cut(visible(tool).replaceAll("`", String.raw`\u{60}`));
}

/** A person's name, with deceptive characters made visible. */
export function shownName(name: string): string {
  return cut(visible(displayName(name)));
}

function cut(name: string): string {
  return weightOf(name) <= LONGEST_NAME ? name : `${sliceVisible(name, LONGEST_NAME)}…`;
}

/** A name that is no mention and no markup. */
export function plainName(name: string): string {
  return shownName(name)
    .replaceAll(/[@<>`*~|#&]/g, "")
    .trim();
}

/** The buttons below a question; their labels say if not all of the call is shown. Pure. */
export function questionActions(
  { id, state }: Pick<QuestionRow, "id" | "state">,
  isWhole = true,
): readonly MessageAction[] {
  if (state !== "open") return [];
  const unread = isWhole ? "" : " (not all is shown)";
  return [
    ...(isWhole
      ? []
      : [{ label: "Show all", style: "plain", command: "approvals", argument: String(id) } as const]),
    { label: `Allow once${unread}`, style: "primary", command: "approve", argument: String(id) },
    { label: `Allow from now on${unread}`, style: "plain", command: "approve", argument: `${id} always` },
    { label: "Deny", style: "danger", command: "deny", argument: String(id) },
    {
      label: "Deny with a reason …",
      style: "plain",
      command: "deny",
      argument: String(id),
      takesWords: true,
    },
  ];
}
