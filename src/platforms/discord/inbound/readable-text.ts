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
  MessageType.PollResult,
]);

/** False: a notice of Discord's: somebody joined, a thread was begun. A type unknown here counts as said. Pure. */
export function isSpoken({ type }: Pick<MessagePayload, "type">): boolean {
  return SPOKEN.has(type) || MessageType[type] === undefined;
}
