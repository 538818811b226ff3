import type { Logger } from "pino";
import type { ChannelCompactor } from "../compactor/compactor.ts";
import { isEditNotice } from "../core/entry.ts";
import { errorMessage } from "../core/errors.ts";
import type { Seq } from "../core/ids.ts";
import type { GuardedHistory } from "./guarded-history.ts";
import type { TurnRunner } from "./turns/turn-runner.ts";

export interface TextChangesParts {
  readonly history: GuardedHistory;
  readonly runner: TurnRunner;
  readonly compactor: ChannelCompactor;
  /** Called when texts that work beside turns has read may have changed. */
  readonly onChange: () => void;
  /** As `formatAddress` writes it. */
  readonly channel: string;
  readonly log: Logger;
  /** Runs work of the channel's actor, which handles its errors. */
  readonly guard: (work: () => Promise<void>) => Promise<void>;
}

/** Applies edits, deletions and retracted memories to a loaded channel: work that has read the old text begins again. */
export class TextChanges {
  readonly #parts: TextChangesParts;

  constructor(parts: TextChangesParts) {
    this.#parts = parts;
  }

  /**
   * A text in the history was edited or deleted.
   * @param seq of the message; 0: of several
   * @param notedSeq of the edit's notice; null: the old text was removed from the log
   */
  async heard(seq: Seq, notedSeq: Seq | null): Promise<void> {
    const { history, runner, compactor, onChange, guard } = this.#parts;
    onChange();
    if (notedSeq !== null) {
      await guard(async () => history.noticeEdit(seq, notedSeq));
      compactor.consider();
      return;
    }
    // Before the first await: an answer to a deleted message must not settle meanwhile.
    runner.gone(seq);
    await guard(async () => {
      await history.reload();
      await compactor.recheck();
    });
    compactor.consider();
  }

  /**
   * An edit or a deletion is in the log already: by this daemon, or by another one, and then the history still has the old text.
   * @param text the current one; null: it is deleted
   */
  async heardLate(messageId: string, text: string | null): Promise<void> {
    const { entries } = await this.#parts.history.snapshot();
    const entry = entries.find((one) => one.kind === "user" && one.messageId === messageId);
    if (entry?.kind !== "user" || entry.deleted || entry.text === text) return;
    // An edit of a text that a turn may have read has a notice.
    const isNoted = entries.some((one) => one.kind === "notice" && one.edits?.seq === entry.seq);
    if (text === null || !isNoted) await this.heard(entry.seq, null);
  }

  /** Another daemon has written to the channel, up to `seq`. */
  async catchUp(seq: Seq): Promise<void> {
    const { history } = this.#parts;
    const isNews = seq > history.current.lastSeq;
    await history.catchUp(seq);
    const entry = history.current.entries.findLast((one) => one.seq === seq);
    if (entry !== undefined && isEditNotice(entry)) await history.noticeEdit(entry.edits.seq, seq);
    // A turn continues beside new entries, as beside messages that arrive here.
    if (!isNews && (await history.hasUnknownChange())) await this.heard(0, null);
  }

  /** Memories or notes of another channel were deleted: a running turn that may have read them begins again. */
  async memoriesGone(): Promise<void> {
    const { history, runner, compactor, channel, log } = this.#parts;
    history.doubt();
    // A running summary may have read them in tool calls.
    await compactor.recheck();
    // A running search may have read them before. Not awaited: the deletion must not wait for a search of another channel.
    runner.searches
      ?.then(async () => this.#beginAgainIfOutdated())
      .catch((error: unknown) => log.warn({ channel, why: errorMessage(error) }, "turn_not_begun_again"));
    await this.#beginAgainIfOutdated();
  }

  /** No turn runs, and deletions in other channels may have removed words here. */
  get mayBeBehind(): boolean {
    const { history, runner } = this.#parts;
    return runner.running === null && history.hasWordsOfOthers;
  }

  async #beginAgainIfOutdated(): Promise<void> {
    if (await this.#parts.runner.isOutdated()) await this.heard(0, null);
  }
}
