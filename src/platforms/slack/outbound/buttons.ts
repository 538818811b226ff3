import type { MessageAction } from "../../../core/message.ts";
import { sliceWhole } from "../../../text/text.ts";
import { carried } from "../../shared/pressed-command.ts";

export const MAX_SECTION = 3000;
/** Buttons of one row: more are hard to read. */
const MOST = 5;

interface Button {
  readonly type: "button";
  readonly action_id: string;
  readonly text: { readonly type: "plain_text"; readonly text: string; readonly emoji: false };
  readonly style?: "primary" | "danger";
  readonly value: string;
}

export type ButtonBlock =
  | {
      readonly type: "section";
      readonly text: { readonly type: "mrkdwn"; readonly text: string; readonly verbatim: true };
    }
  | { readonly type: "actions"; readonly elements: readonly Button[] };

/**
 * A message with actions as blocks: its text, and a row of buttons; an empty list removes the present blocks. Pure.
 * @param text mrkdwn
 */
export function toButtonBlocks(text: string, actions: readonly MessageAction[]): ButtonBlock[] {
  if (actions.length === 0) return [];
  const elements = actions.slice(0, MOST).map((action, index): Button => ({
    type: "button",
    action_id: `weir/${index}`,
    text: { type: "plain_text", text: sliceWhole(action.label, 0, 75), emoji: false },
    ...(action.style !== "plain" && { style: action.style }),
    value: carried(action),
  }));
  return [
    { type: "section", text: { type: "mrkdwn", text, verbatim: true } },
    { type: "actions", elements },
  ];
}
