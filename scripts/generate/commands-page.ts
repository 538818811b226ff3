import process from "node:process";
import type { Argument, Command } from "commander";
import { commandRules } from "../../src/admin/commands/commands.ts";
import { COMMANDS } from "../../src/features/features.ts";
import { createProgram } from "../../src/cli/program.ts";

const HEAD = `# Commands

<!-- \`npm run generate\` writes this page from src/admin/commands/commands.ts and those of src/cli. -->

## In a chat

Type \`/NAME\` on Discord and in the terminal, \`/weir NAME\` on Slack, \`@weir /NAME\` in a thread on Slack or in any message. The
answer is for the asker alone, if the platform can do that. Everybody may use a command, if it does not say who.
`;

const WHO = {
  everybody: "",
  owners: " (owners)",
  answered: " (owners, and whoever is being answered)",
} as const;

const MIDDLE = `
[Owners](secure.md#who-may-do-what) are the people in \`owners\` and \`owner_roles\`; in a direct message and at the terminal everybody is one.

- \`/forget NUMBER\`, or \`QUERY\` if one memory of yours has all its words, deletes the memory at once with your messages behind it.
  \`/forget me\` deletes all that you said here, \`/forget me everywhere\` all on that platform; these, and a \`QUERY\` with several matches, first
  show what they delete, and need a \`yes\` behind them. [What deletion removes](privacy-and-security.md#what-deletion-removes).
- An edit of a message with \`/remember\` changes the memory, and its deletion deletes it.
- \`/model\` shows everybody the model; only owners choose [another](run.md#a-model-for-one-channel).
- \`/compact FOCUS\` names what the summary must keep (200 characters); summaries written ahead stay as they are.
- \`/export\` omits deleted messages and tool calls, and names attachments; a page (at the terminal) has the newest 10 MB of pictures. On
  Discord and Slack it has the newest 8,000 characters.

## In the terminal

| typed | does |
| --- | --- |
| \`/help\`, \`/help all\` | the common commands; all of them, and the keys |
| \`/raw\` | show answers as they are written, without drawing their Markdown; again: drawn |
| \`/export [FILE \\| html \\| print]\` | the conversation into a new file (FILE of the current folder, else of the home), or onto the screen; \`html\`, or a FILE that ends so: a page with pictures |
| \`/as NAME\`, \`/quit\`, \`//text\` | speak as somebody else; leave; say something that begins with a slash |
| a line that ends with \`\\\`, or \`"""\` … \`"""\` | one text of several lines |
| a paste | one text; \`␤\` is a line break; more than 20 lines are shown in short |
| Tab, arrow up | completes commands and their words; recalls inputs, also of earlier sessions |
| Ctrl-C | ends the current answer, else clears the line; twice within two seconds: leaves |
| Ctrl-D | leaves after the current answer; Ctrl-C then ends at once |
| a command during an answer | is shown with its own answer below that answer, or once it has stood still for five seconds |

Times are in this machine's zone, unless \`time_zone\` names another than UTC. With \`NO_COLOR\` Markdown keeps its marks; piped output is not drawn.

## On the command line

\`npm start\` is \`weir start\`. Run the others with \`npm run -s weir -- COMMAND\`, or with \`node_modules/.bin/node src/main.ts COMMAND\`.

- Each command but \`demo\`, \`loopback\` and \`completion\` takes \`--home <folder>\` (default: \`WEIR_HOME\`), the [home](install.md#the-home), and
  \`--config <file>\` (default: the home's \`config.toml\`).
- \`--json\` prints JSON, of a list an object a line.
- A \`<channel>\` is \`main\`, or \`platform:name\`.
- Tab completes commands, options and values after \`source <(weir completion bash)\` (zsh, after \`compinit\`:
  \`source <(weir completion zsh)\`; fish: \`weir completion fish | source\`).
`;

/** The page says once, above, what these say of a command. */
const COMMON: ReadonlySet<string> = new Set(["as JSON", "a JSON object a line", "main, or platform:name"]);

/** The text of `docs/commands.md`. */
export function commandsPage(): string {
  const chat = commandRules(COMMANDS).map(({ name, argument, help, allowed }) => {
    const typed = argument === null ? `/${name}` : `/${name} [${argument.form}]`;
    return `- \`${typed}\`${WHO[allowed]}: ${help}`;
  });
  const program = createProgram(UNUSED_IO).commands.flatMap((command) => [command, ...command.commands]);
  // One without options only groups others.
  const own = program
    .filter(({ commands, options }) => commands.length === 0 || options.length > 0)
    .map(cliText);
  return `${HEAD}\n${chat.join("\n")}\n${MIDDLE}\n${own.join("\n")}`;
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
  const json = command.options
    .filter(({ description }) => COMMON.has(description))
    .map(({ long }) => `[${long}]`);
  const title = `### \`${["weir", ...words, ...places, ...json].join(" ")}\``;
  const args = command.registeredArguments
    .filter(({ description }) => !COMMON.has(description))
    .map((argument) => describeArgument(placeOf(argument), argument.description, argument.argChoices));
  const options = command.options
    .filter(({ long, description }) => long !== "--config" && long !== "--home" && !COMMON.has(description))
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
