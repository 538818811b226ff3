import type { OutboundMessage } from "../../core/message.ts";
import type { ActorParts, BoardOutbox, ChannelBoard } from "../../channel/channel-context.ts";
import type { Insist } from "../../channel/delivery/insist.ts";
import { agentsHere } from "../../channel/guests.ts";
import { choiceActions, choiceText } from "./choice-text.ts";
import type { QuestionStore, QuestionToShow } from "./question-store.ts";
import { mayAsk } from "./approvers.ts";
import { isAsk } from "./tool.ts";
import { isShownWhole, questionActions, type QuestionStyle, questionText } from "./question-text.ts";

type BoardParts = Pick<ActorParts, "owner" | "address" | "platform" | "agent" | "guests" | "masked">;

/**
 * Shows a channel's questions on its platform, each in one message: the question, later its outcome. Before posting,
 * the row notes that the message may exist; after posting, its id. So a crash in between does not post it twice.
 */
export class QuestionBoard implements ChannelBoard {
  readonly #store: QuestionStore;
  readonly #parts: BoardParts;
  readonly #outbox: BoardOutbox;
  #isQueued = false;

  constructor(store: QuestionStore, parts: BoardParts, outbox: BoardOutbox) {
    this.#store = store;
    this.#parts = parts;
    this.#outbox = outbox;
  }

  /** Looks before it queues anything: while the outbox has work, no answer is shown as it is written. */
  resume(): void {
    const { agent, guests, owner } = this.#parts;
    if (!agentsHere(agent, guests).some((one) => mayAsk(one) || one.tools.some(isAsk))) return;
    void this.#store.toShow(owner.channel).then(
      (questions) => questions.length > 0 && this.show(),
      // The queue asks again until the database answers.
      () => this.show(),
    );
  }

  show(): void {
    if (this.#isQueued) return;
    this.#isQueued = true;
    const { owner } = this.#parts;
    this.#outbox.add(async (insist) => {
      // Later changes need another run.
      this.#isQueued = false;
      const questions = await insist(async () => this.#store.toShow(owner.channel));
      if (typeof questions === "string") return;
      for (const question of questions.result) await this.#showOne(question, insist);
    });
  }

  async #showOne(question: QuestionToShow, insist: Insist): Promise<void> {
    const { owner, platform } = this.#parts;
    const { id, toBeShown, messageId, mayBeThere } = question;
    const message = this.#messageOf(question);
    const note = async (shown: string, posted: string | null): ReturnType<Insist> =>
      insist(async () => this.#store.noteShown(owner, id, shown, posted));
    if (messageId !== null) {
      const edited = await insist(async () => platform.edit(messageId, message));
      if (edited !== "left") await note(toBeShown, null);
      return;
    }
    if (!mayBeThere && typeof (await note("posting", null)) === "string") return;
    const sent = await insist(async () => {
      // A platform without idempotency keys finds an earlier attempt by its text, which was the question.
      const there = await platform.send(
        mayBeThere
          ? this.#messageOf({ ...question, state: question.kind === "choice" ? "asked" : "open" })
          : message,
      );
      if (mayBeThere) await platform.edit(there, message);
      return there;
    });
    if (sent !== "left") await note(toBeShown, typeof sent === "string" ? null : sent.result);
  }

  #messageOf(question: QuestionToShow): OutboundMessage {
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
    const isChoice = question.kind === "choice";
    const text = isChoice ? choiceText(question, style) : questionText(question, style);
    return {
      channel: address,
      idempotencyKey: `approval-${question.key}`,
      mayBeThere: question.mayBeThere,
      text: this.#outbox.split({ text, kind: "notice" }, {})[0] ?? text,
      actions: isChoice
        ? choiceActions(question, masked)
        : questionActions(question, isShownWhole(question, style)),
      final: true,
      // A reply would notify its addressee.
      inReplyTo: [],
      kind: "notice",
    };
  }
}
