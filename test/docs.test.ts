import assert from "node:assert/strict";
import { existsSync, globSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { countTokens } from "gpt-tokenizer/encoding/o200k_base";
import { loadPrompts } from "../src/prompts/load.ts";
import { createTools } from "../src/tools/tools.ts";

const ROOT = join(import.meta.dirname, "..");
const PAGES = [...globSync("*.md", { cwd: ROOT }), ...globSync("docs/*.md", { cwd: ROOT })];
const LINK = /\]\((?!https?:)([^)#\s]*)(?:#([^)\s]+))?\)/g;
/** A file of the project in backticks: `core/history.ts`, `test/layers.test.ts`. */
const FILE = /`([\w./*-]+\.(?:ts|mjs|sql|j2|cjs))`/g;

/** As GitHub makes them. */
function anchorsOf(page: string): string[] {
  return [...page.matchAll(/^#+ (.+)$/gm)].map(([, title = ""]) =>
    title
      .toLowerCase()
      .replaceAll(/[^\w\- ]/g, "")
      .replaceAll(" ", "-"),
  );
}

const read = (file: string): string => readFileSync(join(ROOT, file), "utf8");

test("each link of the documentation leads somewhere", () => {
  const dead = PAGES.flatMap((page) =>
    [...read(page).matchAll(LINK)].flatMap(([link, path = "", anchor]) => {
      const target = path === "" ? page : join(dirname(page), path);
      if (!existsSync(join(ROOT, target))) return [`${page}: ${link}`];
      const isThere = anchor === undefined || anchorsOf(read(target)).includes(anchor);
      return isThere ? [] : [`${page}: ${link}`];
    }),
  );
  assert.deepEqual(dead, []);
});

test("each file that the documentation names is there", () => {
  const files = globSync("{src,test,bench,scripts,migrations,prompts}/**/*", { cwd: ROOT }).map(
    (file) => `/${file.replaceAll("\\", "/")}`,
  );
  const isThere = (name: string): boolean =>
    existsSync(join(ROOT, name)) ||
    files.some((file) => file.endsWith(`/${name}`)) ||
    // A pattern, or a name to be chosen.
    /[*]|NAME|NNNN|a\/b/.test(name);
  const unknown = PAGES.flatMap((page) =>
    [...read(page).matchAll(FILE)].flatMap(([, name = ""]) => (isThere(name) ? [] : [`${page}: ${name}`])),
  );
  assert.deepEqual(unknown, []);
});

test("README and ARCHITECTURE are read in minutes", () => {
  const words = (page: string): number => read(page).split(/\s+/).length;
  assert.ok(words("README.md") <= 1500, "README.md");
  assert.ok(words("ARCHITECTURE.md") <= 1800, "ARCHITECTURE.md");
  assert.ok(words("README.md") + words("ARCHITECTURE.md") <= 3400, "README.md and ARCHITECTURE.md");
});

test("what the tool for subagents costs is what its page says", () => {
  const prompts = loadPrompts({ dir: join(ROOT, "prompts", "en") });
  // As the page sets it up.
  const subagents = { personas: ["researcher"], models: ["gpt-5-mini", "gpt-5"] };
  const tools = createTools(prompts, {
    keepsNotes: false,
    hasSkills: false,
    setsReminders: false,
    recall: "all",
    subagents,
  });
  const spec = tools.find((one) => one.spec.name === "spawn_agent")?.spec;
  const said = /`spawn_agent`, of (\d+) tokens \(o200k\)/.exec(read("docs/subagents.md"))?.[1];
  assert.equal(Number(said), countTokens(JSON.stringify(spec)));
});
