import { isSnowflake } from "../snowflake.ts";

/**
 * The connection that reports a server's events, by Discord's formula. @param guildId "": direct messages, which the
 * first one reports. Pure
 */
export function shardOf(guildId: string, shards: number): number {
  return isSnowflake(guildId) ? Number((BigInt(guildId) >> 22n) % BigInt(shards)) : 0;
}
