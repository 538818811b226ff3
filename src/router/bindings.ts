import type { AgentId, ChannelAddress } from "../core/ids.ts";

/** Which agent answers which channels. */
export interface Binding {
  readonly platform: string;
  readonly agent: AgentId;
}

/** The first binding that matches; undefined: nobody answers this channel. Pure. */
export function findBinding(bindings: readonly Binding[], address: ChannelAddress): Binding | undefined {
  return bindings.find(({ platform }) => platform === address.platform);
}
