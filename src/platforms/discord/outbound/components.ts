import {
  type APIActionRowComponent,
  type APIButtonComponentWithCustomId,
  type APIContainerComponent,
  ButtonStyle,
  ComponentType,
  MessageFlags,
} from "discord.js";
import type { MessageAction } from "../../../core/message.ts";
import { sliceWhole } from "../../../text/text.ts";
import { carried } from "../../shared/pressed-command.ts";
import { DiscordRefusal } from "../rest/api.ts";

const STYLES: Readonly<Record<MessageAction["style"], APIButtonComponentWithCustomId["style"]>> = {
  primary: ButtonStyle.Success,
  plain: ButtonStyle.Secondary,
  danger: ButtonStyle.Danger,
};

/** Buttons of one row, which holds five. */
const MOST = 5;

/** Colour of a box in which something waits for a person. */
const WAITING = 0xe0_a0_00;

/** A message in components alone: Discord takes no content and no embeds beside them. */
export interface Drawn {
  readonly flags: MessageFlags.IsComponentsV2;
  readonly components: readonly APIContainerComponent[];
}

/**
 * A text with its buttons in a box, of at most nine components and the text's 2,000 characters: Discord takes 40, and 4,000. Pure.
 * @param content as Discord's markup
 */
export function toBox(content: string, actions: readonly MessageAction[]): Drawn {
  const text = { type: ComponentType.TextDisplay, content } as const;
  const buttons =
    actions.length === 0 ? [] : [{ type: ComponentType.Separator } as const, ...toRows(actions)];
  const color = actions.length === 0 ? {} : { accent_color: WAITING };
  const box: APIContainerComponent = {
    type: ComponentType.Container,
    ...color,
    components: [text, ...buttons],
  };
  return { flags: MessageFlags.IsComponentsV2, components: [box] };
}

/** A message's actions as a row of buttons; an empty list removes the present ones. Pure. */
export function toRows(
  actions: readonly MessageAction[],
): APIActionRowComponent<APIButtonComponentWithCustomId>[] {
  if (actions.length === 0) return [];
  const components = actions.slice(0, MOST).map((action): APIButtonComponentWithCustomId => ({
    type: ComponentType.Button,
    style: STYLES[action.style],
    label: sliceWhole(action.label, 0, 80),
    custom_id: carried(action).slice(0, 100),
  }));
  return [{ type: ComponentType.ActionRow, components }];
}

/** Whether Discord refuses the form of a message, which it may take as a text. */
export function isFormRefused(error: unknown): error is DiscordRefusal {
  return error instanceof DiscordRefusal && error.status === 400 && error.kind === "rejected";
}

/** A part of a message as Discord has it. */
interface Component {
  readonly type: ComponentType;
  readonly content?: string | null | undefined;
  readonly components?: readonly Component[];
}

/** The text of a message: its content, or that of its components. Pure. */
export function shownIn(message: {
  readonly content: string;
  readonly components: readonly Component[];
}): string {
  return message.content === "" ? textIn(message.components) : message.content;
}

export function textIn(components: readonly Component[]): string {
  const texts = (all: readonly Component[]): string[] =>
    all.flatMap(({ type, content, components: inner = [] }) =>
      type === ComponentType.TextDisplay ? [content ?? ""] : texts(inner),
    );
  return texts(components).join("\n");
}
