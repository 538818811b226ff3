import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { parseSync, Visitor } from "oxc-parser";

/** The regular expressions of `src`, and its functions of a text, found by a parser. */

const ROOT = join(import.meta.dirname, "..", "..");

export interface Expression {
  /** `src/text/terms.ts:7` */
  readonly site: string;
  readonly source: string;
  readonly flags: string;
}

/** Regular expressions that are written as such, and the places where `RegExp` is called. */
export function expressions(): { readonly literals: Expression[]; readonly constructions: string[] } {
  const literals: Expression[] = [];
  const constructions: string[] = [];
  for (const file of globSync("src/**/*.ts", { cwd: ROOT }).toSorted()) {
    const text = readFileSync(join(ROOT, file), "utf8");
    const siteOf = (at: number): string =>
      `${file.replaceAll("\\", "/")}:${text.slice(0, at).split("\n").length}`;
    const { program, errors } = parseSync(file, text);
    if (errors.length > 0) throw new Error(`${file}: ${errors[0]?.message ?? ""}`);
    const visitor = new Visitor({
      Literal(node) {
        if ("regex" in node)
          literals.push({ site: siteOf(node.start), source: node.regex.pattern, flags: node.regex.flags });
      },
      NewExpression({ callee, start }) {
        if (callee.type === "Identifier" && callee.name === "RegExp") constructions.push(siteOf(start));
      },
      CallExpression({ callee, start }) {
        if (callee.type === "Identifier" && callee.name === "RegExp") constructions.push(siteOf(start));
      },
    });
    visitor.visit(program);
  }
  return { literals, constructions };
}

const SITE = /(src\/[^():?]+\.ts)(?:\?built)?:(\d+):\d+/;

/** A module of `src` by an address of its own: another test of this process may have loaded it, and built what it keeps. */
export async function freshly(file: string): Promise<unknown> {
  return import(`${pathToFileURL(join(ROOT, file)).href}?built`);
}

/** Expressions that are built while the modules that build some are loaded, and while `calls` run. */
export async function built(
  constructions: readonly string[],
  calls: readonly (() => unknown)[],
): Promise<Expression[]> {
  const found: Expression[] = [];
  const own = globalThis.RegExp;
  globalThis.RegExp = new Proxy(own, {
    construct: (target, given: [string, string?]) => {
      const made = new target(...given);
      const [, file, line] = SITE.exec(new Error("where").stack ?? "") ?? [];
      if (file !== undefined) found.push({ site: `${file}:${line}`, source: made.source, flags: made.flags });
      return made;
    },
  });
  try {
    for (const file of new Set(constructions.map((site) => site.replace(/:\d+$/, "")))) await freshly(file);
    for (const call of calls) await call();
  } finally {
    globalThis.RegExp = own;
  }
  return found;
}

export interface TextFunction {
  /** `src/text/terms.ts terms` */
  readonly site: string;
  readonly call: (text: string) => unknown;
}

/** A value for each parameter behind the text; the texts that a second parameter takes are short. */
const OTHERS: Readonly<Record<string, unknown>> = {
  TSStringKeyword: "a",
  TSNumberKeyword: 1000,
  TSBooleanKeyword: true,
};

/** The parser's types say that no parameter is. */
function isOptional({ optional = false }: { readonly optional?: boolean }): boolean {
  return optional;
}

/** Functions that some rooms export, and that take a text and nothing else that has to be made up. */
export async function textFunctions(rooms: readonly string[]): Promise<TextFunction[]> {
  const found: TextFunction[] = [];
  for (const file of globSync(
    rooms.map((room) => `src/${room}/**/*.ts`),
    { cwd: ROOT },
  ).toSorted()) {
    const { program } = parseSync(file, readFileSync(join(ROOT, file), "utf8"));
    for (const statement of program.body) {
      if (statement.type !== "ExportNamedDeclaration") continue;
      const made = statement.declaration;
      if (made?.type !== "FunctionDeclaration" || made.async || made.id === null) continue;
      const [text, ...others] = made.params.map((one) => {
        // One with a default need not be given.
        if (one.type !== "Identifier") return one.type === "AssignmentPattern" ? "none" : "unknown";
        return isOptional(one) ? "none" : (one.typeAnnotation?.typeAnnotation.type ?? "unknown");
      });
      const needed = others.filter((kind) => kind !== "none");
      if (text !== "TSStringKeyword" || !needed.every((kind) => kind in OTHERS)) continue;
      const loaded: Record<string, unknown> = await import(pathToFileURL(join(ROOT, file)).href);
      const call = loaded[made.id.name];
      if (typeof call !== "function") throw new Error(`${file} does not export ${made.id.name}`);
      const more = needed.map((kind) => OTHERS[kind]);
      found.push({
        site: `${file} ${made.id.name}`,
        call: (given) => Reflect.apply(call, null, [given, ...more]),
      });
    }
  }
  return found;
}
