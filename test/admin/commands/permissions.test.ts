import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Command } from "../../../src/admin/commands/command.ts";
import { COMMANDS } from "../../../src/features/features.ts";
import {
  type CommandPlace,
  mayRun,
  type OwnersConfig,
  typedWith,
} from "../../../src/admin/commands/permissions.ts";
import type { Asker } from "../../../src/platforms/platform.ts";
import { PLATFORMS_OFF } from "../../support/platforms-off.ts";

const CONFIG: OwnersConfig = {
  ...PLATFORMS_OFF,
  discord: { owners: ["1"], ownerRoles: ["@Moderators", "770000000000000077"] },
  slack: { owners: ["U1"], ownerRoles: [] },
  holds: (_platform, _kind, _name, server) => server === "ours",
};
const NOBODY: OwnersConfig = { ...PLATFORMS_OFF, holds: () => true };
const named = (wanted: string): Command =>
  COMMANDS.find(({ name }) => name === wanted) ?? assert.fail(wanted);
const CLOSED = ["compact", "summarize", "reset"].map(named);

/** @param roles ids, and names behind an `@` */
function person(id: string, ...roles: string[]): Asker {
  return {
    id,
    name: "Ann",
    roles: roles.filter((role) => !role.startsWith("@")),
    roleNames: roles.filter((role) => role.startsWith("@")).map((role) => role.slice(1)),
  };
}

function place(overrides: Partial<CommandPlace> = {}): CommandPlace {
  return {
    platform: "discord",
    kind: "channel",
    workspace: "ours",
    typed: typedWith(overrides.platform === "slack" ? "/weir " : "/"),
    answering: [],
    ...overrides,
  };
}

describe("who may change what holds for everybody", () => {
  const cases: readonly [string, Asker, CommandPlace, OwnersConfig, boolean][] = [
    ["a stranger", person("2"), place(), CONFIG, false],
    ["an owner by id", person("1"), place(), CONFIG, true],
    ["an owner by a role's name, in any case", person("2", "55", "@moderators"), place(), CONFIG, true],
    [
      "somebody with a role of that name in another server",
      person("2", "@moderators"),
      place({ workspace: "theirs" }),
      CONFIG,
      false,
    ],
    [
      "somebody with a role that is called like the id of one",
      person("2", "@770000000000000077"),
      place(),
      CONFIG,
      false,
    ],
    ["an owner by a role's id", person("2", "770000000000000077"), place(), CONFIG, true],
    ["somebody with another role", person("2", "78", "@moderators of tea"), place(), CONFIG, false],
    ["somebody who has an owner's id as a name", { id: "2", name: "1", roles: [] }, place(), CONFIG, false],
    ["somebody who has an owner's id as a role", person("2", "1"), place(), CONFIG, false],
    ["an owner in a thread", person("1"), place({ kind: "thread" }), CONFIG, true],
    ["a stranger in a thread", person("2"), place({ kind: "thread" }), CONFIG, false],
    ["anybody in a DM", person("2"), place({ kind: "dm" }), CONFIG, true],
    ["an owner of another platform", person("1"), place({ platform: "slack" }), CONFIG, false],
    ["an owner on Slack", person("U1"), place({ platform: "slack" }), CONFIG, true],
    ["an id in another case", person("u1"), place({ platform: "slack" }), CONFIG, false],
    ["anybody where no owners are named", person("1"), place(), NOBODY, false],
    ["anybody in a DM where no owners are named", person("2"), place({ kind: "dm" }), NOBODY, true],
    ["anybody at the terminal", person("2"), place({ platform: "terminal" }), NOBODY, true],
    ["anybody on the loopback platform", person("2"), place({ platform: "loopback" }), CONFIG, true],
    ["who is being answered", person("2"), place({ answering: ["2"] }), CONFIG, false],
  ];
  for (const [who, asker, where, config, isAllowed] of cases) {
    test(`${who}: ${isAllowed ? "may" : "may not"}`, () => {
      for (const command of CLOSED)
        assert.equal(mayRun(command, asker, where, config).isAllowed, isAllowed, command.name);
    });
  }
});

describe("who may stop an answer", () => {
  const answering = ["2", "3"];
  const cases: readonly [string, Asker, CommandPlace, boolean][] = [
    ["whoever is being answered", person("3"), place({ answering }), true],
    ["somebody else", person("4"), place({ answering }), false],
    ["somebody who is called like an id", { id: "4", name: "3", roles: [] }, place({ answering }), false],
    ["an owner", person("1"), place({ answering }), true],
    ["anybody in a DM", person("4"), place({ answering, kind: "dm" }), true],
  ];
  for (const [who, asker, where, isAllowed] of cases) {
    test(`${who}: ${isAllowed ? "may" : "may not"}`, () => {
      assert.equal(mayRun(named("stop"), asker, where, CONFIG).isAllowed, isAllowed);
    });
  }
});

test("all else is everybody's", () => {
  const closed = COMMANDS.filter((command) => !mayRun(command, person("2"), place(), NOBODY).isAllowed).map(
    ({ name }) => name,
  );
  assert.deepEqual(closed, ["compact", "summarize", "stop", "skill", "export", "reset", "new", "pair"]);
});

test("a refusal says what the command does, who may, and how one becomes that", () => {
  const reset = mayRun(named("reset"), person("2"), place(), CONFIG);
  assert.deepEqual(reset, {
    isAllowed: false,
    why:
      "/reset changes the conversation for everybody here, so it is for owners only. " +
      "Whoever runs Weir names them in config.toml, as owners or owner_roles under [platforms.discord].",
  });
  const stop = mayRun(named("stop"), person("4"), place({ platform: "slack" }), CONFIG);
  assert.match(stop.isAllowed ? "" : stop.why, /being answered just now.*\[platforms\.slack\]/);
});
