import type { Entry } from "../core/entry.ts";
import { displayable, displayableLine } from "../text/displayable.ts";
import { formatNumber } from "../text/format.ts";
import { counted, truncateMiddle } from "../text/text.ts";
import type { TimeFormat } from "../text/time.ts";
import { type AskedCommand, channelTitle, type Command, type CommandParts, timeOf } from "./command.ts";

/** Longest export, in UTF-16 units: of a terminal it becomes a file; elsewhere it comes as messages. */
const MAX_LENGTH = { file: 1_000_000, messages: 8000 };
/** Entries that are read at once. */
const PAGE = 500;
/** Platforms on which whoever asks has a disk. */
const WITH_FILES: ReadonlySet<string> = new Set(["terminal", "loopback"]);

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
  { channel }: AskedCommand,
): Promise<string> {
  const time = timeOf({ agentOf }, channel);
  const limit = WITH_FILES.has(channel.address.platform) ? MAX_LENGTH.file : MAX_LENGTH.messages;
  /** The newest first. */
  const parts: string[] = [];
  let length = 0;
  for (let to = channel.lastSeq; to > 0 && length < limit; to -= PAGE) {
    const entries = await store.log.readCurrent(channel.id, Math.max(1, to - PAGE + 1), to);
    for (const entry of entries.toReversed()) {
      const part = exported(entry, channel.agent, time);
      if (part === null) continue;
      length += part.length;
      if (length > limit) {
        // The newest is shown in any case, with a gap.
        if (parts.length === 0) parts.push(truncateMiddle(part, limit));
        break;
      }
      parts.push(part);
    }
  }
  if (length === 0) return "Nothing was said here yet.";
  const isCut = length > limit;
  const extent = isCut
    ? `the newest ${counted(parts.length, "message")} of about ${formatNumber(channel.lastSeq)} entries; "weir log" on the command line has all`
    : counted(parts.length, "message");
  const title = `# ${displayableLine(channelTitle(channel))}\n\nExported ${time.full(now())}: ${extent}.`;
  return [title, ...parts.toReversed()].join("\n\n");
}

/** One message, with who said it and when; null: it is none, or was taken back. Pure. */
function exported(entry: Entry, agent: string, time: TimeFormat): string | null {
  const isSaid = entry.kind === "user" || entry.kind === "assistant";
  if (!isSaid || entry.deleted || entry.text.trim() === "") return null;
  return `**${displayableLine(speakerIn(entry, agent))}**, ${time.minute(entry.at)}\n\n${displayable(entry.text).trim()}`;
}

/** Who said an entry. @param agent the channel's own */
export function speakerIn(entry: Entry, agent: string): string {
  if (entry.kind === "user") return entry.author.name;
  return ("agent" in entry ? entry.agent : undefined) ?? agent;
}
