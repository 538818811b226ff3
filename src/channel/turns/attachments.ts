import type { DueImages } from "../../context/assemble.ts";
import { answeredMessages, type History, type TurnRange } from "../../core/history.ts";
import { type Attached, NOTHING_ATTACHED, type Reply } from "../../turn/context-sources.ts";
import type { ActorParts } from "../channel-context.ts";

/** Pictures that one turn is shown, the newest first. */
const MAX_IMAGES = 4;
/** How an adapter names a picture in a message's text. */
const IMAGE_LABEL = "[image ";

/** What belongs to the messages of a turn beside their text. Most turns have nothing of it, and cost no look-up. */
export async function attachedTo(
  { store, owner, address, agent }: Pick<ActorParts, "store" | "owner" | "address" | "agent">,
  history: History,
  turn: Pick<TurnRange, "toSeq">,
): Promise<Attached> {
  const due = answeredMessages(history, turn);
  const replying = due.flatMap(({ author, replyTo }) =>
    replyTo === null ? [] : [{ author: author.name, replyTo }],
  );
  const pictured = agent.config.seesImages ? due.filter(({ text }) => text.includes(IMAGE_LABEL)) : [];
  if (replying.length === 0 && pictured.length === 0) return NOTHING_ATTACHED;
  const [said, kept] = await Promise.all([
    replying.length === 0
      ? undefined
      : store.attached.said(
          owner.channel,
          replying.map(({ replyTo }) => replyTo),
        ),
    pictured.length === 0
      ? []
      : store.attached.imagesOf(
          address.platform,
          pictured.map(({ messageId }) => messageId),
          MAX_IMAGES,
        ),
  ]);
  const replies: Reply[] = replying.flatMap(({ author, replyTo }) => {
    const to = said?.get(replyTo);
    return to === undefined ? [] : [{ author, to }];
  });
  const images: DueImages[] = pictured.map(({ messageId }) => ({
    messageId,
    images: kept
      .filter((image) => image.messageId === messageId)
      .map(({ type, bytes }) => ({ type, base64: Buffer.from(bytes).toString("base64") })),
  }));
  return { replies, images };
}
