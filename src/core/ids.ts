/** Branded ids, so that a turn's number cannot be used as a channel's. */

declare const brand: unique symbol;
type Brand<Value, Name extends string> = Value & { readonly [brand]: Name };

export type ChannelId = Brand<number, "ChannelId">;
export type TurnId = Brand<number, "TurnId">;
/** The row of a compaction's job. */
export type JobId = Brand<number, "JobId">;
export type MemoryId = Brand<number, "MemoryId">;
/** `[[agents]] id` in config.toml. */
export type AgentId = Brand<string, "AgentId">;

// oxlint-disable typescript/no-unsafe-type-assertion -- the one place where plain values become names
export function channelId(row: number): ChannelId {
  return row as ChannelId;
}

export function turnId(row: number): TurnId {
  return row as TurnId;
}

export function jobId(row: number): JobId {
  return row as JobId;
}

export function memoryId(row: number): MemoryId {
  return row as MemoryId;
}

export function agentId(name: string): AgentId {
  return name as AgentId;
}
// oxlint-enable typescript/no-unsafe-type-assertion

/** Place of an entry in its channel's log: 1, 2, 3, … without a gap. */
export type Seq = number;

/** The right to write a channel's turns and answers: void once another daemon has raised the epoch. */
export interface Owner {
  readonly channel: ChannelId;
  readonly epoch: number;
}

/** The address of a channel on its platform: unique over all platforms. */
export interface ChannelAddress {
  readonly platform: string;
  /** The platform's own identifier of the channel, thread or DM. */
  readonly name: string;
}

/** A person of a platform, as the key of a map. */
export function personKey(platform: string, id: string): string {
  return `${platform}\n${id}`;
}

/** `terminal:main`. The form that people type and logs show. */
export function formatAddress(address: ChannelAddress): string {
  return `${address.platform}:${address.name}`;
}

/** The inverse of {@link formatAddress}; a text without a colon is a terminal channel. */
export function parseAddress(text: string): ChannelAddress {
  const colon = text.indexOf(":");
  if (colon <= 0) return { platform: "terminal", name: text };
  return { platform: text.slice(0, colon), name: text.slice(colon + 1) };
}
