import { isRepeated, type Option, type Table, tables, tomlValue } from "./options.ts";

const HEAD = `# Configuration

<!-- \`npm run generate\` writes this page from src/config/schema/. -->

Weir reads \`config.toml\` in the folder in which it is started, or the file behind \`--config\`. It needs none: every option has a default.
The shipped \`config.toml\` has every option with a comment, switched off at its default.

- A wrong or unknown key is an error with file, line, what was expected, and the nearest known key; all errors come at once.
  \`weir config check\` looks without starting.
- \`_ms\` at the end of a key: milliseconds. Paths are relative to the folder of the file.
- Secrets never stand in the file. \`"env:NAME"\` names a variable of the environment, or of a file called \`.env\` beside \`config.toml\`.
- What is saved takes effect in a running Weir within two seconds. What says "(from the next start on)" waits for a restart:
  [Change it while it runs](run.md#change-it-while-it-runs).
- An agent's value goes over \`[defaults]\`, which goes over the built-in default.
`;

/** The text of `docs/configuration.md`. */
export function configurationPage(): string {
  const shown = tables().filter((table) => !isRepeated(table));
  return [HEAD, ...shown.map(tableText)].join("\n");
}

function tableText({ name, isList, text, options }: Table, _index: number, all: readonly Table[]): string {
  const inherited = name === "agents" ? namesIn(all, "defaults") : new Set<string>();
  const rows = options
    .filter((option) => !inherited.has(option.name))
    .map((option, index, own) => row(option, own[index - 1]));
  const title = isList ? `[[${name}]]` : `[${name}]`;
  const about = text.about === "" ? "" : `${text.about}\n\n`;
  return `## \`${title}\`\n\n${about}| key | default | expected | meaning |\n| --- | --- | --- | --- |\n${rows.join("\n")}\n`;
}

function namesIn(all: readonly Table[], table: string): ReadonlySet<string> {
  return new Set(all.find(({ name }) => name === table)?.options.map(({ name }) => name));
}

function row({ name, text, expected, fallback }: Option, before: Option | undefined): string {
  const value = fallback ?? text.shown;
  const said = text.about === "" && before !== undefined ? `See \`${before.name}\`.` : text.about;
  const meaning = text.isForStart === true ? `${said} (from the next start on)` : said;
  return `| ${[`\`${name}\``, value === undefined ? "none" : `\`${tomlValue(value)}\``, expected, meaning].map(cell).join(" | ")} |`;
}

function cell(text: string): string {
  return text.replaceAll("|", "\\|");
}
