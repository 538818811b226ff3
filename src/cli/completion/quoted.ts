/** A text as a word of bash and zsh, which read nothing in it. */
export function posixQuoted(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}

export function posixPatterns(words: readonly string[]): string {
  return words.map(posixQuoted).join(" | ");
}
