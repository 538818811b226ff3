import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { parseSync, Visitor } from "oxc-parser";

/** The regular expressions of `src`, found by a parser. */

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
    for (const file of new Set(constructions.map((site) => site.replace(/:\d+$/, ""))))
      // By an address of its own: another test of this process may have loaded it.
      await import(`${pathToFileURL(join(ROOT, file)).href}?built`);
    for (const call of calls) await call();
  } finally {
    globalThis.RegExp = own;
  }
  return found;
}
