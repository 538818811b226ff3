import { homesOf, isRepeated, type Option, type Table, tables, tomlValue } from "./options.ts";

const WIDTH = 118;

const HEAD = `The configuration of Weir. \`npm run generate\` writes this file from the schema in src/config/schema/; change values here, and texts there.

Every option is here, switched off with a # and set to its built-in default: as it is, this file changes nothing. To change an option, take the # in front of it away and give it another value. \`weir config check\` tells whether the file is right, without starting anything.

Paths are relative to the home: the folder of this file, unless --home or WEIR_HOME names another. A name that ends in _ms is a time in milliseconds (1000 = one second). Secrets never stand here: write "env:NAME", and put NAME=... into the environment or into a file called .env beside this one.`;

/** The text of `config.toml`. */
export function configFile(): string {
  const all = tables();
  const homes = homesOf(all);
  const parts = all.filter((table) => !isRepeated(table)).map((table) => tableText(table, homes));
  return `${[comment(HEAD), ...parts].join("\n\n\n")}\n`;
}

function tableText(table: Table, homes: ReadonlyMap<unknown, string>): string {
  const about = comment(table.text.about);
  if (table.isList) return [about, ...listTexts(table)].filter((text) => text !== "").join("\n");
  const head = [about, `${table.isNamed ? "#" : ""}[${table.name}]`].filter((text) => text !== "").join("\n");
  const own = table.options.filter(({ schema }) => homes.get(schema) === table.name);
  const shared = table.options.filter((option) => !own.includes(option));
  const home = homes.get(shared[0]?.schema);
  const repeated =
    home === undefined ? [] : [[comment(`As in [${home}].`), ...shared.map(assigned)].join("\n")];
  return [head, ...own.map(optionText), ...repeated].reduce(joined);
}

/** An option without sentences belongs to the one before it. */
function joined(before: string, next: string): string {
  return next.startsWith("# ") ? `${before}\n\n${next}` : `${before}\n${next}`;
}

function optionText(option: Option): string {
  return [comment(option.text.about), assigned(option)].filter((text) => text !== "").join("\n");
}

function assigned({ name, fallback, text }: Option): string {
  return `#${name} = ${tomlValue(text.shown ?? fallback)}`;
}

/** The first of a list of tables has every option, the others what is not as by default. */
function listTexts({ name, options, text }: Table): string[] {
  return (text.samples ?? []).map(({ about, values }, index) => {
    const shown = options.filter((option) =>
      index === 0 && isComplete(values, options) ? true : Object.hasOwn(values, option.name),
    );
    const lines = shown.map((option) => {
      const value = Object.hasOwn(values, option.name) ? values[option.name] : option.fallback;
      const sentences = index === 0 ? comment(option.text.about) : "";
      return [sentences, `#${option.name} = ${tomlValue(value)}`].filter((line) => line !== "").join("\n");
    });
    const head = [comment(about), `#[[${name}]]`].filter((line) => line !== "").join("\n");
    const rest = index === 0 ? [] : [comment("What is not said here is as it is by default.")];
    return `${[head, ...rest, ...lines].reduce(joined)}${index + 1 < (text.samples?.length ?? 0) ? "\n" : ""}`;
  });
}

/** What `[defaults]` has stands there, and not in the sample of an agent. */
function isComplete(values: Readonly<Record<string, unknown>>, options: readonly Option[]): boolean {
  return Object.hasOwn(values, "platform") && options.some(({ name }) => name === "platform");
}

/** Lines behind `# `, broken between words. */
function comment(text: string): string {
  if (text === "") return "";
  return text
    .split("\n")
    .flatMap((paragraph) => wrapped(paragraph))
    .map((line) => (line === "" ? "#" : `# ${line}`))
    .join("\n");
}

function wrapped(paragraph: string): string[] {
  const lines: string[] = [""];
  for (const word of paragraph.split(" ")) {
    const last = lines.at(-1) ?? "";
    if (last === "") lines[lines.length - 1] = word;
    else if (last.length + 1 + word.length <= WIDTH) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  return lines;
}
