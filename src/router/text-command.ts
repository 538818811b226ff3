/** A command that somebody typed into a message, behind a mention or alone. */
export interface TextCommand {
  /** Without the slash. */
  readonly name: string;
  readonly argument: string;
}

/**
 * `@weir /context list` → context, "list". A text of several lines is no command, and neither is a path.
 * @param known whether there is a command of this name
 */
export function parseTextCommand(text: string, known: (name: string) => boolean): TextCommand | null {
  const match = /^(?:@[^\s,:]+[\s,:]+)?\/([a-z]{1,32})(?:[ \t]+(\S.*))?$/i.exec(text.trim());
  const name = match?.[1]?.toLowerCase() ?? "";
  return match === null || !known(name) ? null : { name, argument: match[2]?.trim() ?? "" };
}
