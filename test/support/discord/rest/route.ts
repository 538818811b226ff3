import { z } from "zod";

import type { ChannelRecord, MessageRecord } from "../records.ts";
import type { State } from "../state.ts";
import { ApiError, missingAccess, unknownChannel, unknownMessage } from "./api-error.ts";

export interface UploadedFile {
  readonly name: string;
  readonly contentType: string;
  readonly body: Uint8Array;
}

export interface RestCall {
  readonly state: State;
  readonly params: ReadonlyMap<string, string>;
  readonly query: URLSearchParams;
  readonly body: unknown;
  readonly uploads: readonly UploadedFile[];
}

export interface RestAnswer {
  readonly status: number;
  /** Undefined: no body, as for 204. */
  readonly body?: unknown;
}

export interface Route {
  readonly method: string;
  /** As `/channels/:channel/messages`. */
  readonly pattern: string;
  /** Interactions carry their own token in the path. Default: false. */
  readonly needsNoToken?: boolean;
  /** @throws ApiError if the request is refused, without any change */
  handle(call: RestCall): RestAnswer;
}

export const ok = (body: unknown): RestAnswer => ({ status: 200, body });
export const noContent: RestAnswer = { status: 204 };

export function param(call: RestCall, name: string): string {
  return call.params.get(name) ?? "";
}

/** The path's values by name; null: no match. */
export function fit(pattern: string, path: string): Map<string, string> | null {
  const wanted = pattern.split("/");
  const given = path.split("/");
  if (wanted.length !== given.length) return null;
  const params = new Map<string, string>();
  for (const [index, part] of wanted.entries()) {
    const value = given[index] ?? "";
    if (part.startsWith(":")) params.set(part.slice(1), decodeURIComponent(value));
    else if (part !== value) return null;
  }
  return params;
}

/** @throws ApiError 50035 for a body of another shape */
export function parseBody<Shape extends z.ZodType>(shape: Shape, body: unknown): z.infer<Shape> {
  const parsed = shape.safeParse(body ?? {});
  if (parsed.success) return parsed.data;
  throw new ApiError(400, 50_035, "Invalid Form Body", z.treeifyError(parsed.error));
}

/** The channel of the path. @throws ApiError 10003, 50001 */
export function channelOf(call: RestCall): ChannelRecord {
  const channel = call.state.channels.get(param(call, "channel"));
  if (channel === undefined) throw unknownChannel();
  if (channel.access === "none" || (channel.guildId !== null && !call.state.guilds.has(channel.guildId))) {
    throw missingAccess();
  }
  return channel;
}

/** The message of the path, within its channel. @throws ApiError 10008 */
export function messageOf(call: RestCall, channel: ChannelRecord): MessageRecord {
  const message = call.state.messages.get(param(call, "message"));
  if (message === undefined || message.channelId !== channel.id || message.isEphemeral)
    throw unknownMessage();
  return message;
}
