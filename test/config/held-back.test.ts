// proves: src/config/held-back.ts, src/config/git-work.ts
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, rmSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { readGitState } from "../../src/config/git-work.ts";
import { type ConfigurationTexts, whyHeldBack } from "../../src/config/held-back.ts";
import { configErrorFrom, folderWith } from "./folder.ts";

const OWN = '[[agents]]\nid = "main"\n';
const SHIPPED = readFileSync(join(import.meta.dirname, "../../config.toml"), "utf8");

function texts(main: string | null, template = "Hello."): ConfigurationTexts {
  return {
    main,
    all: new Map([
      ["config.toml", main],
      ["system.md.j2", template],
    ]),
  };
}

function why(
  now: ConfigurationTexts,
  before = texts(OWN),
  git: Parameters<typeof whyHeldBack>[3] = null,
): string | null {
  return whyHeldBack(now, before, "config.toml", git)?.message ?? null;
}

test("a file that says nothing is held back where the one before said something", () => {
  for (const shipped of [SHIPPED, SHIPPED.replaceAll("\n", "\r\n"), "# only a comment\n", "[log]\n"])
    assert.match(why(texts(shipped)) ?? "", /^config\.toml says nothing any more/);
  for (const empty of ["", " \n\n"]) assert.match(why(texts(empty)) ?? "", /^config\.toml is empty/);
  assert.match(why(texts(null)) ?? "", /^config\.toml is not there any more/);
  assert.match(why(texts(null)) ?? "", /`npm run -s weir -- reload --force`/);
  for (const nothing of ["", SHIPPED, null])
    for (const other of ["", SHIPPED, null]) assert.equal(why(texts(nothing), texts(other)), null);
});

test("a file with a conflict is held back, also where it is a template or hides in a string", () => {
  const mark = "<<<<<<< Updated upstream\n[log]\n=======\n>>>>>>> Stashed changes\n";
  assert.match(why(texts(`${OWN}${mark}`)) ?? "", /^config\.toml:3 has a conflict mark/);
  assert.match(why(texts(`${OWN}instructions = """\n${mark}"""\n`)) ?? "", /^config\.toml:4 has/);
  assert.match(why(texts(OWN, `Hello.\r\n${mark}`)) ?? "", /^system\.md\.j2:2 has/);
  assert.equal(why(texts(`${OWN}# <<<<<<< is a mark of git\n`)), null);
  // It was taken as it is, at the start or by force.
  assert.equal(why(texts(OWN, mark), texts(OWN, mark)), null);
});

test("a broken file, and a real change, are not held back", () => {
  assert.equal(why(texts('[log]\nlevel = "debug"\n')), null);
  assert.equal(why(texts("[log\n")), null);
  assert.equal(why(texts(`${OWN}[[`)), null);
});

test("while git is at work a change is held back, and what is as before is not", () => {
  const git = { what: "a merge", mark: "/x/.git/MERGE_HEAD" };
  const held = whyHeldBack(texts(`${OWN}name = "Weir"\n`), texts(OWN), "config.toml", git);
  assert.match(held?.message ?? "", /^git is at work there: a merge \(\/x\/\.git\/MERGE_HEAD\)/);
  assert.equal(held?.endsUnseen, true);
  assert.equal(why(texts(OWN), texts(OWN), git), null);
});

test("git's work is seen in the repository that holds the file: above it, by a link, in a work tree beside", (t) => {
  const folder = folderWith(t, { "repo/deep/config.toml": OWN, "other/none": "" });
  const repo = join(folder, "repo");
  const git = (...args: string[]): string =>
    execFileSync("git", ["-c", "user.name=op", "-c", "user.email=op@example.org", ...args], {
      cwd: repo,
      encoding: "utf8",
      stdio: "pipe",
    });
  git("init", "--quiet");
  git("commit", "--quiet", "--allow-empty", "--message", "first");
  git("worktree", "add", "--quiet", "../beside");
  const file = join(repo, "deep", "config.toml");
  const work = (path = file): string | undefined => readGitState(path, Date.now()).work?.what;
  assert.equal(work(), undefined);
  for (const [mark, what] of Object.entries({
    MERGE_HEAD: "a merge",
    CHERRY_PICK_HEAD: "a cherry-pick",
    REVERT_HEAD: "a revert",
    "index.lock": "a command",
  })) {
    writeFileSync(join(repo, ".git", mark), "");
    assert.equal(work(), what);
    rmSync(join(repo, ".git", mark));
  }
  mkdirSync(join(repo, ".git", "rebase-merge"));
  symlinkSync(file, join(folder, "other", "config.toml"));
  assert.equal(work(join(folder, "other", "config.toml")), "a rebase");
  assert.equal(work(join(folder, "other", "none")), undefined);
  assert.equal(work(join(folder, "beside", "config.toml")), undefined);
  mkdirSync(join(repo, ".git", "worktrees", "beside", "rebase-apply"));
  assert.equal(work(join(folder, "beside", "config.toml")), "a rebase");
});

test("what an operator keeps in the clone is ignored by git, so that a stash leaves it alone", (t) => {
  const ignored = readFileSync(join(import.meta.dirname, "../../.gitignore"), "utf8");
  const folder = folderWith(t, { ".gitignore": ignored, "src/agents/agents.ts": "" });
  const kept = [
    ".env",
    "agents/main/memory/notes.md",
    "data/weir.log",
    "weir-2026-11-21.backup",
    "memories.jsonl",
    "weir-main-2026-11-21.md",
  ];
  for (const name of kept) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), "x");
  }
  execFileSync("git", ["init", "--quiet"], { cwd: folder });
  const seen = execFileSync("git", ["ls-files", "--others", "--exclude-standard"], {
    cwd: folder,
    encoding: "utf8",
  });
  assert.deepEqual(seen.trim().split("\n").toSorted(), [".gitignore", "src/agents/agents.ts"]);
});

test("a lock of git that is older than a minute, or of times to come, holds nothing", (t) => {
  const folder = folderWith(t, { "config.toml": OWN, ".git/index.lock": "" });
  const lock = join(folder, ".git", "index.lock");
  const now = Date.now();
  const state = (ageMs: number): ReturnType<typeof readGitState> => {
    utimesSync(lock, new Date(now - ageMs), new Date(now - ageMs));
    return readGitState(join(folder, "config.toml"), now);
  };
  assert.deepEqual(state(30_000), { work: { what: "a command", mark: lock }, staleLock: null });
  for (const ageMs of [90_000, -90_000]) assert.deepEqual(state(ageMs), { work: null, staleLock: lock });
});

test("a start says where a conflict of git stands", (t) => {
  const { first } = configErrorFrom(t, `${OWN}<<<<<<< HEAD\nname = "a"\n=======\nname = "b"\n>>>>>>> x\n`);
  assert.match(first, /^config\.toml:3: is a conflict mark of git/);
});
