// proves: src/cli/completion.ts, src/cli/completion/bash.ts, src/cli/completion/zsh.ts, src/cli/completion/fish.ts
import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { after, test } from "node:test";
import { Argument, Command, Option } from "commander";
import { bashCompletion } from "../../src/cli/completion/bash.ts";
import { fishCompletion } from "../../src/cli/completion/fish.ts";
import { completionTable } from "../../src/cli/completion/table.ts";
import { zshCompletion } from "../../src/cli/completion/zsh.ts";

const folder = await mkdtemp(path.join(tmpdir(), "weir-completion-"));
after(async () => rm(folder, { recursive: true }));

const program = new Command("made");
program
  .command("log")
  .argument("<channel>")
  .addArgument(new Argument("[form]").choices(["long", "short"]))
  .option("--json", "it's `JSON`: $HOME\\n")
  .option("--from <seq>", "first")
  .addOption(new Option("-s, --sort <by>").choices(["up", "upper", "down"]));
program.command("logs").description("lines");
const group = program.command("group").helpCommand(false).option("--channel <name>");
group.command("export").argument("<file>");
group.command("import");
const table = completionTable(program);

/** What is typed, the word at the cursor last; and the words that fit. */
const CASES: readonly [readonly string[], readonly string[]][] = [
  [["lo"], ["log", "logs"]],
  [
    ["log", "main", ""],
    ["long", "short"],
  ],
  [["log", "--json", "main", "s"], ["short"]],
  [["log", "--from", "7", "main", "l"], ["long"]],
  [
    ["log", "--sort", "up"],
    ["up", "upper"],
  ],
  [["log", "-s", "d"], ["down"]],
  [["log", "main", "--j"], ["--json"]],
  [["log", "--from", ""], []],
  [
    ["logs", "-"],
    ["--help", "-h"],
  ],
  [
    ["group", ""],
    ["export", "import"],
  ],
  [["group", "--channel", "export", "i"], ["import"]],
  [["group", "export", "two"], ["two words.txt"]],
  [["nothing", ""], []],
];

function isThere(shell: string): boolean {
  return spawnSync(shell, ["-c", "exit"]).error === undefined;
}

/** Runs lines in a shell, and reads a line of each case: words with `|` between, without descriptions. */
async function answers(
  shell: string,
  options: readonly string[],
  script: string,
): Promise<readonly string[]> {
  await writeFile(path.join(folder, "two words.txt"), "");
  const file = path.join(folder, `script.${shell}`);
  await writeFile(file, script);
  const out = execFileSync(shell, [...options, file], { cwd: folder, encoding: "utf8" });
  return out.trimEnd().split("\n");
}

const expected = CASES.map(([typed, words]) => `${typed.join(" ")}: ${words.toSorted().join("|")}`);

function quoted(words: readonly string[]): string {
  return words.map((word) => `'${word}'`).join(" ");
}

test("bash completes commands, options, values and files", async () => {
  const asked = CASES.map(([typed]) => `ask ${quoted(typed)}`).join("\n");
  const script = `set -u
${bashCompletion(table)}
ask() {
  COMP_WORDS=(made "$@"); COMP_CWORD=$#
  _made
  echo "$*: $(printf '%s\\n' "\${COMPREPLY[@]:-}" | LC_ALL=C sort | paste -s -d '|' -)"
}
${asked}
COMP_WORDS=(made log --sort = do); COMP_CWORD=4; _made; echo "$COMPREPLY"
COMP_WORDS=(made log --sort =); COMP_CWORD=3; _made; echo "\${#COMPREPLY[@]}"
complete -p made`;
  assert.deepEqual(await answers("bash", ["--norc"], script), [
    ...expected,
    "down",
    "3",
    "complete -F _made made",
  ]);
});

test("fish completes the same", { skip: isThere("fish") ? false : "no fish here" }, async () => {
  const asked = CASES.map(([typed]) => `ask ${quoted(typed)}`).join("\n");
  const script = `${fishCompletion(table)}
function ask
  set -l found (complete -C "made $argv" | string replace -r '\\t.*' '' | LC_ALL=C sort | string join '|')
  echo "$argv: $found"
end
${asked}
complete -C 'made log --sort=do'
complete -C 'made group export two'
complete -C 'made log --js'`;
  assert.deepEqual(await answers("fish", ["--no-config"], script), [
    ...expected,
    "--sort=down",
    "two words.txt",
    "--json\tit's `JSON`: $HOME\\n",
  ]);
});

test("zsh completes the same", { skip: isThere("zsh") ? false : "no zsh here" }, async () => {
  const asked = CASES.map(([typed]) => `ask ${quoted(typed)}`).join("\n");
  // The functions of a zsh that somebody types into, as those that print what they are given, and only that which fits.
  const script = `compdef() { registered="$*" }
_describe() { print -rl -- "\${(@)\${(P)3}%%:*}" }
_files() { print -rl -- * }
compset() { words[CURRENT]=\${words[CURRENT]#*=} }
${zshCompletion(table)}
ask() {
  local -a words=(made "$@") fit; local CURRENT=$(($# + 1))
  fit=("\${(@f)$(_made)}")
  print -r -- "$*: \${(j:|:)\${(@oM)fit:#\${words[CURRENT]}*}}"
}
${asked}
words=(made log --sort=do); CURRENT=3; _made; print -r -- $registered`;
  assert.deepEqual(await answers("zsh", ["-f"], script), [...expected, "up", "upper", "down", "_made made"]);
});
