/**
 * A command's answer as data, for platforms that can draw more than characters. It holds only plain text, including names and
 * words of people: a platform must escape them in its own markup.
 */
export interface Card {
  readonly title: string;
  /** The whole answer in one line, for notifications and for places without drawing. */
  readonly summary: string;
  readonly tone: "calm" | "warning" | "critical";
  readonly bar: Bar;
  /** Short facts, the most important first. */
  readonly fields: readonly { readonly label: string; readonly value: string }[];
  /** Facts with a line each. */
  readonly lists: readonly { readonly label: string; readonly lines: readonly string[] }[];
  /** The same answer as text, for places that cannot show the card. */
  readonly text: string;
}

/** The used share of a limit, with marks on the same scale. */
export interface Bar {
  /** 1: all of it; may be more. */
  readonly share: number;
  /** Ascending. */
  readonly marks: readonly { readonly label: string; readonly share: number }[];
}

export type CommandAnswer = string | Card;

export function answerText(answer: CommandAnswer): string {
  return typeof answer === "string" ? answer : answer.text;
}
