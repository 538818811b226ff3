import type { MessageAction, OutboundMessage } from "../../../core/message.ts";
import { placeOf } from "../address.ts";
import type { KnownNames, KnownPeople } from "../../shared/known-people.ts";
import { sliceWhole } from "../../../text/text.ts";
import { carried } from "../../shared/pressed-command.ts";
import { toBlocks } from "./card.ts";
import { FEEDBACK } from "./feedback.ts";
import { fitMrkdwn } from "./mrkdwn.ts";
import { escapeText } from "./mrkdwn-inline.ts";
import { toStreamMarkdown } from "./stream-markdown.ts";

/** Longest text that `chat.update` accepts and `chat.postMessage` does not split. */
export const MAX_POST_LENGTH = 4000;
export const MAX_SECTION = 3000;
/** Buttons of one row: more are hard to read. */
const MOST_BUTTONS = 5;

/** The content of a message as Slack's arguments. */
export class Content {
  readonly #people: KnownPeople;
  readonly #hasFeedback: boolean;

  constructor(people: KnownPeople, hasFeedback: boolean) {
    this.#people = people;
    this.#hasFeedback = hasFeedback;
  }

  /** @param isStream a stream's text stands in blocks of its own, which `text` would leave */
  of(message: OutboundMessage, isStream: boolean): object {
    if (isStream) return { markdown_text: this.markdownOf(message) };
    const { card, text, actions, channel } = message;
    return {
      text: this.textOf(message),
      ...(message.plain === true && { mrkdwn: false }),
      ...(card !== undefined && { blocks: toBlocks(card) }),
      ...(actions !== undefined && {
        blocks: toButtonBlocks(fitMrkdwn(text, this.#names(channel), MAX_SECTION), actions),
      }),
    };
  }

  /** With feedback buttons; null: the message has none. */
  withFeedback(message: OutboundMessage): object | null {
    const blocks = this.feedbackBlocks(message);
    if (blocks === null) return null;
    return {
      text: this.textOf(message),
      blocks: [{ type: "markdown", text: this.markdownOf(message) }, ...blocks],
    };
  }

  /** The blocks below an answer that asks for feedback; null: it does not. */
  feedbackBlocks({ final, kind, asksFeedback }: OutboundMessage): readonly object[] | null {
    const isAsked = this.#hasFeedback && final && kind === "answer" && asksFeedback === true;
    return isAsked ? [FEEDBACK] : null;
  }

  /** As mrkdwn. */
  textOf({ text, channel, plain }: OutboundMessage): string {
    if (plain === true) return escapeText(text.toWellFormed());
    return fitMrkdwn(text, this.#names(channel), MAX_POST_LENGTH);
  }

  markdownOf({ text, channel }: OutboundMessage): string {
    return toStreamMarkdown(text, this.#names(channel));
  }

  #names(channel: OutboundMessage["channel"]): KnownNames {
    return this.#people.of(placeOf(channel).channel);
  }
}

/**
 * A message with actions as blocks: its text, and a row of buttons; an empty list removes the present blocks. Pure.
 * @param text mrkdwn
 */
export function toButtonBlocks(text: string, actions: readonly MessageAction[]) {
  if (actions.length === 0) return [];
  const elements = actions.slice(0, MOST_BUTTONS).map((action, index) => ({
    type: "button",
    action_id: `weir/${index}`,
    text: { type: "plain_text", text: sliceWhole(action.label, 0, 75), emoji: false },
    ...(action.style !== "plain" && { style: action.style }),
    value: carried(action),
  }));
  const section = { type: "section", text: { type: "mrkdwn", text, verbatim: true } } as const;
  return [section, { type: "actions", elements } as const];
}
