import PQueue from "p-queue";
import type { Logger } from "pino";
import type { Author, ChannelOnPlatform, InboundImage, InboundMessage } from "../../../core/message.ts";
import { displayName } from "../../../text/text.ts";
import {
  type AttachmentReader,
  type AttachedFile,
  hearing,
  NO_FILES,
  readAttachments,
  type ReadAttachments,
  type SaidBy,
} from "../../shared/attachments.ts";
import type { Transcripts } from "../../platform.ts";
import { addressOf, isDm, messageId, type SlackPlace, timeOfTs } from "../address.ts";
import { mentionedIds, readableText } from "./readable-text.ts";
import { ownWords, visibleFiles, visibleText } from "./visible-parts.ts";
import type { ChannelRenames } from "../channel-renames.ts";
import { type Bot, markOf, type Names, type Person } from "../web/names.ts";
import type { KnownPeople } from "../../shared/known-people.ts";
import type { Recipients } from "../web/recipients.ts";
import type { AgentView } from "./agent-view.ts";
import { fileInfo, type SlackFile, type SlackMessage } from "./payload.ts";
import type { SlackApi } from "../web/api.ts";
import { errorMessage } from "../../../core/errors.ts";

interface ReaderParts {
  readonly api: Pick<SlackApi, "call">;
  readonly names: Names;
  readonly renames: ChannelRenames;
  readonly people: KnownPeople;
  readonly recipients: Recipients;
  readonly agentView: AgentView;
  readonly botToken: string;
  /** Null: Slack's own. */
  readonly apiUrl: string | null;
  /** Default: sounds are only named, or have the words that Slack has heard. */
  readonly transcripts?: () => Transcripts | undefined;
  readonly log: Logger;
}

/** A message's text as a model reads it. */
interface SaidText {
  readonly text: string;
  readonly images: readonly InboundImage[];
  /** Names in the text for the people whom it mentions in Slack's form. */
  readonly mentions: readonly string[];
}

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
    const place = this.#parts.agentView.placeOf(channel, message);
    const [where, author, said] = await Promise.all([
      this.where(place),
      this.#author(channel, message),
      this.#said(channel, message, options),
    ]);
    if (!author.isBot) {
      const team = message.user_team ?? message.team ?? bot.teamId;
      this.#parts.recipients.said(messageId(channel, message.ts), { user: author.id, team });
    }
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
  async #said(
    channel: string,
    message: SlackMessage,
    { withFiles }: { readonly withFiles: boolean },
  ): Promise<SaidText> {
    const by: SaidBy = {
      where: async () => this.where(this.#parts.agentView.placeOf(channel, message)),
      author: async () => this.#author(channel, message),
    };
    const [{ text: words, mentions }, read] = await Promise.all([
      this.#named(visibleText(message)),
      this.#attached(visibleFiles(message), withFiles, by),
    ]);
    return { text: [words, ...read.texts].filter(Boolean).join("\n"), images: read.images, mentions };
  }

  async #attached(files: readonly SlackFile[], withFiles: boolean, by: SaidBy): Promise<ReadAttachments> {
    const described = await Promise.all(files.map(async (file) => this.#described(file)));
    const reader = hearing(this.#files, this.#parts.transcripts?.(), by);
    return await readAttachments(described.flatMap(toAttachedFile), withFiles ? reader : NO_FILES);
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
    const { names, renames } = this.#parts;
    const newestId = renames.newestId(channel);
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
        ...(newestId !== channel && { newestId }),
        ...(info.isExternal && !isDirect && { isExternal: true as const }),
      },
      ...(!isDirect && !isThread && info.isPrivate !== undefined && { isPrivate: info.isPrivate }),
    };
  }

  /** The author of a reaction or command. */
  async person(id: string): Promise<Author> {
    return this.#authorOf(id, await this.#parts.names.person(id));
  }

  #authorOf(id: string, { name, isBot, roleNames, mark }: Person): Author {
    const shown = mark === "" ? name : `${name} (${mark})`;
    return { id, name: shown, isBot, ...(roleNames.length > 0 && { roleNames }) };
  }

  /** A person as Slack tells of them, or where it does not, as their message does. */
  async #speaker(id: string, { user_team: team, user_profile: profile }: SlackMessage): Promise<Person> {
    const { names } = this.#parts;
    const [person, bot] = await Promise.all([names.person(id), names.bot()]);
    if (person.name !== id) return person;
    const name = profile?.display_name || profile?.real_name || profile?.name || id;
    const mark = markOf({ ...profile, isOurs: team == null || team === bot.teamId });
    return { ...person, name: displayName(name), mark };
  }

  async #author(channel: string, message: SlackMessage): Promise<Author> {
    const { user, bot_id: botId, username, bot_profile: profile } = message;
    const isBot = (botId ?? "") !== "";
    const bot = await this.#parts.names.bot();
    if (user === bot.userId || botId === bot.botId) return { id: bot.userId, name: bot.name, isBot: true };
    if (typeof user === "string" && user !== "") {
      const person = await this.#speaker(user, message);
      this.#parts.people.met(channel, user, person.name);
      const author = this.#authorOf(user, person);
      return { ...author, isBot: isBot || author.isBot };
    }
    const name = displayName(username || profile?.name || botId || "");
    this.#parts.people.met(channel, botId ?? "unknown", name);
    return { id: botId ?? "unknown", name, isBot: true };
  }
}

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
  const voice = voiceOf(file);
  return [{ name, type: file.mimetype ?? "", size: file.size ?? 0, url, ...(voice !== null && { voice }) }];
}

/** Null: no clip that was recorded in Slack. */
function voiceOf({
  subtype,
  duration_ms: ms,
  transcription,
}: SlackFile): NonNullable<AttachedFile["voice"]> | null {
  if (subtype !== "slack_audio") return null;
  const preview = transcription?.preview;
  const heard = preview == null ? null : { text: preview.content, isWhole: preview.has_more !== true };
  return { durationS: ms == null ? null : ms / 1000, heard };
}
