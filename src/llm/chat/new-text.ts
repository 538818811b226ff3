export interface AddedText {
  readonly text: string;
  /** All earlier text is void: the text begins here. */
  readonly restarts: boolean;
}

/** A shorter text may intentionally repeat itself. */
const LEAST = 8;
/** Number of texts that each extend the one before, after which the server is known to send snapshots. */
const GROWTHS = 2;

/** White space by which a snapshot may differ, in characters. */
const MOST_BLANKS = 8;

const NOTHING: AddedText = { text: "", restarts: false };

/**
 * Distinguishes the pieces of a text from snapshots of it: some servers repeat the whole text in their last event, as
 * `message` or as another `delta`, and some send the whole text so far in each event.
 */
export class NewText {
  #all = "";
  #pieces = 0;
  #hasDeltas = false;
  /** A piece that repeats all text so far. If nothing follows, it was a snapshot; otherwise the text repeats itself. */
  #repeated = "";
  #last = "";
  #growths = 0;

  /**
   * @param isMessage it came as a message, not as a piece of one
   * @param isLast its event ends the answer
   */
  push(text: string, isMessage: boolean, isLast: boolean): AddedText {
    if (text === "") return NOTHING;
    if (isMessage && this.#hasDeltas) return this.#rest(text);
    this.#hasDeltas ||= !isMessage;
    if (this.#all.length >= LEAST && this.#pieces >= (isLast ? 1 : 2)) {
      if (text.length > this.#all.length && text.startsWith(this.#all)) return this.#rest(text);
      if (this.#isRepeated(text)) {
        this.#repeated ||= text;
        return NOTHING;
      }
    }
    if (this.#grows(text)) {
      this.#all = text;
      this.#pieces++;
      return { text, restarts: true };
    }
    const added = this.#repeated + text;
    this.#repeated = "";
    return this.#add(added);
  }

  /**
   * Returns what a snapshot adds to the pieces. One that does not begin with them (since it lacks the thoughts, or is
   * trimmed) is ignored, unless the pieces are still blank.
   */
  #rest(snapshot: string): AddedText {
    this.#repeated = "";
    if (snapshot.startsWith(this.#all)) return this.#add(snapshot.slice(this.#all.length));
    return this.#all.trim() === "" ? this.#add(snapshot) : NOTHING;
  }

  /** Whether a text repeats all so far, apart from outer white space. */
  #isRepeated(text: string): boolean {
    const isNear = Math.abs(text.length - this.#all.length) <= MOST_BLANKS;
    return isNear && text.trim() === this.#all.trim();
  }

  #add(text: string): AddedText {
    this.#all += text;
    this.#pieces++;
    return { text, restarts: false };
  }

  #grows(text: string): boolean {
    const last = this.#last;
    if (this.#pieces > GROWTHS) return false;
    this.#last = text;
    const isAlive = this.#pieces > 0 && this.#growths === this.#pieces - 1;
    if (!isAlive || text.length <= last.length || !text.startsWith(last)) return false;
    this.#growths++;
    return this.#growths === GROWTHS && text.trim().length >= LEAST;
  }
}
