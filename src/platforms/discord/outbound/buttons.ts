import { ButtonStyle, ComponentType } from "discord.js";
import type { MessageAction } from "../../../core/message.ts";
import { carried } from "../../shared/pressed-command.ts";

const STYLES: Readonly<Record<MessageAction["style"], ButtonStyle>> = {
  primary: ButtonStyle.Success,
  plain: ButtonStyle.Secondary,
  danger: ButtonStyle.Danger,
};

/** Buttons of one row, which holds five. */
const MOST = 5;

/** A message's actions as a row of buttons; an empty list takes those away that are there. Pure. */
export function toComponents(actions: readonly MessageAction[]): object[] {
  if (actions.length === 0) return [];
  const components = actions.slice(0, MOST).map((action) => ({
    type: ComponentType.Button,
    style: STYLES[action.style],
    label: action.label.slice(0, 80),
    custom_id: carried(action).slice(0, 100),
  }));
  return [{ type: ComponentType.ActionRow, components }];
}
