import process from "node:process";
import type { Argument, Command } from "commander";
import { commandRules } from "../../src/admin/commands/commands.ts";
import { COMMANDS } from "../../src/features/features.ts";
import { createProgram } from "../../src/cli/program.ts";

const HEAD = `# Commands

<!-- \`npm run generate\` writes this page from src/admin/commands/commands.ts and those of src/cli. -->

## In a chat

On Discord type \`/NAME\`, on Slack \`/weir NAME\`, in a thread on Slack or in any message \`@weir /NAME\`, in the terminal \`/NAME\`. The
answer is for the asker alone, if the platform can do that.
`;

const WHO = {
  everybody: "everybody",
  owners: "owners",
  answered: "owners, and whoever is being answered",
} as const;

const MIDDLE = `
Owners are the people in \`owners\` and \`owner_roles\` of a platform; in a direct message, at the terminal and on the loopback platform
everybody is an owner.

- \`/forget NUMBER\`, or \`QUERY\` if one memory of yours has all its words, deletes the memory at once with your messages behind it.
  \`/forget me\` deletes all that you said here, \`/forget me everywhere\` all on that platform; these, and a \`QUERY\` with several matches, show
  first what they delete, and do it when \`yes\` follows. What others and the agent said, and the platform's copies, stay:
  [what deletion removes](privacy-and-security.md#what-deletion-removes).
- If \`/remember\` was typed in a message, an edit of that message changes the memory, and its deletion deletes it.
- \`/model\` shows everybody the model; only owners choose [another](run.md#a-model-for-one-channel).
- \`/compact FOCUS\` names what the summary must keep, in at most 200 characters; summaries written ahead stay as they are.
- \`/export\` omits deleted messages and tool calls, and lists attachments by name, kind and size; a page (at the terminal) includes the newest
  10 MB of pictures. On Discord and Slack it has the newest 8,000 characters.

## In the terminal

| typed | does |
| --- | --- |
| \`/help\`, \`/help all\` | the common commands; all of them, and the keys |
| \`/raw\` | show answers as they are written, without drawing their Markdown; again: drawn |
| \`/export [FILE \\| html \\| print]\` | the conversation into a new file of the current folder, or onto the screen; with \`html\`, or a FILE that ends so, as a page with pictures |
| \`/as NAME\`, \`/quit\`, \`//text\` | speak as somebody else; leave; say something that begins with a slash |
| a line that ends with \`\\\`, or \`"""\` … \`"""\` | one text of several lines |
| a paste | one text; \`␤\` is a line break; more than 20 lines are shown as a few words |
| Tab, arrow up | completes commands and their words; recalls earlier inputs, also of earlier sessions |
| Ctrl-C | ends the current answer, else clears the line; twice within two seconds: leaves |
| Ctrl-D | leaves after the current answer; Ctrl-C then ends at once |
| a command while an answer is being written | is shown with its own answer below that answer's end, or once it has stood still for five seconds |

Times are in this machine's zone, unless \`time_zone\` names another than UTC. With \`NO_COLOR\` Markdown keeps its marks; piped output is not
drawn. The data folder's file \`history\` keeps what was typed.

## On the command line

\`npm start\` is \`weir start\`. Run the others with \`npm run -s weir -- COMMAND\`, or with \`node_modules/.bin/node src/main.ts COMMAND\`.
Each command but \`demo\`, \`loopback\` and \`completion\` takes \`--config <file>\`; without it Weir reads \`config.toml\` in the folder in which it is started.

Where \`weir\` is a command of the shell, Tab completes its commands, options and their values after \`source <(weir completion bash)\` (zsh,
after \`compinit\`: \`source <(weir completion zsh)\`; fish: \`weir completion fish | source\`).
`;

/** The text of `docs/commands.md`. */
export function commandsPage(): string {
  const chat = commandRules(COMMANDS).map(({ name, argument, help, allowed }) => {
    const typed = argument === null ? `/${name}` : `/${name} [${argument.form}]`;
    return `| \`${typed.replaceAll("|", "\\|")}\` | ${help} | ${WHO[allowed]} |`;
  });
  const chatTable = ["| command | does | who may |", "| --- | --- | --- |", ...chat].join("\n");
  const program = createProgram(UNUSED_IO).commands.flatMap((command) => [command, ...command.commands]);
  // One without options only groups others.
  const own = program
    .filter(({ commands, options }) => commands.length === 0 || options.length > 0)
    .map(cliText);
  return `${HEAD}\n${chatTable}\n${MIDDLE}\n${own.join("\n")}`;
}

/** The program is only described, and nothing of it run. */
const UNUSED_IO = {
  cwd: "",
  stdin: process.stdin,
  stdout: process.stdout,
  stderr: process.stderr,
  shutdown: new AbortController().signal,
  onHangUp: () => undefined,
  onExit: () => undefined,
  tellReady: () => undefined,
};

function cliText(command: Command): string {
  const words = [command.parent?.parent ? command.parent.name() : "", command.name()].filter(
    (word) => word !== "",
  );
  const places = command.registeredArguments.map(placeOf);
  const title = `### \`${["weir", ...words, ...places].join(" ")}\``;
  const args = command.registeredArguments.map((argument) =>
    describeArgument(placeOf(argument), argument.description, argument.argChoices),
  );
  const options = command.options
    .filter(({ long }) => long !== "--config")
    .map(({ flags, description, defaultValue }) => {
      const fallback = defaultValue === undefined ? "" : ` (default: ${JSON.stringify(defaultValue)})`;
      return `- \`${flags}\`: ${description}${fallback}`;
    });
  const list = [...args, ...options];
  return `${title}\n\n${sentence(command.description())}\n${list.length === 0 ? "" : `\n${list.join("\n")}\n`}`;
}

function placeOf(argument: Argument): string {
  return argument.required ? `<${argument.name()}>` : `[${argument.name()}]`;
}

function describeArgument(
  place: string,
  description: string,
  choices: readonly string[] | undefined,
): string {
  return `- \`${place}\`: ${choices === undefined ? description : choices.map((choice) => `\`${choice}\``).join(" or ")}`;
}

function sentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
}
