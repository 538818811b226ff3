/**
 * The head of a line: when somebody said it, and who. A head says only what the line before it does not, for in a chat it is
 * longer than the text. Each form begins with a bracket that no text can begin with unescaped, so nobody can forge one.
 *
 *     [2026-11-21 14:05] Ann: the first line, or the first of a day
 *     [14:06] Ben: a later minute
 *     [] Ann: the same minute
 *     [+] the same minute, and the same person goes on
 */
export type HeadForm = "dated" | "timed" | "named" | "joined";

/** What a head depends on: the line before it, and nothing else. */
export interface LineBefore {
  /** `2026-11-21 14:05` */
  readonly minute: string;
  /** Who said it; null: something else stands between, and the name is said again. */
  readonly speaker: string | null;
}

const DAY_LENGTH = "2026-11-21".length;

/** @param before null: there is no line before it */
export function headForm(line: LineBefore, before: LineBefore | null): HeadForm {
  const { minute, speaker } = line;
  if (before === null || minute.slice(0, DAY_LENGTH) !== before.minute.slice(0, DAY_LENGTH)) return "dated";
  if (minute !== before.minute) return "timed";
  return speaker !== null && speaker === before.speaker ? "joined" : "named";
}

/**
 * @param minute `2026-11-21 14:05`
 * @param name what stands between the bracket and the text: `NAME: `, or "" where the text says who
 */
export function lineHead(form: HeadForm, minute: string, name: string): string {
  // Joined and not concatenated: the pieces would stay in memory beside the whole, 150 bytes of each message.
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
  /^\[(?:(?<day>\d{4}-\d\d-\d\d) )?(?<time>\d\d:\d\d)?(?<joined>\+)?\] (?:(?<name>[^\n:]{1,80}): )?/;

/** Before each line of a transcript. */
const NUMBER = /^\d{1,7}\. (?=\[)/;

/** Writes the heads of lines out, one after another: each as the dated form says it. */
export class HeadReader {
  #minute = "";
  #name = "";

  /**
   * @param text a message, which begins with a head, or a transcript, whose numbered lines have heads
   * @returns the text with its heads written out; as it is where it has none, or nothing says their day
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
    if (found === null || (day === undefined && this.#minute === "")) return line;
    if (day !== undefined && time === undefined) return line;
    const rest = line.slice(found[0].length);
    if (time !== undefined) this.#minute = `${day ?? this.#minute.slice(0, DAY_LENGTH)} ${time}`;
    // What follows `[+]` is text, even where it looks like a name.
    if (joined !== undefined) return lineHead("dated", this.#minute, this.#name) + line.slice("[+] ".length);
    this.#name = name === undefined ? "" : `${name}: `;
    return lineHead("dated", this.#minute, this.#name) + rest;
  }
}
