import { ComponentType } from "discord.js";
import { cutBeside } from "../../shared/visible-text.ts";
import type {
  AttachmentPayload,
  ComponentPayload,
  EmbedPayload,
  MessagePayload,
  SeenPayload,
} from "./payload.ts";

/** Makes one piece of Discord's text readable. */
type Read = (text: string) => string;

/** A message with those that it forwards. */
type Whole = SeenPayload & Pick<MessagePayload, "message_snapshots">;

/** Components are nested three deep by Discord's rules. */
const MAX_DEPTH = 8;
/** Components with which people choose something: they carry no words of the message. */
const CONTROLS: ReadonlySet<number> = new Set([
  ComponentType.StringSelect,
  ComponentType.TextInput,
  ComponentType.UserSelect,
  ComponentType.RoleSelect,
  ComponentType.MentionableSelect,
  ComponentType.ChannelSelect,
  ComponentType.Separator,
]);

/**
 * The blocks of text that people see in a message, forwards included, in the platform's order; files are not among them. Pure.
 * @param own the message's own words, readable
 * @param isBot a person's embeds are previews of links, which arrive later and are left out
 */
export function visibleText(message: Whole, own: string, isBot: boolean, read: Read): string {
  const forwards = message.message_snapshots.map(({ message: snapshot }) =>
    ["[forwarded message]", read(snapshot.content), ...partsOf(snapshot, true, read)]
      .filter(Boolean)
      .join("\n"),
  );
  const beside = [...forwards, ...partsOf(message, isBot, read)].filter(Boolean).join("\n");
  return [own, cutBeside(beside)].filter(Boolean).join("\n");
}

/** The files of a message and of the messages that it forwards. Pure. */
export function visibleFiles(message: Whole): AttachmentPayload[] {
  return [
    ...message.attachments,
    ...message.message_snapshots.flatMap(({ message: { attachments } }) => attachments),
  ];
}

function partsOf(seen: SeenPayload, isBot: boolean, read: Read): string[] {
  const polls = seen.poll == null ? [] : [pollText(seen.poll, read)];
  const stickers = seen.sticker_items.map(({ name }) => `[sticker ${name}]`);
  const embeds = seen.embeds.flatMap((embed) => embedText(embed, isBot, read));
  const components = seen.components.flatMap((component) => componentText(component, read, 0));
  return [...polls, ...stickers, ...embeds, ...components].filter((text) => text !== "");
}

function pollText({ question, answers }: NonNullable<SeenPayload["poll"]>, read: Read): string {
  const lines = answers.map(({ poll_media: { text } }) => `- ${read(text ?? "")}`);
  return [`[poll] ${read(question.text ?? "")}`, ...lines].join("\n");
}

function embedText(embed: EmbedPayload, isBot: boolean, read: Read): string[] {
  if (embed.type === "poll_result") return [pollResult(embed, read)];
  if (!isBot || (embed.type ?? "rich") !== "rich") return [];
  const { author, title, url, description, fields, image, footer } = embed;
  const heading = title == null ? url : url == null ? read(title) : `[${read(title)}](${url})`;
  const lines = fields.map(({ name, value }) => `${read(name)}: ${read(value)}`);
  const picture = image == null ? null : pictureText(null, read);
  const words = [author?.name, heading, description && read(description), ...lines, picture, footer?.text];
  return [words.filter(Boolean).join("\n")];
}

/** Discord says it in fields of these names. */
function pollResult({ fields }: EmbedPayload, read: Read): string {
  const field = (name: string): string => fields.find((one) => one.name === name)?.value ?? "";
  const winner = field("victor_answer_text") || "no winner";
  const votes = field("victor_answer_votes") || "0";
  return `[poll result] ${read(field("poll_question_text"))}: ${read(winner)} (${votes} of ${field("total_votes") || "0"} votes)`;
}

function componentText(component: ComponentPayload, read: Read, depth: number): string[] {
  const { type, content, label, url, description, components, accessory, items } = component;
  if (CONTROLS.has(type) || depth > MAX_DEPTH) return [];
  const inner = components.flatMap((one) => componentText(one, read, depth + 1));
  switch (type) {
    case ComponentType.TextDisplay:
      return [read(content ?? "")];
    case ComponentType.Button:
      return url == null ? [] : [`[${label ?? url}](${url})`];
    case ComponentType.Thumbnail:
      return [pictureText(description, read)];
    case ComponentType.MediaGallery:
      return items.map((item) => pictureText(item.description, read));
    case ComponentType.Section:
      return [...inner, ...(accessory == null ? [] : componentText(accessory, read, depth + 1))];
    case ComponentType.ActionRow:
    case ComponentType.Container:
      return inner;
    case ComponentType.File:
      // The file is one of the message's attachments.
      return [];
    default:
      return [
        `[component of type ${type}]`,
        ...[content, label].filter((text) => text != null).map(read),
        ...inner,
      ];
  }
}

function pictureText(description: string | null | undefined, read: Read): string {
  return description == null || description === "" ? "[picture]" : `[picture: ${read(description)}]`;
}
