/** Makes functions that colour a text, by SGR parameters; without colour they return it as it is. */
export function colouring(colour: boolean) {
  return (on: string, off: string) =>
    (text: string): string =>
      colour && text !== "" ? `\u001B[${on}m${text}\u001B[${off}m` : text;
}

/** The few colours of the interactive terminal. */
export function createStyle(colour: boolean) {
  const sgr = colouring(colour);
  return { agent: sgr("1;36", "22;39"), person: sgr("1;32", "22;39"), quiet: sgr("2", "22") };
}
export type Style = ReturnType<typeof createStyle>;
