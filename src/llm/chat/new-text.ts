/** What one event adds to a text. */
export interface AddedText {
  readonly text: string;
  /** All that came before is void: the text begins with this one. */
  readonly restarts: boolean;
}

/** A shorter text may truly say the same twice. */
const LEAST = 8;
/** After so many texts that each begin with the one before, a server sends all so far each time. */
const GROWTHS = 2;

/** Characters of white space by which a snapshot may differ. */
const MOST_BLANKS = 8;

const NOTHING: AddedText = { text: "", restarts: false };

/**
 * Tells the pieces of a text from snapshots of it: some servers send the whole text once more in their last event, as `message`
 * or as one more `delta`, and some send all so far in each event.
 */
export class NewText {
  #all = "";
  #pieces = 0;
  #hasDeltas = false;
  /** Repeats all that came. It is a snapshot if nothing follows, and a piece of a text that repeats itself if something does. */
  #repeated = "";
  #last = "";
  #growths = 0;

  /**
   * @param isMessage it came as a message, and not as a piece of one
   * @param isLast its event says that the answer ends
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

  /** What a snapshot has beyond the pieces; where it is another text (without the thoughts, trimmed), the pieces stand. */
  #rest(snapshot: string): AddedText {
    this.#repeated = "";
    if (snapshot.startsWith(this.#all)) return this.#add(snapshot.slice(this.#all.length));
    return this.#all.trim() === "" ? this.#add(snapshot) : NOTHING;
  }

  /** Perhaps without the white space round it. */
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
