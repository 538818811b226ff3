/** Finds the conflict marks that git leaves in a text. Pure. @returns the line of the first mark, from 1; null: none */
export function conflictLine(text: string): number | null {
  const index = text.split("\n").findIndex((line) => /^(?:<{7}|>{7})(?:\s|$)/.test(line));
  return index < 0 ? null : index + 1;
}
