import type { ChannelId } from "../core/ids.ts";

/** The right to write a channel's turns and answers: void once another daemon has raised the epoch. */
export interface Owner {
  readonly channel: ChannelId;
  readonly epoch: number;
}
