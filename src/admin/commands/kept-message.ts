import { randomUUID } from "node:crypto";
import { retryWrite } from "../../async/retry.ts";
import { COMMAND_PREFIX, type InboundMessage } from "../../core/message.ts";
import type { AskedCommand, CommandParts } from "./command.ts";

/**
 * The asker's message of a command that the log keeps: the one in which it was typed, or a new one.
 * @param typed its text if it was typed into no message
 * @throws WeirError if the name of the asker cannot be read
 */
export async function keptMessage(
  { nameIn, now }: Pick<CommandParts, "nameIn" | "now">,
  { channel, asker, said }: AskedCommand,
  typed: string,
): Promise<InboundMessage> {
  const author = { id: asker.id, name: asker.name, isBot: false };
  const { result: name } = await retryWrite(async () => nameIn(channel, author));
  return {
    type: "message",
    channel: channel.address,
    kind: channel.kind,
    workspace: channel.workspace,
    // The platform's id, so that an edit or a deletion finds the entry.
    id: said?.id ?? `${COMMAND_PREFIX}${randomUUID()}`,
    author: { ...author, name },
    text: said?.text ?? typed,
    at: said?.at ?? now(),
    addressed: false,
  };
}
