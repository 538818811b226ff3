import type { Logger } from "pino";
import type { ChannelCompactor } from "../compactor/compactor.ts";
import { errorMessage } from "../core/errors.ts";
import type { Seq } from "../core/ids.ts";
import type { GuardedHistory } from "./guarded-history.ts";
import type { TurnRunner } from "./turns/turn-runner.ts";

export interface TextChangesParts {
  readonly history: GuardedHistory;
  readonly runner: TurnRunner;
  readonly compactor: ChannelCompactor;
  /** What subagents of the channel were told may have changed. */
  readonly onChange: () => void;
  /** As `formatAddress` writes it. */
  readonly channel: string;
  readonly log: Logger;
  /** Runs work of the channel's actor, which handles its errors. */
  readonly guard: (work: () => Promise<void>) => Promise<void>;
}

/** What edits, deletions, and memories that are taken back do to a channel in memory: whatever has read the old text begins again. */
export class TextChanges {
  readonly #parts: TextChangesParts;

  constructor(parts: TextChangesParts) {
    this.#parts = parts;
  }

  /**
   * A text in the history was edited or deleted.
   * @param seq of the message; 0: of several
   * @param notedSeq of the notice that tells of the edit; null: the old text has gone from the log
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
   * A text was edited or deleted before we heard of it: by us, or by another daemon, and then the history still has the old one.
   * @param text as it is now; null: it is deleted
   */
  async heardLate(messageId: string, text: string | null): Promise<void> {
    const { entries } = await this.#parts.history.snapshot();
    const entry = entries.find((one) => one.kind === "user" && one.messageId === messageId);
    if (entry?.kind !== "user" || entry.deleted || entry.text === text) return;
    // An edit that a turn may have read stands in a notice.
    const isNoted = entries.some((one) => one.kind === "notice" && one.edits?.seq === entry.seq);
    if (text === null || !isNoted) await this.heard(entry.seq, null);
  }

  /** Another daemon has written to the channel, up to `seq`. */
  async catchUp(seq: Seq): Promise<void> {
    const { history } = this.#parts;
    const isNews = seq > history.current.lastSeq;
    await history.catchUp(seq);
    const entry = history.current.entries.findLast((one) => one.seq === seq);
    if (entry?.kind === "notice" && entry.edits !== null) await history.noticeEdit(entry.edits.seq, seq);
    // A turn goes on beside what is new, as it would beside what is said here.
    if (!isNews && (await history.hasUnknownChange())) await this.heard(0, null);
  }

  /** Memories or notes of another channel have gone: a running turn that may have been shown them begins again without them. */
  async memoriesGone(): Promise<void> {
    const { history, runner, compactor, channel, log } = this.#parts;
    history.doubt();
    // What summarises calls that told of it has read them.
    await compactor.recheck();
    // What is being looked for may have been read before. Whoever takes the memories back waits for no search of another channel.
    runner.searches
      ?.then(async () => this.#beginAgainIfOutdated())
      .catch((error: unknown) => log.warn({ channel, why: errorMessage(error) }, "turn_not_begun_again"));
    await this.#beginAgainIfOutdated();
  }

  async #beginAgainIfOutdated(): Promise<void> {
    if (await this.#parts.runner.isOutdated()) await this.heard(0, null);
  }
}
