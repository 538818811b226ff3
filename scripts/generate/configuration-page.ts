import { homesOf, isRepeated, type Option, type Table, tables, tomlValue } from "./options.ts";

const HEAD = `# Configuration

<!-- \`npm run generate\` writes this page from src/config/schema/. -->

Weir reads \`config.toml\` in its [home](install.md#the-home), or the file of \`--config\`. Every option has a default; the shipped file has all, with
comments, switched off.

- \`weir config check\` shows all errors at once: file, line, what was expected, and the nearest known key.
- Each option stands here with its default, what else it may be, and what it does. Numbers are whole, but for dollars and shares; \`_ms\` means
  milliseconds. Paths are relative to the folder of the file.
- Secrets never stand in the file. \`"env:NAME"\` names a variable of the environment, or of a file \`.env\` beside it. Addresses have no user,
  password or query.
- A change takes effect within two seconds; † waits for a restart: [Change it while it runs](run.md#change-it-while-it-runs).
- An agent's value goes over \`[defaults]\`, which goes over the built-in default.
`;

/** What an error says of each value, and the page once, above. */
const SHORTER: readonly (readonly [RegExp, string])[] = [
  [/^the name of an environment variable that holds it, as "env:NAME"/, '"env:NAME"'],
  [/: secrets never stand in this file$/, ""],
  [/^a whole number of (?:milliseconds, )?/, ""],
  [/^a share of the usable window: a number /, "a share "],
  [/^an address such as .*$/, ""],
  [/^the (?:name|path) of (?=an? )/, ""],
  [
    /^(?:a cron expression|an id of|an address to listen on,|an IANA time zone|an emoji,|a list of names of variables,) .*$/,
    "",
  ],
  [/^(?:a language folder|a list of (?:at most 10 names of models)), such as .*$/, ""],
  [/, 0 for no limit\b/, ""],
  [/^one of /, ""],
  [/^a list of /, ""],
  [/, or (?:"\w*"|0) (?:for|to) .*$/, ""],
  [/, in quotes$/, ""],
  [/(?<!from )\b(\d+) to (\d+)/, "$1–$2"],
  // The default, the key, or what the option does shows the rest.
  [/^"env:NAME"$/, ""],
  [/^true or false$/, ""],
  [/^[a-z -]+, (?=\d)/, ""],
  [/^a share\b.*$/, "0–1"],
  [/^a number from (\d) to (\d)$/, "$1–$2"],
  [/^(?:an?|ids|names|other names|the)\b(?!.*(?:such as|letters|characters)).*$/, ""],
  [/^(?:a name|names of tools|text|what the agent is to do then)\b.*$/, ""],
];

/** The text of `docs/configuration.md`. */
export function configurationPage(): string {
  const all = tables();
  const homes = homesOf(all);
  const shown = all.filter((table) => !isRepeated(table));
  return [HEAD, ...shown.map((table) => tableText(table, all, homes))].join("\n");
}

function tableText(
  { name, isList, text, options }: Table,
  all: readonly Table[],
  homes: ReadonlyMap<unknown, string>,
): string {
  const inherited = name === "agents" ? namesIn(all, "defaults") : new Set<string>();
  const own = options.filter((option) => !inherited.has(option.name));
  const shared = own.filter(({ schema }) => homes.get(schema) !== name);
  const lines = own.flatMap((option, at) => (shared.includes(option) ? [] : [line(option, own[at - 1])]));
  const title = isList ? `[[${name}]]` : `[${name}]`;
  const about = text.about === "" ? "" : `${text.about}\n\n`;
  const names = shared.map((option) => `\`${option.name}\``).join(", ");
  const rest = names === "" ? "" : `\nAs in \`[${homes.get(shared[0]?.schema)}]\`: ${names}.\n`;
  return `## \`${title}\`\n\n${about}${lines.join("\n")}\n${rest}`;
}

function namesIn(all: readonly Table[], table: string): ReadonlySet<string> {
  return new Set(all.find(({ name }) => name === table)?.options.map(({ name }) => name));
}

function line({ name, text, expected, fallback }: Option, before: Option | undefined): string {
  const value = fallback ?? text.shown;
  const said = text.about === "" && before !== undefined ? `see \`${before.name}\`.` : text.about;
  const waits = text.isForStart === true ? "†" : "";
  const may = saysEach(said, expected) ? "" : shortly(expected);
  const values = [value === undefined ? "" : `\`${tomlValue(value)}\``, may].filter((part) => part !== "");
  const shown = values.length === 0 ? "" : ` (${values.join("; ")})`;
  return `- \`${name}\`${waits}${shown}: ${said}`;
}

/** The meaning explains each of the words that an option may have. */
function saysEach(said: string, expected: string): boolean {
  return (
    expected.startsWith("one of ") && (expected.match(/"[^"]+"/g) ?? []).every((word) => said.includes(word))
  );
}

function shortly(expected: string): string {
  return SHORTER.reduce((text, [long, short]) => text.replace(long, short), expected);
}
