import type { DraftParts } from "./draft.ts";
import { formatAddress, type Seq } from "../../core/ids.ts";
import type { OutboundMessage } from "../../core/message.ts";
import type { Delivery, DeliveryStore } from "../../store/turns/deliveries.ts";
import type { Insist } from "./insist.ts";
import { noticeMessage } from "./notice.ts";
import type { SentAnswer } from "./part-sender.ts";
import { unseenOf } from "./refusal.ts";

const MOST_OWNERS = 5;
const MISSING_PART = "(A part of this answer is missing here: it could not be shown.)";
const MISSING_ANSWER = "(My answer could not be shown here.)";

export interface LossReportParts extends Pick<DraftParts, "owner" | "address" | "platform"> {
  readonly deliveries: Pick<DeliveryStore, "refused" | "wasUnreachableBefore">;
  /** The platform's ids of the people who run Weir there. */
  readonly owners: () => readonly string[];
  /** Called with the seq of the notice that tells the model. */
  readonly onNoticed: (seq: Seq) => void;
}

/**
 * Tells that a platform refuses parts of an answer: the people of the channel, at the place of the first such part; the owners of Weir,
 * if the channel takes no word either; and then the log, and so the agent. A crash in between tells again, with the same keys.
 */
export class LossReport {
  readonly #parts: LossReportParts;

  constructor(parts: LossReportParts) {
    this.#parts = parts;
  }

  /** Says that a part is missing, in the channel. @returns whether the channel takes that; null: the next owner asks */
  async tellChannel(
    part: Delivery,
    { texts, inReplyTo }: SentAnswer,
    insist: Insist,
  ): Promise<boolean | null> {
    const { address, platform } = this.#parts;
    const text =
      texts.length === 1 && part.form !== "short" && part.piece === 0 ? MISSING_ANSWER : MISSING_PART;
    const notice = noticeMessage(address, { idempotencyKey: wordKey(part), text });
    const said = await insist(async () => platform.send({ ...notice, inReplyTo, plain: true }));
    return said === "left" ? null : said !== "failed";
  }

  /** Says so to the owners, unless they know from the answer before. @returns false: the next owner of the channel says it */
  async tellOwners(part: Delivery, answer: SentAnswer, insist: Insist): Promise<boolean> {
    const { owner, deliveries, platform, owners } = this.#parts;
    const people = platform.directChannel === undefined ? [] : owners().slice(0, MOST_OWNERS);
    if (people.length === 0) return true;
    const known = await insist(async () => deliveries.wasUnreachableBefore(owner.channel, answer.turnId));
    if (typeof known === "string") return false;
    if (known.result) return true;
    for (const person of people) {
      const told = await insist(async () => this.#tellOwner(person, part));
      if (told === "left") return false;
    }
    return true;
  }

  async #tellOwner(person: string, part: Delivery): Promise<void> {
    const { address, platform } = this.#parts;
    const channel = await platform.directChannel?.(person);
    if (channel === undefined) return;
    const text = `An answer in ${formatAddress(address)} could not be shown there, and neither could a word about it. The log of Weir says why.`;
    const notice: OutboundMessage = noticeMessage(channel, {
      idempotencyKey: `${wordKey(part)}/${person}`,
      text,
    });
    await platform.send({ ...notice, plain: true });
  }

  /** Gives the parts up, and tells the agent. @param isTold the channel took a word about it @throws WeirError if the database does not answer */
  async note(lost: readonly Delivery[], answer: SentAnswer, isTold: boolean): Promise<void> {
    const { owner, deliveries, platform, onNoticed } = this.#parts;
    const { turnId, kind, texts } = answer;
    const unseen = unseenOf(answer, texts, lost, platform.capabilities.maxTextLength);
    // A model is not shown Weir's own notices.
    const undelivered = kind === "answer" ? unseen : null;
    const seq = await deliveries.refused(
      owner,
      { ids: lost.map(({ id }) => id), turnId, isTold, undelivered },
      new Date(),
    );
    if (seq !== null) onNoticed(seq);
  }
}

function wordKey({ idempotencyKey }: Delivery): string {
  return `${idempotencyKey}/missing`;
}
