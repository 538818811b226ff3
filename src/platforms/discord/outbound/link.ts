import type { LinkedChannel } from "../../platform.ts";
import { isSnowflake } from "../snowflake.ts";

/** A message's address in Discord; null: the id is not a message's, but such as a reaction's. Pure. */
export function linkTo({ address, workspace, place }: LinkedChannel, messageId: string): string | null {
  if (!isSnowflake(messageId)) return null;
  // A thread's root message has the thread's id, and is in the parent channel.
  const parent = place?.parent?.id;
  const channel = messageId === address.name && parent !== undefined ? parent : address.name;
  return `https://discord.com/channels/${workspace === "" ? "@me" : workspace}/${channel}/${messageId}`;
}
