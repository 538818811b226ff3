import { ApiError, type Arguments } from "./arguments.ts";
import type { EventFeed } from "./events.ts";
import type { JsonObject, SlackChannel, Workspace } from "./model.ts";

export interface MethodContext {
  readonly workspace: Workspace;
  readonly feed: EventFeed;
  /** `http://127.0.0.1:PORT` */
  readonly origin: string;
  readonly limits: ApiLimits;
  /** A new address for one socket. */
  openConnection(): string;
  /** A text that only one person sees. */
  addEphemeral(channel: string, user: string, text: string, blocks: unknown): string;
  /** Shows a form. @returns Slack's refusal; null: it is shown */
  openView(trigger: string, view: unknown): string | null;
  /** The assistant's status line under a thread; empty: none. */
  setStatus(channel: string, threadTs: string, status: string): void;
}

export interface ApiLimits {
  /** Longest `text` of chat.postMessage, characters. */
  readonly postLength: number;
  /** Longest `text` of chat.update. */
  readonly updateLength: number;
  /** Longest `markdown_text` of a stream. */
  readonly markdownLength: number;
  /** Most rows of any page, whatever `limit`. */
  readonly pageSize: number;
  /** The first page of `conversations.history` with only `oldest`: the one next to it (as Slack once documented), or the newest. */
  readonly oldestPageFirst: boolean;
  /** `chat.update` in any minute, over all channels. */
  readonly updatesPerMinute: number;
  /** Streams that may begin in any minute (tier 2), and as many that may end. */
  readonly streamsPerMinute: number;
  /** `chat.appendStream` in any minute (tier 4). */
  readonly appendsPerMinute: number;
  /** Whether messages are returned with their metadata. */
  readonly givesMetadata: boolean;
  /** The plan hides messages before this time, ms since the epoch. */
  readonly shownFrom: number;
}

export interface Method {
  /** `*:history` and `*:read` stand for the scope of the channel's type. */
  readonly scope: string | undefined;
  /** Default: the bot's. */
  readonly token?: "app";
  /** @throws ApiError */
  readonly run: (args: Arguments, context: MethodContext) => JsonObject;
}

/** @throws ApiError `channel_not_found`, also for a private channel without the bot */
export function findChannel(args: Arguments, { workspace }: MethodContext): SlackChannel {
  const id = args.required("channel");
  const channel = workspace.channels.get(id);
  if (channel === undefined) throw new ApiError("channel_not_found");
  const isHidden = channel.type !== "channel" && !channel.members.has(workspace.bot.id);
  if (isHidden) throw new ApiError("channel_not_found");
  return channel;
}

/** One page of found rows. The cursor is opaque to clients. */
export function paginate<Row>(
  rows: readonly Row[],
  args: Arguments,
  context: MethodContext,
  defaultLimit = 100,
): { readonly page: readonly Row[]; readonly nextCursor: string } {
  const limit = Math.min(args.count("limit", defaultLimit, 1000), context.limits.pageSize);
  const start = readCursor(args.text("cursor"));
  const end = start + limit;
  return { page: rows.slice(start, end), nextCursor: end < rows.length ? writeCursor(end) : "" };
}

function writeCursor(offset: number): string {
  return Buffer.from(`offset:${offset}`).toString("base64");
}

/** @throws ApiError `invalid_cursor` */
function readCursor(cursor: string | undefined): number {
  if (cursor === undefined) return 0;
  const match = /^offset:(\d+)$/.exec(Buffer.from(cursor, "base64").toString());
  if (match === null) throw new ApiError("invalid_cursor");
  return Number(match[1]);
}
