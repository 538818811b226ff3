import type { MessageAction } from "../../core/message.ts";
import type { CommandForm, PlatformCommand } from "../platform.ts";

/**
 * A button carries its command as people would type it, so a press needs no memory, and is the same after a restart. Both
 * platforms hold 100 characters and more.
 */
const MARK = "weir/";
/** The mark of a button that opens the command's form. */
const FORM_MARK = "weir?";

/** A command that a person calls, by a button, a form or its name. */
export interface CalledCommand {
  readonly name: string;
  readonly argument: string;
}

/** The value of a button, and of a form. Pure. */
export function carried({
  command,
  argument,
  takesWords,
}: Pick<MessageAction, "command" | "argument" | "takesWords">): string {
  return `${takesWords === true ? FORM_MARK : MARK}${command} ${argument}`.trim();
}

/** The command of a press, and the form that it opens first; null: there is no such command. Pure. */
export function commandOfPress(
  value: string,
  commands: readonly PlatformCommand[],
): (CalledCommand & { readonly form: CommandForm | null }) | null {
  const [, mark, name, argument = ""] = /^(weir[/?])([a-z]{1,32})(?: ([^\n]{1,100}))?$/.exec(value) ?? [];
  const known = commands.find((command) => command.name === name);
  if (known === undefined || (mark === FORM_MARK && known.form === undefined)) return null;
  return { name: known.name, argument, form: mark === FORM_MARK ? (known.form ?? null) : null };
}

/** The form that a command opens when it is called by its name; null: none. Pure. */
export function formAlone(
  { name, argument }: CalledCommand,
  commands: readonly PlatformCommand[],
): CommandForm | null {
  const form = commands.find((command) => command.name === name)?.form;
  return argument === "" && form?.opensAlone === true ? form : null;
}

/** A command with the words of its form. Pure. */
export function withWords({ name, argument }: CalledCommand, words: string): CalledCommand {
  return { name, argument: `${argument} ${words.replaceAll(/\s+/g, " ")}`.trim() };
}
