import assert from "node:assert/strict";
import { test } from "node:test";
import { typedWith } from "../../../src/admin/commands/permissions.ts";
import { commandTable, helpLines } from "../../../src/admin/commands/commands.ts";
import { COMMANDS } from "../../../src/features/features.ts";

test("every command has a name that platforms take, a short help, and at most one argument", () => {
  const table = commandTable(COMMANDS);
  assert.deepEqual(
    table.map(({ name }) => name).toSorted(),
    "agents answer approvals approve ask compact context deny export forget help learned memory model new pair recap remember remind reminders reset skill status stop summarize usage why".split(
      " ",
    ),
  );
  for (const { name, help, argument } of table) {
    assert.match(name, /^[a-z]{1,32}$/);
    // Discord's bound for both.
    assert.ok(help.length > 0 && help.length <= 100, help);
    if (argument === null) continue;
    assert.match(argument.name, /^[a-z]{1,32}$/);
    assert.ok(`${argument.form}: ${argument.help}`.length <= 100, argument.help);
  }
});

test("the common commands fit a first screen of ten rows, with two of the terminal's own", () => {
  const common = commandTable(COMMANDS).filter(({ isCommon }) => isCommon);
  assert.deepEqual(
    common.map(({ name }) => name),
    "context memory remember forget remind status stop model".split(" "),
  );
  for (const { name, help } of common) assert.ok("/help all  ".length + help.length < 80, name);
});

test("the help shows what an argument looks like, and marks what the asker may not run", () => {
  const [own, strange] = [
    helpLines(COMMANDS, true, typedWith("/")),
    helpLines(COMMANDS, false, typedWith("/")),
  ];
  assert.ok(own.some(({ name }) => name === "forget [NUMBER | L1 | QUERY | me | me everywhere]"));
  assert.doesNotMatch(JSON.stringify(own), /owners/);
  const marked = strange.filter(({ help }) => help.includes("(owners only)")).map(({ name }) => name);
  assert.deepEqual(marked, [
    "compact [FOCUS]",
    "summarize [FOCUS]",
    "skill [on NAME | off [NAME]]",
    "export",
    "reset",
    "new",
    "pair [CODE]",
  ]);
  assert.match(
    strange.find(({ name }) => name === "stop")?.help ?? "",
    /\(owners, and whoever is being answered\)$/,
  );
});
