import { isDeepStrictEqual } from "node:util";
import { cutBeside } from "../../shared/visible-text.ts";
import { escapeText } from "../outbound/mrkdwn-inline.ts";
import { blockText } from "./blocks.ts";
import type { SlackAttachment, SlackFile, SlackMessage } from "./payload.ts";

/** What stands in a message, in a forwarded one, or in an attachment. */
type Shown = Pick<SlackMessage, "text" | "blocks">;

/**
 * All that people see in a message, files excepted, in Slack's markup: text, blocks, attachments, and messages that it
 * forwards. Previews of links are left out. Words of two sources stand once. Pure.
 */
export function visibleText(message: SlackMessage): string {
  return [ownWords(message), cutBeside(forwardsOf(message).map(forwardText).join("\n"))]
    .filter(Boolean)
    .join("\n");
}

/** The words of the message itself, without those that it forwards: in them people are mentioned. Pure. */
export function ownWords(message: SlackMessage): string {
  return onceEach(shownText(message), attachmentsOf(message).map(attachmentText));
}

/** The files of a message and of the messages that it forwards. Pure. */
export function visibleFiles(message: SlackMessage): SlackFile[] {
  return [...message.files, ...forwardsOf(message).flatMap(({ files }) => files)];
}

/**
 * True: text and files are unchanged. A removed file is a change.
 * @param hasSlacksWords what Slack has heard in a clip belongs to the text
 */
export function isSameSaid(before: SlackMessage | null, now: SlackMessage, hasSlacksWords: boolean): boolean {
  const said = (message: SlackMessage): readonly string[] => [
    visibleText(message),
    ...message.files.map(({ id, mode }) => `${id} ${mode === "tombstone"}`),
    ...(hasSlacksWords
      ? message.files.map(({ transcription }) => transcription?.preview?.content ?? "")
      : []),
  ];
  return before !== null && isDeepStrictEqual(said(before), said(now));
}

function forwardsOf({ attachments }: SlackMessage): SlackAttachment[] {
  return attachments.filter(({ is_share: isShare }) => isShare === true);
}

/** Those of integrations: a preview has the address that it shows. */
function attachmentsOf({ attachments }: SlackMessage): SlackAttachment[] {
  return attachments.filter(
    ({ is_share: isShare, is_msg_unfurl: isQuote, is_app_unfurl: isApp, from_url: url }) =>
      isShare !== true && isQuote !== true && isApp !== true && (url ?? "") === "",
  );
}

function forwardText(forward: SlackAttachment): string {
  const by = forward.author_name ?? "";
  const parts = forward.message_blocks.flatMap(({ message: { blocks } }) => blocks);
  const words = shownText({ text: forward.text, blocks: [...forward.blocks, ...parts] });
  const head = by === "" ? "[forwarded message]" : `[forwarded message from ${escapeText(by)}]`;
  return [head, words || (forward.files.length > 0 ? "" : (forward.fallback ?? ""))]
    .filter(Boolean)
    .join("\n");
}

function attachmentText(attachment: SlackAttachment): string {
  const { pretext, author_name: author, title, title_link: link, fields, footer, fallback } = attachment;
  const heading = title == null || title === "" || link == null ? title : `<${link}|${title}>`;
  const lines = fields.map(({ title: name, value }) => [name, value].filter(Boolean).join(": "));
  const words = [pretext, author, heading, shownText(attachment), ...lines];
  const shown = words.filter(Boolean).join("\n") || (fallback ?? "");
  return [shown, footer].filter(Boolean).join("\n");
}

/** Of a bot the text is often what notifications show of the blocks, of a person it is the same. */
function shownText({ text, blocks }: Shown): string {
  const words = text ?? "";
  const parts = blocks.map(blockText).filter(Boolean);
  const [plain, whole] = [plainOf(words), plainOf(parts.join("\n"))];
  if (plain !== whole && whole.includes(plain)) return parts.join("\n");
  return onceEach(words, parts);
}

/** The text, and of the parts those whose words it has not. */
function onceEach(text: string, parts: readonly string[]): string {
  const plain = plainOf(text);
  return [text, ...parts.filter((part) => part !== "" && !isIn(part, text, plain))]
    .filter(Boolean)
    .join("\n");
}

function isIn(part: string, text: string, plain: string): boolean {
  const words = plainOf(part);
  return words === "" ? text.includes(part) : plain.includes(words);
}

/** Letters and digits alone: sources differ in markup and spaces. */
function plainOf(text: string): string {
  return text.replaceAll(/[^\p{L}\p{N}]+/gu, "");
}
