import process from "node:process";
import type { Argument, Command } from "commander";
import { commandRules } from "../../src/admin/commands/commands.ts";
import { COMMANDS } from "../../src/features/features.ts";
import { createProgram } from "../../src/cli/program.ts";

const HEAD = `# Commands

<!-- \`npm run generate\` writes this page from src/admin/commands/commands.ts and those of src/cli. -->

## In a chat

Type \`/NAME\` on Discord and in the terminal, \`/weir NAME\` on Slack, \`@weir /NAME\` in a thread on Slack or in any message. Where the
platform can, only the asker sees the answer. Everybody may use a command that does not say who.
`;

const WHO = {
  everybody: "",
  owners: " (owners)",
  answered: " (owners, and the person who is answered)",
} as const;

const MIDDLE = `
[Owners](secure.md#who-may-do-what) are the people in \`owners\` and \`owner_roles\`; in a direct message and at the terminal everybody is one.

- \`/forget NUMBER\`, or \`QUERY\` if one memory of yours has all its words, deletes the memory at once with your messages that prove it.
  \`/forget me\` deletes all that you said here, \`/forget me everywhere\` all on that platform; these, and a \`QUERY\` with several matches, first
  show what they delete, and need a \`yes\` at the end. [What deletion removes](privacy-and-security.md#what-deletion-removes).
- The memory of a \`/remember\` follows the message's edits and deletion.
- \`/model\` shows everybody the model; only owners choose [another](run.md#a-model-for-one-channel).
- \`/compact FOCUS\` names what the summary must keep (200 characters); summaries written ahead stay as they are.
- \`/export\` omits deleted messages and tool calls. Discord and Slack show the newest 8,000 characters; a page (at the terminal) has the newest
  10 MB of pictures.

## In the terminal

- \`/help\`: the common commands; \`/help all\`: all of them, and the keys
- \`/raw\`: show answers without drawing their Markdown, or drawn again
- \`/export [FILE | html | print]\`: the conversation into a new file (FILE of the current folder, else of the home), or onto the screen; \`html\`, or a
  FILE that ends so: a page with pictures
- \`/as NAME\`: speak as somebody else; \`/quit\`: leave; \`//text\`: say something that begins with a slash
- A line that ends with \`\\\`, and lines between \`"""\` and \`"""\`, are one text. So is a paste: \`␤\` is a line break,
  and \`[paste 1: 30 lines]\` stands for a long one.
- Tab completes commands and their words; arrow up recalls inputs, also of earlier sessions.
- Ctrl-C ends the current answer, else clears the line; twice within two seconds it leaves. Ctrl-D leaves after the current answer; Ctrl-C then ends at once.
- A command during an answer is shown below that answer, or once the answer has stood still for five seconds.

Times are in this machine's zone, unless \`time_zone\` names another than UTC. With \`NO_COLOR\` Markdown keeps its marks; piped output is not drawn.

## On the command line

\`npm start\` is \`weir start\`. Run the others with \`npm run -s weir -- COMMAND\`.

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
