import path from "node:path";
import { MessageReferenceType, MessageType } from "discord.js";
import type { Logger } from "pino";
import type { Author, ChannelOnPlatform, InboundMessage } from "../../../core/message.ts";
import {
  type AttachedFile,
  type AttachmentReader,
  hearing,
  NO_FILES,
  readAttachments,
  type ReadAttachments,
  type SaidBy,
} from "../../shared/attachments.ts";
import type { Transcripts } from "../../platform.ts";
import { PLATFORM_NAME } from "../rest/api.ts";
import type { Directory } from "../rest/directory.ts";
import { isSpoken, readableText, type TextNames } from "./readable-text.ts";
import { visibleFiles, visibleText } from "./visible-parts.ts";
import type {
  AttachmentPayload,
  MemberPayload,
  MessagePayload,
  QuotedPayload,
  UserPayload,
} from "./payload.ts";
import { nameOf, type People } from "../rest/people.ts";
import type { Bot } from "../gateway/bot-identity.ts";

interface ReaderParts {
  readonly directory: Directory;
  readonly people: People;
  /** Null: Discord's own. */
  readonly apiUrl: string | null;
  /** Default: sounds are only named. */
  readonly transcripts?: () => Transcripts | undefined;
  readonly log: Logger;
}

interface ReadOptions {
  readonly bot: Bot;
  /** False: nothing is fetched; files are only named. */
  readonly isFull: boolean;
}

const FILE_HOSTS = ["cdn.discordapp.com", "media.discordapp.net"];

/** Converts Discord's messages to Weir's: names for ids, files with contents. */
export class MessageReader {
  readonly #parts: ReaderParts;
  readonly #files: AttachmentReader;

  constructor(parts: ReaderParts) {
    this.#parts = parts;
    this.#files = {
      own: { hosts: FILE_HOSTS, apiUrl: parts.apiUrl },
      onFailure: (_name, why) => parts.log.info({ platform: PLATFORM_NAME, why }, "file_not_read"),
    };
  }

  /** @throws PlatformError if a call is needed and fails temporarily */
  async read(
    message: MessagePayload,
    where: ChannelOnPlatform,
    options: ReadOptions,
  ): Promise<InboundMessage> {
    const { directory } = this.#parts;
    await directory.meetGuild(where.workspace);
    // A resumed connection does not report its servers' channels.
    if (message.content.includes("<#") && !directory.isHeard(where.workspace))
      await directory.meetWhole(where.workspace);
    const found = this.#author(message, where, options.isFull);
    const said = { where: async () => Promise.resolve(where), author: async () => found };
    const [author, { texts, images }] = await Promise.all([
      found,
      this.#attached(visibleFiles(message), options.isFull ? said : null),
    ]);
    this.#meet(message, where, author);
    const { message_reference: reference } = message;
    const replyTo = reference?.type === MessageReferenceType.Forward ? undefined : reference?.message_id;
    return {
      type: "message",
      ...where,
      id: message.id,
      author,
      text:
        [this.#text(message, where, author, options.bot), ...texts]
          .filter((part) => part !== "")
          .join("\n") || withoutWords(message.type),
      at: new Date(message.timestamp),
      addressed: this.isAddressed(message, where, options.bot),
      ...(replyTo !== undefined && { replyTo, ...(await this.#quoted(message, where, options.bot)) }),
      ...this.#mentioned(message, where),
      ...(images.length > 0 && { images }),
    };
  }

  /**
   * A message in which a proxy repeats a deleted one: its author's, under the name that the proxy shows, and a reply if that one was.
   * @throws PlatformError if a call is needed and fails temporarily
   */
  async readProxied(
    copy: MessagePayload,
    original: MessagePayload,
    where: ChannelOnPlatform,
    options: ReadOptions,
  ): Promise<InboundMessage> {
    const { author, member, message_reference: reference, referenced_message: quoted } = original;
    const person = { author, member, message_reference: reference, referenced_message: quoted };
    const read = await this.read({ ...copy, ...person, webhook_id: undefined }, where, options);
    const name = nameOf(copy.author, undefined);
    this.#parts.people.met(copy.channel_id, author, name);
    return { ...read, author: { ...read.author, name }, replaces: original.id };
  }

  /** The author of a reaction or command, with roles. Pure except for role names. */
  person(user: UserPayload, member: MemberPayload | undefined, guildId: string | undefined): Author {
    const roles = member?.roles ?? [];
    const roleNames = roles.flatMap((id) => this.#parts.directory.roleName(guildId, id) ?? []);
    return {
      id: user.id,
      name: nameOf(user, member),
      isBot: user.bot === true,
      ...(roles.length > 0 && { roles }),
      ...(roleNames.length > 0 && { roleNames }),
    };
  }

  /** True: mentions the bot or the bot's role, replies to the bot, or is in a DM. */
  isAddressed(message: MessagePayload, where: ChannelOnPlatform, { user }: Bot): boolean {
    const { directory } = this.#parts;
    return (
      where.kind === "dm" ||
      message.mentions.some(({ id }) => id === user.id) ||
      message.mention_roles.some((role) => directory.isRoleOf(user.id, where.workspace, role)) ||
      message.referenced_message?.author.id === user.id
    );
  }

  async #author(message: MessagePayload, where: ChannelOnPlatform, isFull: boolean): Promise<Author> {
    const { people } = this.#parts;
    const { author, webhook_id: webhookId } = message;
    const guildId = where.workspace;
    const isOutside = guildId === "" || webhookId !== undefined;
    if (message.member !== undefined && !isOutside) people.setMember(guildId, author.id, message.member);
    const member = isOutside
      ? undefined
      : (message.member ??
        (isFull ? await people.findMember(guildId, author.id) : people.member(guildId, author.id)));
    const person = this.person(author, member, guildId);
    return webhookId === undefined ? person : { ...person, isBot: true };
  }

  /** @param said null: nothing is fetched */
  async #attached(files: readonly AttachmentPayload[], said: SaidBy | null): Promise<ReadAttachments> {
    if (files.length === 0) return { texts: [], images: [] };
    const reader = said === null ? NO_FILES : hearing(this.#files, this.#parts.transcripts?.(), said);
    return await readAttachments(files.map(toAttachedFile), reader);
  }

  /** The message to which one replies. The log has the bot's own, and Discord's notices say nothing. */
  async #quoted(
    { referenced_message: quoted }: MessagePayload,
    where: ChannelOnPlatform,
    bot: Bot,
  ): Promise<Pick<InboundMessage, "quote">> {
    if (quoted == null || quoted.author.id === bot.user.id || !isSpoken(quoted)) return {};
    const { id, author, webhook_id: webhook, timestamp, edited_timestamp: edited } = quoted;
    const member = this.#parts.people.member(where.workspace, author.id);
    const by = {
      id: author.id,
      name: nameOf(author, member),
      isBot: author.bot === true || webhook !== undefined,
    };
    const { texts } = await this.#attached(visibleFiles(quoted), null);
    const text = [this.#text(quoted, where, by, bot), ...texts].filter(Boolean).join("\n");
    const at = new Date(timestamp);
    const asOf = edited == null ? at : new Date(edited);
    return { quote: { id, author: by, text: text || withoutWords(quoted.type), at, asOf } };
  }

  /** The people whom a message mentions in Discord's form, by the names in its text. */
  #mentioned(
    { mentions, mention_roles: roles }: MessagePayload,
    { workspace }: ChannelOnPlatform,
  ): Pick<InboundMessage, "mentions" | "mentionedRoles"> {
    const names = mentions.map((user) => nameOf(user, user.member));
    const roleNames = roles.flatMap((role) => this.#parts.directory.roleName(workspace, role) ?? []);
    return {
      ...(names.length > 0 && { mentions: names }),
      ...(roles.length > 0 && { mentionedRoles: [...roles, ...roleNames] }),
    };
  }

  #text(message: QuotedPayload, where: ChannelOnPlatform, author: Author, bot: Bot): string {
    const names = this.#namesFor(message, where, bot);
    const text = readableText(message.content, names);
    // A command after the bot's name stays a command if the name has spaces.
    const own = `@${names.person(bot.user.id) ?? ""}`;
    const rest = text.startsWith(own) ? text.slice(own.length).trimStart() : "";
    const words = rest.startsWith("/") ? rest : text;
    return visibleText(message, words, author.isBot, (part) => readableText(part, names));
  }

  #namesFor(message: QuotedPayload, where: ChannelOnPlatform, bot: Bot): TextNames {
    const { directory, people } = this.#parts;
    const all = [message, ...message.message_snapshots.map((one) => one.message)].flatMap(
      (one) => one.mentions,
    );
    const mentioned = new Map(all.map((user) => [user.id, nameOf(user, user.member)]));
    return {
      person: (id) =>
        mentioned.get(id) ?? (id === bot.user.id ? nameOf(bot.user, undefined) : people.nameOf(id)),
      channel: (id) => directory.known(id)?.name,
      role: (id) => directory.roleName(where.workspace, id),
    };
  }

  #meet(
    { author, mentions, channel_id: channelId }: MessagePayload,
    where: ChannelOnPlatform,
    by: Author,
  ): void {
    const { people } = this.#parts;
    if (!by.isBot) people.met(channelId, author, by.name);
    for (const user of mentions) {
      if (user.bot === true) continue;
      const member = user.member ?? people.member(where.workspace, user.id);
      people.met(channelId, user, nameOf(user, member));
    }
  }
}

function toAttachedFile(file: AttachmentPayload): AttachedFile {
  const { filename, title, content_type: type, size, url, duration_secs: seconds, waveform } = file;
  const ending = path.extname(filename);
  const name =
    title == null || title === "" ? filename : title.endsWith(ending) ? title : `${title}${ending}`;
  // Only a voice message has a waveform.
  const voice = waveform == null ? undefined : { durationS: seconds ?? null, heard: null };
  return { name, type: type ?? "", size, url, ...(voice !== undefined && { voice }) };
}

/** For a message in which nothing can be read. */
function withoutWords(type: number): string {
  const name = MessageType[type] ?? `type ${type}`;
  return name === "Default" ? "[message without words]" : `[message without words: ${name}]`;
}
