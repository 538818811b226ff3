/** Where git has left both versions of a place in a text. Pure. @returns the line of the first mark, from 1; null: there is none */
export function conflictLine(text: string): number | null {
  const index = text.split("\n").findIndex((line) => /^(?:<{7}|>{7})(?:\s|$)/.test(line));
  return index < 0 ? null : index + 1;
}
