/** The few colours of the interactive terminal; without colour every function returns its text as it is. */
export interface Style {
  readonly agent: (text: string) => string;
  readonly person: (text: string) => string;
  readonly quiet: (text: string) => string;
}

export function createStyle(colour: boolean): Style {
  const sgr = (on: string, off: string) => (text: string) =>
    colour ? `\u001B[${on}m${text}\u001B[${off}m` : text;
  return { agent: sgr("1;36", "22;39"), person: sgr("1;32", "22;39"), quiet: sgr("2", "22") };
}
