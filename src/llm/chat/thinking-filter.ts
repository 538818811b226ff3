import { MarkdownPlace } from "./markdown-place.ts";

/**
 * The marks around thoughts, as models and servers write them: Qwen, DeepSeek, Claude, Seed and others (`<think>`),
 * Mistral (`[THINK]`), Kimi, OpenThinker, Cohere, gpt-oss at servers that do not read its channels, Gemma. One family's
 * closing mark ends another's thoughts, since models mix them. Source: the models' chat templates and vLLM's reasoning
 * parsers, read in November 2026.
 */
const NAME =
  "(?:[a-z]{1,12}[:_])?(?:[Tt]hink(?:ing)?|[Tt]houghts?|[Rr]easoning|[Rr]eflection|[Ss]cratchpad|ant[Tt]hinking|THINK(?:ING)?|(?:REASONING_)?SCRATCHPAD)";
const CHANNEL = String.raw`(?:<\|start\|>assistant)?<\|channel\|>`;
const MESSAGE = String.raw`[^<]{0,80}(?:<\|constrain\|>[^<]{0,20})?<\|message\|>`;
const OPENINGS = [
  // A self-closing element opens nothing.
  String.raw`<\|?${NAME}(?:\s[^<>]{0,79}[^<>/])?\|?>`,
  String.raw`\[THINK\]|◁think▷|<\|(?:begin_of_thought|START_THINKING)\|>|<\|channel>thought|<unused94>`,
  `${CHANNEL}(?:analysis|commentary)${MESSAGE}`,
].join("|");
const CLOSINGS = [
  String.raw`<\|?/${NAME}\s{0,3}\|?>`,
  String.raw`\[/THINK\]|◁/think▷|<\|(?:end_of_thought|END_THINKING)\|>|<channel\|>|<unused95>`,
  `${CHANNEL}final${MESSAGE}`,
].join("|");
/** Marks around the answer of a reasoning model. */
const FRAMES = String.raw`<\|(?:return|end|call|(?:START|END)_RESPONSE|(?:begin|end)_of_solution)\|>`;

const MARK = new RegExp(`(?<opening>${OPENINGS})|(?<closing>${CLOSINGS})|${FRAMES}`, "u");
const OPENING = new RegExp(`^(?:${OPENINGS})`, "u");
const CLOSING = new RegExp(CLOSINGS, "u");
/** The end of a text that may become a mark. */
const MAYBE_MARK = new RegExp(
  [
    String.raw`<[|/]{0,2}(?:[A-Za-z][\w:]{0,40}\|?)?$`,
    String.raw`<\|?${NAME}\s[^<>]{0,80}$`,
    String.raw`\[/?[A-Z]{0,5}$|◁/?[a-z]{0,5}$|<\|start\|>[a-z]{0,9}(?:<\|?[a-z]{0,9}\|?)?$`,
    String.raw`${CHANNEL}[^<]{0,80}(?:<\|constrain\|>[^<]{0,20})?(?:<(?:\|[a-z]{0,9}\|?)?)?$`,
  ].join("|"),
  "u",
);
/** Longer than any mark. */
const LONGEST_MARK = 260;
const MARK_LETTERS = /[<[◁]/;

/** Marks that are also everyday words. */
const EVERYDAY = /^<\|?(?:[a-z]{1,12}[:_])?(?:[Tt]houghts?|[Rr]eflection|[Rr]easoning|[Ss]cratchpad)[\s>|]/;

/** gpt-oss at a server that drops the marks but leaves the channels' names. */
const BARE_ANALYSIS = "analysis";
const BARE_BEGINS = /^analysis(?=[\p{Lu}"'*])/u;
const BARE_FINAL = "assistantfinal";

/** Text after a mark that a sentence mentions: closing punctuation; a small letter or the like. */
const PUNCTUATION_BEHIND = /^[.,;:!?)\]}…]{1,3}(?:["'”’»)\]*\s]|$)/;
const SENTENCE_BEHIND = /^(?:[^\S\n]{1,3}[\p{Ll}\p{N}(|]|$)/u;
const SENTENCE_BEFORE = /[\p{L}\p{N},:]\s$/u;
const QUOTE_BEFORE = /["'“‘«„「『(（[*_\\|]$/;
const QUOTE_BEHIND = /^["'”’»“」』)）\]*_|]/;
/** Characters after a mark that decide about it. */
const LOOK_AHEAD = 4;

/** The part of a piece that the filter lets through. */
export interface Visible {
  readonly text: string;
  /** All text let through before was thinking, too: the visible text starts here. */
  readonly voided: boolean;
}

/**
 * Hides a model's thinking that the server leaves in the text, however its marks are split over the stream: blocks at
 * the start and between paragraphs, and all text before a lone closing mark, whose opening mark the chat template had
 * put into the prompt. A mark in code, in quotes or in the middle of a sentence is a mention, and stays.
 *
 * States: `opening` (nothing visible yet; a mark may begin) → `thinking` or `bare` (until the closing mark) → `opening`
 * …
 * → `visible`.
 */
export class ThinkingFilter {
  #state: "opening" | "thinking" | "bare" | "visible" = "opening";
  #held = "";
  /** Characters of the held text that contain no beginning of a closing mark. */
  #searched = 0;
  /** Leading white space, kept apart: scanning it again with each piece could take minutes. */
  #blank = "";
  #sawThinking = false;
  #place = new MarkdownPlace();
  /** Mentioned opening marks, whose closing ones are mentions, too. */
  #mentioned = 0;

  push(piece: string): Visible {
    if (this.#held === "" && !MARK_LETTERS.test(piece)) {
      if (this.#state === "thinking") return { text: "", voided: false };
      if (this.#state === "visible") {
        this.#place.pass(piece);
        return { text: piece, voided: false };
      }
    }
    this.#held += piece;
    return this.#advance(false);
  }

  /** @returns text that was held back until its context was known */
  end(): Visible {
    const { text, voided } = this.#advance(true);
    const isHidden = this.#state === "thinking";
    const rest = isHidden ? "" : this.#blank + this.#held;
    this.#blank = "";
    this.#held = "";
    return { text: text + rest, voided };
  }

  #advance(isEnd: boolean): Visible {
    let text = "";
    let voided = false;
    for (;;) {
      const before = this.#state;
      if (before === "opening") this.#open(isEnd);
      else if (before === "thinking") this.#skip();
      else if (before === "bare") this.#skipBare();
      else {
        const part = this.#show(isEnd);
        if (part.voided) text = "";
        voided ||= part.voided;
        text += part.text;
      }
      if (this.#state === before) return { text, voided };
    }
  }

  #open(isEnd: boolean): void {
    const text = this.#held.trimStart();
    this.#blank += this.#held.slice(0, this.#held.length - text.length);
    this.#held = text;
    const mark = OPENING.exec(text)?.[0];
    if (mark !== undefined) {
      this.#hide("thinking", mark.length);
      this.#blank = "";
    } else if (BARE_BEGINS.test(text)) this.#state = "bare";
    else if (text !== "" && (isEnd || !mayOpen(text))) {
      this.#state = "visible";
      this.#held = this.#sawThinking ? text : this.#blank + text;
      this.#blank = "";
    }
  }

  #hide(state: "thinking" | "opening", length: number): void {
    this.#state = state;
    this.#sawThinking = true;
    this.#held = this.#held.slice(length);
    this.#searched = 0;
  }

  #skip(): void {
    const closing = CLOSING.exec(this.#held);
    if (closing !== null) {
      this.#hide("opening", closing.index + closing[0].length);
      return;
    }
    // Thoughts are long: only a possible beginning of a mark is scanned again.
    const tail = this.#held.slice(-LONGEST_MARK);
    const begun = tail.search(MARK_LETTERS);
    this.#held = begun === -1 ? "" : tail.slice(begun);
  }

  #skipBare(): void {
    const final = this.#held.indexOf(BARE_FINAL, this.#searched);
    this.#searched = Math.max(0, this.#held.length - BARE_FINAL.length);
    if (final !== -1) this.#hide("opening", final + BARE_FINAL.length);
  }

  #show(isEnd: boolean): Visible {
    let text = "";
    for (;;) {
      const mark = MARK.exec(this.#held);
      text += this.#let(mark?.index ?? (isEnd ? this.#held.length : this.#certain()));
      if (mark === null) return { text, voided: false };
      const { opening, closing } = mark.groups ?? {};
      const length = mark[0].length;
      if (opening !== undefined) {
        const hidden = this.#lengthOfThoughts(length, isEnd);
        if (hidden === undefined) return { text, voided: false };
        if (hidden === 0) text += this.#let(length);
        else this.#drop(hidden);
      } else if (closing === undefined) {
        const isCode = this.#isCode(this.#held.slice(length, length + LONGEST_MARK), isEnd);
        if (isCode === undefined) return { text, voided: false };
        if (this.#sawThinking && !isCode) this.#drop(length);
        else text += this.#let(length);
      } else {
        const isMention = this.#isMention(mark[0], this.#held.slice(length, length + LONGEST_MARK), isEnd);
        if (isMention === undefined) return { text, voided: false };
        if (!isMention) {
          this.#hide("opening", length);
          this.#place = new MarkdownPlace();
          this.#mentioned = 0;
          return { text: "", voided: true };
        }
        text += this.#let(length);
      }
    }
  }

  /** Lets the first characters of the held text through. */
  #let(length: number): string {
    const text = this.#held.slice(0, length);
    this.#held = this.#held.slice(length);
    this.#place.pass(text);
    this.#searched = 0;
    return text;
  }

  #drop(length: number): void {
    this.#held = this.#held.slice(length);
    this.#searched = 0;
    this.#sawThinking = true;
  }

  /** Length of the held text that cannot begin a mark. */
  #certain(): number {
    const from = Math.max(0, this.#held.length - LONGEST_MARK);
    const tail = this.#held.slice(from);
    const begun = MARK_LETTERS.test(tail) ? MAYBE_MARK.exec(tail) : null;
    return from + (begun?.index ?? tail.length);
  }

  /**
   * Length of the block of thoughts at the beginning of the held text.
   * @returns 0: the mark is only mentioned; undefined: more text is needed
   */
  #lengthOfThoughts(opening: number, isEnd: boolean): number | undefined {
    const { isLineStart, tail } = this.#place;
    const isCode = this.#isCode(this.#held.slice(opening, opening + LONGEST_MARK), isEnd);
    if (isCode !== false) return isCode === true ? 0 : undefined;
    // In the middle of an answer these are mostly XML elements that should be seen.
    const isElement = !this.#sawThinking && EVERYDAY.test(this.#held);
    if (!isElement && !QUOTE_BEFORE.test(tail)) {
      const from = Math.max(opening, this.#searched);
      const closing = CLOSING.exec(this.#held.slice(from));
      if (closing !== null) {
        const end = from + closing.index + closing[0].length;
        const behind = this.#held.slice(end, end + LONGEST_MARK);
        if (!isEnd && !isJudgeable(behind)) return undefined;
        const isSentence = PUNCTUATION_BEHIND.test(behind) || (!isLineStart && SENTENCE_BEHIND.test(behind));
        if (!isSentence || isToken(this.#held)) return end;
      } else if (!isEnd) {
        this.#searched = Math.max(opening, this.#held.length - LONGEST_MARK);
        return undefined;
      } else if (
        isToken(this.#held) ||
        (isLineStart && /^\s*(?:\n|$)/.test(this.#held.slice(opening, opening + 20)))
      )
        return this.#held.length;
    }
    this.#mentioned++;
    return 0;
  }

  /**
   * Whether the place is in a code block, or in a code span that closes in the same line.
   * @returns undefined: more text is needed
   */
  #isCode(behind: string, isEnd: boolean): boolean | undefined {
    const { isFenced, openSpan } = this.#place;
    if (isFenced || openSpan === "") return isFenced;
    const [line = "", next] = behind.split("\n", 2);
    if (line.includes(openSpan)) return true;
    return isEnd || next !== undefined || line.length >= LONGEST_MARK ? false : undefined;
  }

  /** @returns undefined: more text is needed */
  #isMention(mark: string, behind: string, isEnd: boolean): boolean | undefined {
    const { isQuotedLine, tail } = this.#place;
    const isCode = this.#isCode(behind, isEnd);
    if (isCode !== false || isQuotedLine) return isQuotedLine ? true : isCode;
    if (this.#mentioned > 0) {
      this.#mentioned--;
      return true;
    }
    if (!isEnd && !isJudgeable(behind)) return undefined;
    if (QUOTE_BEFORE.test(tail) && QUOTE_BEHIND.test(behind)) return true;
    if (isToken(mark)) return false;
    return PUNCTUATION_BEHIND.test(behind) || (SENTENCE_BEFORE.test(tail) && SENTENCE_BEHIND.test(behind));
  }
}

function mayOpen(text: string): boolean {
  if (BARE_ANALYSIS.startsWith(text)) return true;
  return text.length <= LONGEST_MARK && MAYBE_MARK.exec(text)?.index === 0;
}

function isJudgeable(behind: string): boolean {
  return behind.length >= LOOK_AHEAD || behind.includes("\n");
}

/** A mark that does not occur in sentences. */
function isToken(mark: string): boolean {
  return !/^(?:<\/?[A-Za-z]|\[)/.test(mark) || mark.startsWith("<unused");
}
