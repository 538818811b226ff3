import type { OutboundMessage } from "../../core/message.ts";
import type { ApprovalToShow } from "../../store/turns/approvals.ts";
import type { ActorParts } from "../channel-context.ts";
import type { Insist, Outbox } from "../delivery/outbox.ts";
import { isShownWhole, questionActions, type QuestionStyle, questionText } from "./question-text.ts";

type BoardParts = Pick<
  ActorParts,
  "store" | "owner" | "address" | "platform" | "agent" | "guests" | "masked"
>;

/**
 * Shows a channel's approvals on its platform, each in one message: the question, later its outcome. The row records the message:
 * before the post that it may exist, after it the id. So it is posted once, even if a daemon ends in between.
 */
export class QuestionBoard {
  readonly #parts: BoardParts;
  readonly #outbox: Pick<Outbox, "add" | "split">;
  #isQueued = false;

  constructor(parts: BoardParts, outbox: Pick<Outbox, "add" | "split">) {
    this.#parts = parts;
    this.#outbox = outbox;
  }

  /** Brings the platform's messages up to date. Returns at once. */
  show(): void {
    if (this.#isQueued) return;
    this.#isQueued = true;
    const { store, owner } = this.#parts;
    this.#outbox.add(async (insist) => {
      // Later changes need another run.
      this.#isQueued = false;
      const questions = await insist(async () => store.approvals.toShow(owner.channel));
      if (typeof questions === "string") return;
      for (const question of questions.result) await this.#showOne(question, insist);
    });
  }

  async #showOne(question: ApprovalToShow, insist: Insist): Promise<void> {
    const { store, owner, platform } = this.#parts;
    const { id, toBeShown, messageId, mayBeThere } = question;
    const message = this.#messageOf(question);
    const note = async (shown: string, posted: string | null): ReturnType<Insist> =>
      insist(async () => store.approvals.noteShown(owner, id, shown, posted));
    if (messageId !== null) {
      const edited = await insist(async () => platform.edit(messageId, message));
      if (edited !== "left") await note(toBeShown, null);
      return;
    }
    if (!mayBeThere && typeof (await note("posting", null)) === "string") return;
    const sent = await insist(async () => {
      // A platform without idempotency keys finds an earlier attempt by its text, which was the question.
      const there = await platform.send(
        mayBeThere ? this.#messageOf({ ...question, state: "open" }) : message,
      );
      if (mayBeThere) await platform.edit(there, message);
      return there;
    });
    if (sent !== "left") await note(toBeShown, typeof sent === "string" ? null : sent.result);
  }

  #messageOf(question: ApprovalToShow): OutboundMessage {
    const { address, platform, agent, guests, masked = (text) => text } = this.#parts;
    const { capabilities } = platform;
    const style: QuestionStyle = {
      agent: guests.nameOf(question.agent),
      hasButtons: capabilities.drawsActions === true,
      typed: (command) => `${capabilities.commandPrefix ?? "/"}${command}`,
      time: (at) => agent.time.full(at),
      masked,
      maxLength: capabilities.maxTextLength,
    };
    const text = questionText(question, style);
    return {
      channel: address,
      idempotencyKey: `approval-${question.key}`,
      mayBeThere: question.mayBeThere,
      text: this.#outbox.split({ text, kind: "notice" }, {})[0] ?? text,
      actions: questionActions(question, isShownWhole(question, style)),
      final: true,
      // A reply would notify its addressee.
      inReplyTo: [],
      kind: "notice",
    };
  }
}
