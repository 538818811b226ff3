import { ApiError, type Arguments } from "./arguments.ts";
import type { EventFeed } from "./events.ts";
import type { JsonObject, SlackChannel, Workspace } from "./model.ts";

/** What a method of the Web API may use. */
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
  /** The line under a thread that says what the assistant is at; empty: none. */
  setStatus(channel: string, threadTs: string, status: string): void;
}

export interface ApiLimits {
  /** Longest `text` of chat.postMessage, characters. */
  readonly postLength: number;
  /** Longest `text` of chat.update. */
  readonly updateLength: number;
  /** Longest `markdown_text`, which streams take. */
  readonly markdownLength: number;
  /** Most rows of any page, whatever `limit` asks for. */
  readonly pageSize: number;
  /**
   * Which page of `conversations.history` comes first where only `oldest` is given: the one next to it (as Slack once
   * described it), or the newest.
   */
  readonly oldestPageFirst: boolean;
  /** `chat.update` in any minute, over all channels. */
  readonly updatesPerMinute: number;
  /** Whether messages are given back with the metadata that they were posted with. */
  readonly givesMetadata: boolean;
  /** The plan shows nothing that was said before, ms since the epoch. */
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

/** @throws ApiError `channel_not_found`, also for a private channel that we are no member of */
export function findChannel(args: Arguments, { workspace }: MethodContext): SlackChannel {
  const id = args.required("channel");
  const channel = workspace.channels.get(id);
  if (channel === undefined) throw new ApiError("channel_not_found");
  const isHidden = channel.type !== "channel" && !channel.members.has(workspace.bot.id);
  if (isHidden) throw new ApiError("channel_not_found");
  return channel;
}

/** One page of rows that were all found. The cursor is opaque to clients. */
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
