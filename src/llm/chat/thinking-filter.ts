const OPENING = ["<think>", "<thinking>"] as const;
/** Alone on its line: an answer that only mentions the tag stays whole. */
const LONE_CLOSING = "\n</think>\n";

/** What the filter lets through for one piece. */
export interface Visible {
  readonly text: string;
  /** All text let through before was thinking, too: the visible text starts here. */
  readonly voided: boolean;
}

/**
 * Hides a model's thinking if the server leaves it in the text: `<think>…</think>` blocks at the start,
 * however they are split over the stream. Also hides the text before a lone `</think>`, whose opening tag the
 * chat template had put into the prompt.
 *
 * States: `opening` (nothing visible yet; a tag may begin) → `thinking` (until its closing tag) → `opening` …
 * → `visible` (for good).
 */
export class ThinkingFilter {
  #state: "opening" | "thinking" | "visible" = "opening";
  #closing = "";
  #held = "";
  /** Leading white space, kept apart: scanning endless blanks again with each piece would take minutes. */
  #blank = "";
  #sawThinking = false;

  /** @returns the text that this piece has made visible */
  push(piece: string): Visible {
    this.#held += piece;
    let text = "";
    let voided = false;
    for (;;) {
      const before = this.#state;
      if (before === "opening") this.#open();
      else if (before === "thinking") this.#skip();
      else {
        const part = this.#show();
        if (part.voided) text = "";
        voided ||= part.voided;
        text += part.text;
      }
      if (this.#state === before) return { text, voided };
    }
  }

  /** @returns text held back as the start of a tag */
  end(): string {
    const rest = this.#state === "thinking" ? "" : this.#blank + this.#held;
    this.#blank = "";
    this.#held = "";
    return rest;
  }

  #open(): void {
    const text = this.#held.trimStart();
    this.#blank += this.#held.slice(0, this.#held.length - text.length);
    this.#held = text;
    const tag = OPENING.find((candidate) => text.startsWith(candidate));
    if (tag !== undefined) {
      this.#state = "thinking";
      this.#sawThinking = true;
      this.#closing = tag.replace("<", "</");
      this.#blank = "";
      this.#held = text.slice(tag.length);
    } else if (text !== "" && !OPENING.some((candidate) => candidate.startsWith(text))) {
      this.#state = "visible";
      this.#held = this.#sawThinking ? text : this.#blank + text;
      this.#blank = "";
    }
  }

  #skip(): void {
    const end = this.#held.indexOf(this.#closing);
    if (end === -1) {
      this.#held = this.#held.slice(-this.#closing.length);
      return;
    }
    this.#held = this.#held.slice(end + this.#closing.length);
    this.#state = "opening";
  }

  #show(): Visible {
    const closing = this.#sawThinking ? -1 : this.#held.indexOf(LONE_CLOSING);
    if (closing !== -1) {
      this.#held = this.#held.slice(closing + LONE_CLOSING.length);
      this.#sawThinking = true;
      this.#state = "opening";
      return { text: "", voided: true };
    }
    const keep = this.#sawThinking ? 0 : overlap(this.#held, LONE_CLOSING);
    const text = this.#held.slice(0, this.#held.length - keep);
    this.#held = this.#held.slice(this.#held.length - keep);
    return { text, voided: false };
  }
}

/** Length of the longest suffix of `text` that begins `marker`. */
function overlap(text: string, marker: string): number {
  for (let length = Math.min(text.length, marker.length - 1); length > 0; length--) {
    if (text.endsWith(marker.slice(0, length))) return length;
  }
  return 0;
}
