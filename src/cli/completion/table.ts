import type { Argument, Command, Option } from "commander";

/** A candidate: a command, an option or a value of one. */
export interface Candidate {
  readonly word: string;
  /** One line; empty if the word says it. */
  readonly description: string;
}

/** Where a word is completed. */
export interface Place {
  /**
   * The command's path and a slot, with a space between: an option (`log --from`) for its value, `-` for the options, a number for an
   * argument, the first being 0.
   */
  readonly key: string;
  readonly candidates: readonly Candidate[];
  /** Names of files fit as well. */
  readonly takesFiles: boolean;
}

/** What completion knows of the command line: what each shell's script contains in its own language. */
export interface CompletionTable {
  readonly name: string;
  /** Paths of commands, each after a space where it is a command of the program: ` log`, `cluster drain`. */
  readonly commands: readonly string[];
  /** Options that take a value, after their command's path: `log --from`. */
  readonly withValue: readonly string[];
  readonly places: readonly Place[];
}

/**
 * Reads the tree of commands, as the help shows it. The libraries of completion ask the program at each Tab, which takes a start of
 * node, or need a package of the shell's; a script with this table answers at once.
 */
export function completionTable(program: Command): CompletionTable {
  const all = commandsBelow(program, "");
  return {
    name: program.name(),
    commands: all.slice(1).map(({ command, parent }) => `${parent} ${command.name()}`),
    withValue: all.flatMap(({ command, path }) =>
      optionsOf(command)
        .filter(takesValue)
        .flatMap(spellings)
        .map((option) => `${path} ${option}`),
    ),
    places: all.flatMap(({ command, path }) => placesOf(command, path)),
  };
}

function commandsBelow(
  command: Command,
  path: string,
  parent = "",
): readonly { readonly command: Command; readonly path: string; readonly parent: string }[] {
  const below = command.createHelp().visibleCommands(command);
  return [
    { command, path, parent },
    ...below.flatMap((child) => commandsBelow(child, `${path} ${child.name()}`.trim(), path)),
  ];
}

function placesOf(command: Command, path: string): readonly Place[] {
  const options = optionsOf(command);
  const place = (slot: string, candidates: readonly Candidate[], takesFiles = false): Place => ({
    key: `${path} ${slot}`,
    candidates,
    takesFiles,
  });
  const own = options.flatMap((option) =>
    spellings(option).map((word) => describe(word, option.description)),
  );
  const values = options
    .filter(takesValue)
    .flatMap((option) =>
      spellings(option).map((spelling) => place(spelling, choicesOf(option), isFile(valueName(option)))),
    );
  return [place("-", own), ...values, ...argumentPlaces(command, place)].filter(
    ({ candidates, takesFiles }) => candidates.length > 0 || takesFiles,
  );
}

function argumentPlaces(
  command: Command,
  place: (slot: string, candidates: readonly Candidate[], takesFiles?: boolean) => Place,
): readonly Place[] {
  const below = command
    .createHelp()
    .visibleCommands(command)
    .map((child) => describe(child.name(), child.description()));
  if (below.length > 0) return [place("0", below)];
  return command.registeredArguments.map((argument, index) =>
    place(String(index), choicesOf(argument), isFile(argument.name())),
  );
}

function optionsOf(command: Command): readonly Option[] {
  return command.createHelp().visibleOptions(command);
}

function takesValue({ required, optional }: Option): boolean {
  return required || optional;
}

/** The long form first, which explains itself. */
function spellings({ long, short }: Option): readonly string[] {
  return [long, short].filter((spelling) => spelling !== undefined);
}

function choicesOf({ argChoices = [] }: Pick<Option | Argument, "argChoices">): readonly Candidate[] {
  return argChoices.map((word) => describe(word, ""));
}

/** `--config <file>`: file. */
function valueName({ flags }: Option): string {
  return /[<[]([^>\]]+)/.exec(flags)?.[1] ?? "";
}

function isFile(name: string): boolean {
  return name === "file" || name === "folder";
}

function describe(word: string, description: string): Candidate {
  return { word, description: description.replaceAll(/\s+/g, " ") };
}
