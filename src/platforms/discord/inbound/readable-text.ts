import { MessageType } from "discord.js";
import { outsideCode } from "../outbound/code.ts";
import type { MessagePayload } from "./payload.ts";

/** Names for the ids in a text; undefined: unknown. */
export interface TextNames {
  person(id: string): string | undefined;
  channel(id: string): string | undefined;
  role(id: string): string | undefined;
}

/** `<@1>`, `<@&2>`, `<#3>`, `<:name:4>`, `<t:5:R>`, `</name:6>`. */
const ENTITY =
  /<(?:@!?(?<person>\d+)|@&(?<role>\d+)|#(?<channel>\d+)|a?:(?<emoji>\w+):\d+|t:(?<time>-?\d{1,13})(?::[a-zA-Z])?|\/(?<command>[^:<>\n]+):\d+)>/g;

/** Makes Discord's text readable: names for ids. Code stays unchanged. Pure; does not throw. */
export function readableText(content: string, names: TextNames): string {
  return outsideCode(content, (words) =>
    words.replaceAll(ENTITY, (entity, ...match) => {
      const groups: unknown = match.at(-1);
      return entityText(entity, groups, names);
    }),
  ).toWellFormed();
}

function entityText(entity: string, groups: unknown, names: TextNames): string {
  const part = (name: string): string => {
    if (typeof groups !== "object" || groups === null) return "";
    const value: unknown = Reflect.get(groups, name);
    return typeof value === "string" ? value : "";
  };
  const person = part("person");
  if (person !== "") return `@${names.person(person) ?? person}`;
  const role = part("role");
  if (role !== "") return `@${names.role(role) ?? role}`;
  const channel = part("channel");
  if (channel !== "") return `#${names.channel(channel) || channel}`;
  const emoji = part("emoji");
  if (emoji !== "") return `:${emoji}:`;
  const command = part("command");
  if (command !== "") return `/${command}`;
  return timeText(part("time")) ?? entity;
}

/** `2026-05-01 12:00 UTC` */
function timeText(seconds: string): string | null {
  const at = new Date(Number(seconds) * 1000);
  if (seconds === "" || Number.isNaN(at.getTime())) return null;
  const [day = "", time = ""] = at.toISOString().split("T");
  return `${day} ${time.slice(0, 5)} UTC`;
}

const SPOKEN: ReadonlySet<number> = new Set([
  MessageType.Default,
  MessageType.Reply,
  MessageType.ChatInputCommand,
  MessageType.ContextMenuCommand,
]);

/** False: somebody joined, a thread was begun, something was pinned. Pure. */
export function isSpoken({ type }: Pick<MessagePayload, "type">): boolean {
  return SPOKEN.has(type);
}

/** The content beside the text: a forwarded message, a poll, stickers, and other bots' embeds. Pure. */
export function besideText(message: MessagePayload, isBot: boolean): string[] {
  const forwarded = (message.message_snapshots ?? []).map(
    ({ message: snapshot }) => `[forwarded message]\n${snapshot.content ?? ""}`,
  );
  const polls = message.poll == null ? [] : [pollText(message.poll)];
  const stickers = (message.sticker_items ?? []).map(({ name }) => `[sticker ${name}]`);
  // The embeds of a person's message are link previews, and arrive later.
  const boxes = isBot ? message.embeds.map(boxText).filter((text) => text !== "") : [];
  return [...forwarded, ...polls, ...stickers, ...boxes].map((text) => text.toWellFormed());
}

function pollText({ question, answers }: NonNullable<MessagePayload["poll"]>): string {
  const lines = answers.map(({ poll_media: { text } }) => `- ${text ?? ""}`);
  return [`[poll] ${question.text ?? ""}`, ...lines].join("\n");
}

function boxText({ title, description, fields = [] }: MessagePayload["embeds"][number]): string {
  const lines = fields.map(({ name, value }) => `${name}: ${value}`);
  return [title, description, ...lines].filter(Boolean).join("\n");
}
