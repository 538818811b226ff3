import assert from "node:assert/strict";
import { existsSync, globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { IS_CLONE, ROOT, weirCommand } from "../../src/files/installation.ts";

test("a clone runs npm scripts, and an installed Weir is a command", () => {
  assert.ok(existsSync(join(ROOT, "package.json")));
  assert.ok(IS_CLONE);
  assert.equal(weirCommand("doctor"), "npm run -s weir -- doctor");
  assert.equal(weirCommand("start", true), "npm start");
  assert.equal(weirCommand("start", false), "weir start");
  assert.equal(weirCommand("pair CODE", false), "weir pair CODE");
});

/** Texts that are pages, not said by a Weir that runs: the help, which names the program, and what is generated. */
const PAGES = /^src\/(?:cli\/(?:commands|program)|config\/schema\/.*|daemon\/http\/openapi)\.ts$/;
const COMMENT = /\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm;

test("no text says a command by itself, which would be wrong in a clone or where Weir is installed", () => {
  const definitions = readFileSync(join(ROOT, "src", "cli", "commands.ts"), "utf8");
  const words = [...definitions.matchAll(/\.command\("([\w-]+)"/g)].map(([, name = ""]) => name);
  assert.ok(words.includes("doctor"));
  const said = new RegExp(`\\bweir (?:${words.join("|")})(?![\\w-])`);
  const found = globSync("src/**/*.ts", { cwd: ROOT })
    .filter((file) => !PAGES.test(file))
    .flatMap((file) =>
      readFileSync(join(ROOT, file), "utf8")
        .replaceAll(COMMENT, "")
        .split("\n")
        .filter((line) => said.test(line.replace(/\/\/.*$/, "")))
        .map((line) => `${file}: ${line.trim()}`),
    );
  assert.deepEqual(found, []);
});
