import type { Carrier } from "../carrier.ts";

/** Pictures of messages; those of running turns are deleted by a trigger, with the words of their calls. They hold no words. */
export const IMAGES: Carrier = {
  name: "images",
  texts: [],
  async take(tx, { channel, cause }) {
    if (cause.kind !== "deleted") return;
    await tx.query(
      "images_delete",
      `delete from images i using channels c
        where c.id = $1 and i.platform = c.platform and i.message_id = any($2)`,
      [channel, cause.messageIds],
    );
  },
};
