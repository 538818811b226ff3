import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { bindingsOf } from "../../../src/cli/chat/chat-platforms.ts";
import { agentId } from "../../../src/core/ids.ts";
import type { InboundMessage } from "../../../src/core/message.ts";
import { findBinding, admit } from "../../../src/router/bindings.ts";
import { configFrom } from "../../config/folder.ts";

const PEOPLE = ["ann", "ben", "olga"];

function dmOf(person: string): InboundMessage {
  return {
    type: "message",
    channel: { platform: "discord", name: `dm-${person}` },
    kind: "dm",
    workspace: "",
    id: "m1",
    author: { id: person, name: person, isBot: false },
    text: "hello",
    at: new Date(0),
    addressed: true,
  };
}

describe("whose direct messages are answered", () => {
  /** What the others write is not written down. */
  const answered = (t: Parameters<typeof configFrom>[0], platform: string, binding: string): string[] => {
    const file = `[platforms.discord]\nowners = ["olga"]\n${platform}\n[[bindings]]\nagent = "main"\nplatform = "discord"\n${binding}`;
    const bindings = bindingsOf(configFrom(t, file, { DISCORD_TOKEN: "secret" }), agentId("main"));
    return PEOPLE.filter((person) => {
      const message = dmOf(person);
      const found = findBinding(bindings, message, () => true);
      const outcome = found === undefined ? "unbound" : admit(found, message, false, () => true).outcome;
      if (outcome !== "turn") assert.equal(outcome, "ignored");
      return outcome === "turn";
    });
  };
  const EVERYONE = 'dm = "everyone"';
  const ALLOWLIST = 'dm = "allowlist"\nallow = ["ann", "ben"]';

  test("everybody's, or those of the people on the platform's list, and of its owners", (t) => {
    assert.deepEqual(answered(t, EVERYONE, ""), PEOPLE);
    assert.deepEqual(answered(t, 'dm = "allowlist"\nallow = ["ann"]', ""), ["ann", "olga"]);
  });

  test("only of those who are answered in channels, too, where the binding names people", (t) => {
    assert.deepEqual(answered(t, "", 'allow_users = ["ann"]'), ["ann", "olga"]);
    assert.deepEqual(answered(t, "", 'allow_users = ["ann"]\nallow_roles = ["helpers"]'), ["ann", "olga"]);
    assert.deepEqual(answered(t, ALLOWLIST, 'allow_users = ["ann", "carla"]'), ["ann", "olga"]);
  });

  test("by default those who are named anywhere, and whoever is let in by a code", (t) => {
    const paired = (binding: string, allow = ""): boolean => {
      const file = `[platforms.discord]\n${allow}\n[[bindings]]\nagent = "main"\nplatform = "discord"\n${binding}`;
      const bindings = bindingsOf(configFrom(t, file, { DISCORD_TOKEN: "secret" }), agentId("main"));
      return bindings.some(({ dmLetsIn }) => dmLetsIn);
    };
    assert.deepEqual(answered(t, 'allow = ["ann"]', ""), ["ann", "olga"]);
    assert.ok(paired(""));
    assert.deepEqual(answered(t, "", 'allow_users = ["ann"]'), ["ann", "olga"]);
    assert.ok(!paired('allow_users = ["ann"]'));
    assert.ok(!paired("", 'dm = "allowlist"'));
    assert.ok(!paired("", EVERYONE));
  });

  test("nobody has a role there: roles alone leave it to the platform's list", (t) => {
    assert.deepEqual(answered(t, EVERYONE, 'allow_roles = ["helpers"]'), PEOPLE);
  });
});
