import PQueue from "p-queue";
import type { Logger } from "pino";
import type { Author, ChannelOnPlatform, InboundImage, InboundMessage } from "../../../core/message.ts";
import { displayName } from "../../../text/text.ts";
import {
  type AttachmentReader,
  type AttachedFile,
  readAttachments,
  type ReadAttachments,
} from "../../shared/attachments.ts";
import { addressOf, isDm, messageId, type SlackPlace, timeOfTs } from "../address.ts";
import { mentionedIds, readableText } from "./readable-text.ts";
import { ownWords, visibleFiles, visibleText } from "./visible-parts.ts";
import type { Bot, Names } from "../web/names.ts";
import type { People } from "../web/people.ts";
import { fileInfo, type SlackFile, type SlackMessage } from "./payload.ts";
import type { SlackApi } from "../web/api.ts";
import { errorMessage } from "../../../core/errors.ts";

export interface ReaderParts {
  readonly api: Pick<SlackApi, "call">;
  readonly names: Names;
  readonly people: People;
  readonly botToken: string;
  /** Null: Slack's own. */
  readonly apiUrl: string | null;
  readonly log: Logger;
}

/** A message's text as a model reads it. */
export interface SaidText {
  readonly text: string;
  readonly images: readonly InboundImage[];
  /** Names in the text for the people whom it mentions in Slack's form. */
  readonly mentions: readonly string[];
}

/** Names the files without fetching them. */
const NO_FILES: AttachmentReader = { own: { hosts: [], apiUrl: null }, onFailure: () => undefined };
const FILE_HOSTS = ["files.slack.com", "slack.com", "slack-edge.com"];

/** Names looked up per message, and how many concurrently: a text has room for thousands of ids. */
const MAX_LOOKED_UP = 50;
const LOOK_UPS = 5;

/** Converts Slack's messages to Weir's: looks up names, reads files. */
export class MessageReader {
  readonly #parts: ReaderParts;
  readonly #files: AttachmentReader;

  constructor(parts: ReaderParts) {
    this.#parts = parts;
    this.#files = {
      own: { hosts: FILE_HOSTS, apiUrl: parts.apiUrl },
      headers: { authorization: `Bearer ${parts.botToken}` },
      onFailure: (name, why) => parts.log.info({ platform: "slack", why }, "file_not_read"),
    };
  }

  /**
   * @param options.withFiles false: the files are named but not downloaded
   * @throws SlackError if Slack does not say who the bot is
   */
  async read(
    channel: string,
    message: SlackMessage,
    options: { readonly withFiles: boolean },
  ): Promise<InboundMessage> {
    const bot = await this.#parts.names.bot();
    const place = placeOfMessage(channel, message);
    const [where, author, said] = await Promise.all([
      this.where(place),
      this.#author(message),
      this.said(message, options),
    ]);
    this.#parts.people.met(channel, author.id, author.name);
    return {
      type: "message",
      ...where,
      id: messageId(channel, message.ts),
      author,
      text: said.text,
      at: timeOfTs(message.ts),
      addressed: isAddressed(channel, message, bot),
      ...(said.images.length > 0 && { images: said.images }),
      ...(said.mentions.length > 0 && { mentions: said.mentions }),
    };
  }

  /** Reads a text and its attachments. */
  async said(message: SlackMessage, { withFiles }: { readonly withFiles: boolean }): Promise<SaidText> {
    const [{ text: words, mentions }, read] = await Promise.all([
      this.#named(visibleText(message)),
      this.#attached(visibleFiles(message), withFiles),
    ]);
    return { text: [words, ...read.texts].filter(Boolean).join("\n"), images: read.images, mentions };
  }

  async #attached(files: readonly SlackFile[], withFiles: boolean): Promise<ReadAttachments> {
    const described = await Promise.all(files.map(async (file) => this.#described(file)));
    return await readAttachments(described.flatMap(toAttachedFile), withFiles ? this.#files : NO_FILES);
  }

  /** A file of another workspace comes as its id alone; if Slack does not describe it, it stays that. */
  async #described(file: SlackFile): Promise<SlackFile> {
    if (file.file_access !== "check_file_info") return file;
    try {
      return (await this.#parts.api.call("files.info", { file: file.id }, fileInfo)).file;
    } catch (error) {
      this.#parts.log.info({ platform: "slack", why: errorMessage(error) }, "file_not_read");
      return file;
    }
  }

  /** Replaces ids by names. Looks up a limited number, a few at a time: other ids stay. */
  async readable(text: string): Promise<string> {
    return (await this.#named(text)).text;
  }

  async #named(text: string): Promise<Pick<SaidText, "text" | "mentions">> {
    const { names } = this.#parts;
    const ids = mentionedIds(text);
    const bot = ids.people.length === 0 ? null : await names.bot();
    const people = ids.people.filter((id) => id !== bot?.userId).slice(0, MAX_LOOKED_UP);
    const channels = ids.channels.slice(0, MAX_LOOKED_UP - people.length);
    const lookUps = new PQueue({ concurrency: LOOK_UPS });
    const named = async (
      some: readonly string[],
      nameOf: (id: string) => Promise<string>,
    ): Promise<[string, string][]> =>
      lookUps.addAll(some.map((id) => async () => [id, await nameOf(id)] satisfies [string, string]));
    const [peopleNamed, channelsNamed, groupsNamed] = await Promise.all([
      named(people, async (id) => (await names.person(id)).name),
      named(channels, async (id) => names.channelName(id)),
      // One call returns all groups.
      named(ids.groups, async (id) => names.group(id)),
    ]);
    const known = new Map(bot === null ? peopleNamed : [[bot.userId, bot.name], ...peopleNamed]);
    const readable = readableText(text, {
      people: known,
      channels: new Map(channelsNamed),
      groups: new Map(groupsNamed),
    });
    return { text: readable, mentions: ids.people.flatMap((id) => known.get(id) ?? []) };
  }

  async where({ channel, threadTs }: SlackPlace): Promise<ChannelOnPlatform> {
    const { names } = this.#parts;
    const [bot, info] = await Promise.all([names.bot(), names.channel(channel)]);
    const isDirect = isDm(channel);
    const name = isDirect && info.user !== null ? (await names.person(info.user)).name : info.name || channel;
    const workspace = isDirect ? "" : bot.teamName;
    const isThread = threadTs !== null;
    return {
      channel: addressOf({ channel, threadTs }),
      kind: isDirect ? "dm" : isThread ? "thread" : "channel",
      workspace: bot.teamId,
      place: {
        workspace,
        channel: isThread && !isDirect ? `thread in ${name}` : name,
        parent: isThread ? { id: channel, name } : null,
      },
      ...(!isDirect && !isThread && info.isPrivate !== undefined && { isPrivate: info.isPrivate }),
    };
  }

  /** The author of a reaction or command. */
  async person(id: string): Promise<Author> {
    const { name, isBot, roleNames } = await this.#parts.names.person(id);
    return { id, name, isBot, ...(roleNames.length > 0 && { roleNames }) };
  }

  async #author({ user, bot_id: botId, username, bot_profile: profile }: SlackMessage): Promise<Author> {
    const isBot = (botId ?? "") !== "";
    const bot = await this.#parts.names.bot();
    if (user === bot.userId || botId === bot.botId) return { id: bot.userId, name: bot.name, isBot: true };
    if (typeof user === "string" && user !== "") {
      const author = await this.person(user);
      return { ...author, isBot: isBot || author.isBot };
    }
    return {
      id: botId ?? "unknown",
      name: displayName(username || profile?.name || botId || ""),
      isBot: true,
    };
  }
}

/** A reply belongs to its thread, even if the channel shows it, too. Pure. */
export function placeOfMessage(channel: string, { ts, thread_ts: threadTs }: SlackMessage): SlackPlace {
  const isReply = typeof threadTs === "string" && threadTs !== ts;
  return { channel, threadTs: isReply ? threadTs : null };
}

/** Whether the message is the bot's own. Pure. */
export function isOwn({ user, bot_id: botId }: Pick<SlackMessage, "user" | "bot_id">, bot: Bot): boolean {
  return user === bot.userId || botId === bot.botId;
}

/** Equal for the `message` and the `app_mention` of one message. Pure. */
export function isAddressed(channel: string, message: SlackMessage, bot: Bot): boolean {
  return (
    isDm(channel) ||
    mentionedIds(ownWords(message)).people.includes(bot.userId) ||
    (message.parent_user_id === bot.userId && message.thread_ts !== message.ts)
  );
}

function toAttachedFile(file: SlackFile): AttachedFile[] {
  if (file.mode === "tombstone" || file.mode === "hidden_by_limit") return [];
  const name = file.name || file.title || file.id;
  const url = file.url_private_download || file.url_private || "";
  return [{ name, type: file.mimetype ?? "", size: file.size ?? 0, url }];
}
