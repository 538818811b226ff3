/**
 * What npm runs around `npm pack`: below a folder `node_modules` Node runs no TypeScript, so the package has each file of `src` as
 * JavaScript. `write` puts it beside its source, where git ignores it and nothing imports it; `remove` takes it away.
 */
import { existsSync, globSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { stripTypeScriptTypes } from "node:module";
import { join } from "node:path";
import process from "node:process";
import { parseSync, Visitor } from "oxc-parser";

const ROOT = join(import.meta.dirname, "..");

/**
 * The same module in JavaScript, with its lines and columns. Each relative name of a `.ts` (an import, the URL of a worker) becomes
 * the one of its `.js`.
 * @throws Error where a name of another form ends in `.ts`: nobody would find that file
 */
export function asJavaScript(source: string, name: string): string {
  const text = stripTypeScriptTypes(source, { mode: "strip" });
  const { program, errors } = parseSync(name.replace(/\.ts$/, ".js"), text);
  if (errors[0] !== undefined) throw new Error(`${name}: ${errors[0].message}`);
  const ends: number[] = [];
  const see = (value: string, end: number): void => {
    if (!/^\S*\.ts$/.test(value)) return;
    if (!/^\.{1,2}\//.test(value)) throw new Error(`${name}: "${value}" is no relative name of a file`);
    ends.push(end - 1);
  };
  new Visitor({
    Literal({ value, end }) {
      if (typeof value === "string") see(value, end);
    },
    TemplateLiteral({ quasis }) {
      see(quasis.at(-1)?.value.cooked ?? "", 0);
    },
  }).visit(program);
  return ends
    .toSorted((a, b) => b - a)
    .reduce((written, end) => `${written.slice(0, end - 2)}js${written.slice(end)}`, text);
}

function write(): void {
  for (const file of globSync("src/**/*.ts", { cwd: ROOT })) {
    const path = join(ROOT, file);
    writeFileSync(path.replace(/\.ts$/, ".js"), asJavaScript(readFileSync(path, "utf8"), file));
  }
}

function remove(): void {
  for (const file of globSync("src/**/*.js", { cwd: ROOT }))
    if (existsSync(join(ROOT, file.replace(/\.js$/, ".ts")))) rmSync(join(ROOT, file));
}

if (import.meta.main) {
  remove();
  if (process.argv[2] === "write") write();
}
