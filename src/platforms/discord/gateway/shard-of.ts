import { isSnowflake } from "../snowflake.ts";

/** Which connection tells of a server, by Discord's formula. @param guildId "": direct messages, which come on the first. Pure */
export function shardOf(guildId: string, shards: number): number {
  return isSnowflake(guildId) ? Number((BigInt(guildId) >> 22n) % BigInt(shards)) : 0;
}
