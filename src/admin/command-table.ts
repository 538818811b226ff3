import type { PlatformCommand } from "../platforms/platform.ts";

/** Who may run a command where more people than one are: everybody, the owners, or also who is being answered. */
type Allowed = "everybody" | "owners" | "answered";

interface Command extends PlatformCommand {
  readonly allowed: Allowed;
}

/** What people can ask with a slash, on every platform. */
export const COMMANDS = [
  {
    name: "context",
    help: "how full the context is, and with what",
    argument: { name: "part", form: "list | detail KEY", help: "its parts, or one of them in full" },
    allowed: "everybody",
  },
  {
    name: "compact",
    help: "summarise what is old now, instead of when the context is full",
    argument: null,
    allowed: "owners",
  },
  { name: "summarize", help: "as /compact, and show the summary", argument: null, allowed: "owners" },
  {
    name: "memory",
    help: "what is remembered here, who said it and when",
    argument: null,
    allowed: "everybody",
  },
  {
    name: "remember",
    help: "keep a statement of yours for this place, in your own words",
    argument: { name: "text", form: "TEXT", help: "what is to be remembered" },
    allowed: "everybody",
  },
  {
    name: "forget",
    help: "forget a memory, or everything that you have said here",
    argument: { name: "what", form: "NUMBER | me", help: "the number that /memory shows, or all of yours" },
    allowed: "everybody",
  },
  {
    name: "why",
    help: "what the last answer was made of: messages, memories, tools, model",
    argument: null,
    allowed: "everybody",
  },
  { name: "status", help: "what this channel is doing just now", argument: null, allowed: "everybody" },
  { name: "stop", help: "end the answer that is being written", argument: null, allowed: "answered" },
  {
    name: "reset",
    help: "start afresh: nothing said so far is shown to the model any more; the log keeps it",
    argument: null,
    allowed: "owners",
  },
  { name: "help", help: "this list", argument: null, allowed: "everybody" },
] as const satisfies readonly Command[];

export type CommandName = (typeof COMMANDS)[number]["name"];

/** @returns undefined: there is no such command */
export function commandNamed(name: string): CommandName | undefined {
  return COMMANDS.find((command) => command.name === name)?.name;
}

export function allowedTo(name: CommandName): Allowed {
  return COMMANDS.find((command) => command.name === name)?.allowed ?? "owners";
}

/** What a platform registers as its own slash commands. Every argument is a text that may be left out. */
export function commandTable(): readonly PlatformCommand[] {
  return COMMANDS.map(({ name, help, argument }) => ({ name, help, argument }));
}

/** A command as people type it where they are: `forget 1` is `/forget 1`, `/weir forget 1` or `@weir /forget 1`. */
export type Typed = (command: string) => string;

/** @param prefix what stands before a command's name */
export function typedWith(prefix: string): Typed {
  return (command) => prefix + command;
}

/**
 * One line a command, without the first slash; those that the asker may not run here say who may.
 * @param typed its prefix begins with a slash
 */
export function helpLines(
  isOwner: boolean,
  typed: Typed,
): { readonly name: string; readonly help: string }[] {
  const marks = {
    everybody: "",
    owners: " (owners only)",
    answered: " (owners, and whoever is being answered)",
  };
  return COMMANDS.map(({ name, help, argument, allowed }) => ({
    name: typed(argument === null ? name : `${name} [${argument.form}]`).slice(1),
    help:
      help.replaceAll(/\/([a-z]+)/g, (_, command: string) => typed(command)) +
      (isOwner ? "" : marks[allowed]),
  }));
}
