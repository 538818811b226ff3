import assert from "node:assert/strict";
import { test } from "node:test";
import { Argument, Command, Option } from "commander";
import { completionTable } from "../../../src/cli/completion/table.ts";

function made(): Command {
  const program = new Command("made").version("1.0.0", "-v, --version", "show it");
  program
    .command("list")
    .argument("<file>", "where to")
    .addArgument(new Argument("[by]").choices(["name", "age"]))
    .option("-f, --follow", "go\n on")
    .option("-n, --lines <n>", "so many")
    .addOption(new Option("--sort <by>").choices(["up", "down"]))
    .addOption(new Option("--secret <x>").hideHelp());
  program.command("group").command("inner").option("--config <file>", "the file");
  program.command("hidden", { hidden: true });
  return program;
}

test("commands, options and choices are those that the help shows", () => {
  const { name, commands, withValue, places } = completionTable(made());
  assert.equal(name, "made");
  assert.deepEqual(commands, [" list", " group", "group inner", "group help", " help"]);
  assert.deepEqual(withValue, ["list --lines", "list -n", "list --sort", "group inner --config"]);
  const words = Object.fromEntries(
    places.map(({ key, candidates, takesFiles }) => [
      key,
      takesFiles ? "files" : candidates.map(({ word }) => word).join(" "),
    ]),
  );
  assert.deepEqual(words, {
    " -": "--version -v --help -h",
    " 0": "list group help",
    "list -": "--follow -f --lines -n --sort --help -h",
    "list --sort": "up down",
    "list 0": "files",
    "list 1": "name age",
    "group -": "--help -h",
    "group 0": "inner help",
    "group inner -": "--config --help -h",
    "group inner --config": "files",
  });
});

test("a description is one line, and a choice needs none", () => {
  const { places } = completionTable(made());
  const at = (key: string) => places.find((place) => place.key === key)?.candidates[0];
  assert.deepEqual(at("list -"), { word: "--follow", description: "go on" });
  assert.deepEqual(at("list --sort"), { word: "up", description: "" });
});
