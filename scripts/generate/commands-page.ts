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
everybody is an owner. Forgetting blanks the messages in the log, takes the memories that nobody else states, and replaces each summary that
may hold the words by an extract without them, at once; a model writes it again. \`/forget me\` does so with all that you have said where you type it,
\`/forget me everywhere\` in all channels and direct messages of that platform, whichever agent answers there. \`/forget QUERY\` takes the one memory of yours
that has all words of the query, and where several have, it shows them first. What cannot be undone is shown with its count, and done when \`yes\` follows. It does not
reach what others and the agent have said, or the platform's own copies. If \`/remember\` was typed in a message, an edit of that message changes what is remembered, and its
deletion takes it.

Everybody may see with \`/model\` what answers; to choose another is for owners: [a model for one channel](operate.md#a-model-for-one-channel).

\`/compact FOCUS\` tells the summariser what to keep above all, in at most 200 characters; summaries that are written ahead already stay as they
are. \`/export\` leaves out what was taken back, and the calls of tools; attachments stand in it by name, kind and size, and in a page (at the terminal)
also the pictures that are kept, the newest 10 MB of them. On Discord and Slack, where it comes as messages, it has the newest 8,000
characters.

## In the terminal

| typed | does |
| --- | --- |
| \`/raw\` | answers come as they are written, without drawing their Markdown; again: drawn |
| \`/export [FILE \\| html \\| print]\` | the conversation into a new file of the current folder, or onto the screen; with \`html\`, or a FILE that ends so, as a page with the pictures in it |
| \`/as NAME\`, \`/quit\`, \`//text\` | speak as somebody else; leave; say something that begins with a slash |
| a line that ends with \`\\\`, or \`"""\` … \`"""\` | one text of several lines |
| a paste | one text; \`␤\` is a line break in it; of more than 20 lines a few words stand in the line |
| Tab, arrow up | completes commands and their words; offers again what was typed, also in earlier sessions |
| Ctrl-C | ends the answer that is being written, else clears the line; pressed again within two seconds it leaves |
| Ctrl-D | leaves: what is being written is finished first, and Ctrl-C ends at once |

Times are shown and read in this machine's zone, unless \`time_zone\` names another than UTC. Without colour (\`NO_COLOR\`) Markdown keeps its marks, and
what is piped is not drawn at all. What was typed is kept in the file \`history\` of the data folder: [privacy](privacy-and-security.md).

## On the command line

\`npm start\` is \`weir start\`. Run the others with \`npm run -s weir -- COMMAND\`, or with \`node_modules/.bin/node src/main.ts COMMAND\`.
Each command but \`loopback\` takes \`--config <file>\`; without it Weir reads \`config.toml\` in the folder in which it is started.
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
