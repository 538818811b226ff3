import type { Entry } from "../../core/entry.ts";
import { displayable, displayableLine } from "../../text/displayable.ts";
import { imageTypeNamed } from "../../core/image.ts";
import type { ChannelRow } from "../../store/channels/channels.ts";
import type { ListedImage } from "../../store/log/attachments.ts";
import { formatNumber, formatSize } from "../../text/format.ts";
import { counted, truncateMiddle } from "../../text/text.ts";
import type { TimeFormat } from "../../text/time.ts";
import { exportPage, type PageMessage, type PagePicture } from "../reports/export-page.ts";
import { type AskedCommand, channelTitle, type Command, type CommandParts, timeOf } from "./command.ts";

/** Longest export, in UTF-16 units: of a terminal it becomes a file; elsewhere it comes as messages. */
const MAX_LENGTH = { file: 1_000_000, messages: 8000 };
/** Pictures of a page, all together, in bytes: as data URLs they take a third more. */
const MAX_PICTURE_BYTES = 10_000_000;
/** Entries that are read at once. */
const PAGE = 500;
/** Platforms on which the asker can read files of this machine. */
const WITH_FILES: ReadonlySet<string> = new Set(["terminal", "loopback"]);

interface SaidMessage {
  readonly speaker: string;
  /** In words. */
  readonly at: string;
  readonly text: string;
  readonly images: readonly ListedImage[];
}

export const exportCommand: Command = {
  name: "export",
  help: "the conversation as Markdown, the newest part where it is long; in the terminal: into a file",
  argument: null,
  allowed: "owners",
  effect: "shows all that was said here",
  run: exportChannel,
};

async function exportChannel(
  { store, agentOf, now }: CommandParts,
  { channel, argument, typed }: AskedCommand,
): Promise<string> {
  const { platform } = channel.address;
  const isPage = /(?:^|\.)html?$/i.test(argument);
  if (isPage && !WITH_FILES.has(platform))
    return `Pages with pictures are written at the terminal. ${typed("export")} is the conversation as text.`;
  const time = timeOf({ agentOf }, channel);
  const { said, isCut } = await readSaid(store, channel, time);
  if (said.length === 0 && !isCut) return "Nothing was said here yet.";
  const extent = isCut
    ? `the newest ${counted(said.length, "message")} of about ${formatNumber(channel.lastSeq)} entries; "weir log" on the command line has all`
    : counted(said.length, "message");
  const title = displayableLine(channelTitle(channel));
  const about = `Exported ${time.full(now())}: ${extent}.`;
  if (isPage) return exportPage({ title, about, said: await withPictures(store, platform, said) });
  return [`# ${title}\n\n${about}`, ...said.map(markdownOf)].join("\n\n");
}

/** A channel's messages without deleted ones, oldest first; of a long channel only the newest part. */
async function readSaid(
  store: CommandParts["store"],
  channel: ChannelRow,
  time: TimeFormat,
): Promise<{ readonly said: readonly SaidMessage[]; readonly isCut: boolean }> {
  const { platform } = channel.address;
  const limit = WITH_FILES.has(platform) ? MAX_LENGTH.file : MAX_LENGTH.messages;
  /** The newest first. */
  const parts: SaidMessage[] = [];
  let length = 0;
  for (let to = channel.lastSeq; to > 0 && length < limit; to -= PAGE) {
    const entries = await store.log.readCurrent(channel.id, Math.max(1, to - PAGE + 1), to);
    const ids = entries.flatMap((entry) => (entry.kind === "user" ? entry.messageId : []));
    const images = Map.groupBy(await store.attached.list(platform, ids), ({ messageId }) => messageId);
    for (const entry of entries.toReversed()) {
      const of = entry.kind === "user" ? images.get(entry.messageId) : undefined;
      const part = exported(entry, of ?? [], { agent: channel.agent, time });
      if (part === null) continue;
      length += markdownOf(part).length;
      if (length > limit) {
        // The newest is shown in any case, with a gap.
        if (parts.length === 0) parts.push({ ...part, text: truncateMiddle(part.text, limit) });
        break;
      }
      parts.push(part);
    }
  }
  return { said: parts.toReversed(), isCut: length > limit };
}

/**
 * One message, with its author and time; null: it is no message, or was deleted. Pure.
 * @param images its stored pictures; the others stand in its text by name, kind and size
 */
function exported(
  entry: Entry,
  images: readonly ListedImage[],
  { agent, time }: { readonly agent: string; readonly time: TimeFormat },
): SaidMessage | null {
  const isSaid = entry.kind === "user" || entry.kind === "assistant";
  if (!isSaid || entry.deleted || (entry.text.trim() === "" && images.length === 0)) return null;
  const text = displayable(entry.text).trim();
  // Not all platforms name the pictures in the text.
  const unnamed = images.filter(({ name }) => !entry.text.includes(`[image ${name},`)).map(labelOf);
  return {
    speaker: displayableLine(speakerIn(entry, agent)),
    at: time.minute(entry.at),
    text: [text, ...unnamed].filter((line) => line !== "").join("\n"),
    images,
  };
}

function labelOf({ name, type, size }: ListedImage): string {
  return displayableLine(`[image ${name}, ${type}, ${formatSize(size)}]`);
}

function markdownOf({ speaker, at, text }: SaidMessage): string {
  return `**${speaker}**, ${at}\n\n${text}`;
}

/** Reads the pictures, those of the newest messages first, until there is no room left. */
async function withPictures(
  store: CommandParts["store"],
  platform: string,
  said: readonly SaidMessage[],
): Promise<PageMessage[]> {
  let room = MAX_PICTURE_BYTES;
  const pages: PageMessage[] = [];
  for (const { images, ...message } of said.toReversed()) {
    const pictures: PagePicture[] = [];
    for (const image of images) {
      const type = imageTypeNamed(image.type);
      const fits = type !== null && image.size <= room;
      const bytes = fits ? await store.attached.bytesOf(platform, image) : undefined;
      room -= bytes?.length ?? 0;
      pictures.push({ label: labelOf(image), ...(type !== null && bytes !== undefined && { type, bytes }) });
    }
    pages.push({ ...message, pictures });
  }
  return pages.toReversed();
}

/**
 * The author of an entry.
 * @param agent the channel's own
 */
export function speakerIn(entry: Entry, agent: string): string {
  if (entry.kind === "user") return entry.author.name;
  return ("agent" in entry ? entry.agent : undefined) ?? agent;
}
