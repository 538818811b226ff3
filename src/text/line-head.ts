/**
 * The head of a line: its time and its speaker. A head leaves out what the line before it has, since in a chat it is
 * longer than the text. Each form begins with a bracket that no text can begin with unescaped, so nobody can forge one.
 *
 *     [2026-11-21 14:05] Ann: the first line, or the first of a day
 *     [14:06] Ben: a later minute
 *     [] Ann: the same minute
 *     [+] the same minute and the same person
 *
 * Quoted lines of other days have `[2026-11-21] Ann: `, then `[] Ann: ` (`Renderer.quotedHead`).
 */
export type HeadForm = "dated" | "timed" | "named" | "joined";

/** The line before, on which alone a head depends. */
export interface LineBefore {
  /** `2026-11-21 14:05` */
  readonly minute: string;
  /** The speaker; null: another kind of line came between, so the name is repeated. */
  readonly speaker: string | null;
}

const DAY_LENGTH = "2026-11-21".length;

/** @param before null: no line before it */
export function headForm(line: LineBefore, before: LineBefore | null): HeadForm {
  const { minute, speaker } = line;
  if (before === null || minute.slice(0, DAY_LENGTH) !== before.minute.slice(0, DAY_LENGTH)) return "dated";
  if (minute !== before.minute) return "timed";
  return speaker !== null && speaker === before.speaker ? "joined" : "named";
}

/**
 * @param minute `2026-11-21 14:05`
 * @param name the text after the bracket: `NAME: `, or "" if the text names the speaker
 */
export function lineHead(form: HeadForm, minute: string, name: string): string {
  // Joined, not concatenated: a concatenated string would keep its pieces in memory, 150 bytes of each message.
  switch (form) {
    case "dated":
      return ["[", minute, "] ", name].join("");
    case "timed":
      return ["[", minute.slice(DAY_LENGTH + 1), "] ", name].join("");
    case "named":
      return ["[] ", name].join("");
    case "joined":
      return "[+] ";
  }
}

const ANY_HEAD =
  /^\[(?:(?<day>\d{4}-\d\d-\d\d)(?: (?=\d)|(?=\])))?(?<time>\d\d:\d\d)?(?<joined>\+)?\] (?:(?<name>[^\n:]{1,80}): )?/;

/** Before each line of a transcript. */
const NUMBER = /^\d{1,7}\. (?=\[)/;

/** Completes the heads of consecutive lines to their dated form. */
export class HeadReader {
  /** `2026-11-21 14:05`; of quoted lines also a day alone. */
  #time = "";
  #name = "";

  /**
   * @param text a message, which begins with a head, or a transcript, whose numbered lines have heads
   * @returns the text with complete heads; unchanged if it has none, or their day is unknown
   */
  dated(text: string): string {
    if (!NUMBER.test(text)) return this.#line(text);
    const lines = text.split("\n").map((line) => {
      const number = NUMBER.exec(line)?.[0] ?? "";
      return number === "" ? line : number + this.#line(line.slice(number.length));
    });
    return lines.join("\n");
  }

  #line(line: string): string {
    const found = ANY_HEAD.exec(line);
    const { day, time, joined, name } = found?.groups ?? {};
    if (found === null || (day === undefined && this.#time === "")) return line;
    const rest = line.slice(found[0].length);
    if (time !== undefined) this.#time = `${day ?? this.#time.slice(0, DAY_LENGTH)} ${time}`;
    else if (day !== undefined) this.#time = day;
    // The part after `[+]` is text, even if it looks like a name.
    if (joined !== undefined) return lineHead("dated", this.#time, this.#name) + line.slice("[+] ".length);
    this.#name = name === undefined ? "" : `${name}: `;
    return lineHead("dated", this.#time, this.#name) + rest;
  }
}
