import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { assertHome, chooseHome, homeCommand } from "../../src/config/home.ts";
import { loadConfig } from "../../src/config/load.ts";
import { folderWith } from "./folder.ts";

const ELSEWHERE = {
  env: {},
  cwd: "/work/here",
  account: "/home/ann",
  isClone: false,
  hasConfig: () => false,
};

test("the home: --home, else WEIR_HOME, else this folder with a config.toml, else ~/.weir", () => {
  const env = { WEIR_HOME: "/srv/weir" };
  const option = "../mine";
  const hasConfig = (folder: string): boolean => folder === "/work/here";
  const chosen = (places: object): string => {
    const { folder, by } = chooseHome({ ...ELSEWHERE, ...places });
    return `${folder} ${by}`;
  };
  assert.equal(chosen({ option, env, hasConfig }), "/work/mine --home");
  assert.equal(chosen({ env, hasConfig }), "/srv/weir WEIR_HOME");
  assert.equal(chosen({ env: { WEIR_HOME: "mine" } }), "/work/here/mine WEIR_HOME");
  assert.equal(chosen({ env: { WEIR_HOME: " " }, hasConfig }), "/work/here this folder");
  assert.equal(chosen({}), "/home/ann/.weir default");
  assert.equal(chosen({ isClone: true }), "/work/here this folder");
});

test("a home that somebody names is there, or the command that makes it is said", (t) => {
  const folder = folderWith(t, { file: "" });
  assertHome({ folder, by: "--home" });
  assertHome({ folder: path.join(folder, "none"), by: "default" });
  assert.throws(
    () => assertHome({ folder: path.join(folder, "none"), by: "WEIR_HOME" }),
    /--home \S+none init/,
  );
  assert.throws(() => assertHome({ folder: path.join(folder, "file"), by: "--home" }), /is no folder/);
});

test("a command on a home that was named by an option names it too, in a form that a shell takes whole", () => {
  assert.match(
    homeCommand({ folder: "/srv/my $weir", by: "--home" }, "init"),
    / --home "\/srv\/my \\\$weir" init$/,
  );
  assert.doesNotMatch(homeCommand({ folder: "/srv/weir", by: "WEIR_HOME" }, "init"), /--home/);
});

test("config.toml, .env and all paths are those of the home, also of a file that stands elsewhere", (t) => {
  const cwd = folderWith(t, {
    "config.toml": "[[agents]]\nid = 'wrong'\n",
    "other.toml": "[database]\ndata_dir = 'kept'\n",
  });
  const home = path.join(cwd, "home");
  mkdirSync(home);
  writeFileSync(path.join(home, "config.toml"), "[[agents]]\nid = 'mine'\nprompt = 'mine.j2'\n");
  writeFileSync(path.join(home, ".env"), "OPENAI_API_KEY=sk-1\n");
  const config = loadConfig({ cwd, home, env: {} });
  assert.equal(config.agents[0]?.id, "mine");
  assert.equal(config.agents[0].prompt, path.join(home, "mine.j2"));
  assert.equal(config.llm.apiKey, "sk-1");
  assert.deepEqual(
    [config.home, config.file, config.database.dataDir, config.agentsDir],
    [home, path.join(home, "config.toml"), path.join(home, "data"), path.join(home, "agents")],
  );
  const other = loadConfig({ cwd, home, file: "other.toml", env: {} });
  assert.deepEqual(
    [other.home, other.database.dataDir, other.llm.apiKey],
    [home, path.join(home, "kept"), "sk-1"],
  );
  // Without a home it is the folder of the file.
  assert.equal(loadConfig({ cwd: "/", file: path.join(cwd, "other.toml"), env: {} }).home, cwd);
});

test("a problem names the file of the home", (t) => {
  const cwd = folderWith(t, {});
  const home = path.join(cwd, "home");
  mkdirSync(home);
  writeFileSync(path.join(home, "config.toml"), "[databse]\n");
  assert.throws(() => loadConfig({ cwd, home, env: {} }), /home\/config\.toml:1/);
  assert.throws(
    () => loadConfig({ cwd: "/elsewhere", home, env: {} }),
    new RegExp(`${home.replaceAll(".", "\\.")}/config\\.toml:1`),
  );
});
