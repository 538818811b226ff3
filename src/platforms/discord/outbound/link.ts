import type { LinkedChannel } from "../../platform.ts";
import { isSnowflake } from "../snowflake.ts";

/** A message's address in Discord; null for what is no message, as a reaction. Pure. */
export function linkTo({ address, workspace, place }: LinkedChannel, messageId: string): string | null {
  if (!isSnowflake(messageId)) return null;
  // The message that a thread was begun from has the thread's id, and stands in its channel.
  const parent = place?.parent?.id;
  const channel = messageId === address.name && parent !== undefined ? parent : address.name;
  return `https://discord.com/channels/${workspace === "" ? "@me" : workspace}/${channel}/${messageId}`;
}
