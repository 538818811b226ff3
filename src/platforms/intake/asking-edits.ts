import type { InboundEdit, InboundMessage } from "../../core/message.ts";

/** Edits by which a message may become one to answer, such as one that adds a mention of the bot. */

/** The edit that made a message what it is. In direct messages nothing has to be asked for. Pure. */
export function editOf(said: InboundMessage, at: Date): InboundEdit {
  const { id, text, channel, kind } = said;
  const edit = { type: "edit", platform: channel.platform, id, text, at } as const;
  return kind === "dm" ? edit : { ...edit, said };
}

/** An older edit asks for no answer. Pure. @param from ms since 1970 */
export function askingIfNew({ said, ...edit }: InboundEdit, from: number): InboundEdit {
  return said === undefined || edit.at.getTime() < from ? edit : { ...edit, said };
}
