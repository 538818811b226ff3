// proves: src/router/text-commands.ts
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { agentId } from "../../src/core/ids.ts";
import type { InboundMessage } from "../../src/core/message.ts";
import { TurnRateLimit } from "../../src/router/turn-rate-limit.ts";
import { type Binding, bindPlatform, findBinding, admit } from "../../src/router/bindings.ts";
import { parseTextCommand } from "../../src/router/text-commands.ts";
import { cpuMs } from "../support/cpu-time.ts";

const ANY: Binding = { ...bindPlatform("discord", agentId("main")), allowBots: false };

function said(more: Partial<InboundMessage> = {}): InboundMessage {
  return {
    type: "message",
    channel: { platform: "discord", name: "100" },
    kind: "channel",
    workspace: "1",
    place: { workspace: "Guild", channel: "general", parent: null },
    id: "m1",
    author: { id: "u1", name: "Ann", isBot: false, roles: ["7"], roleNames: ["Helpers"] },
    text: "hello",
    at: new Date(0),
    addressed: false,
    ...more,
  };
}

const thread = {
  kind: "thread",
  channel: { platform: "discord", name: "200" },
  place: { workspace: "Guild", channel: "about rain", parent: { id: "100", name: "general" } },
} as const;
const dm = { kind: "dm", place: { workspace: "", channel: "Ann", parent: null }, addressed: true } as const;

describe("which binding a channel has", () => {
  const matches = (binding: Partial<Binding>, message: Partial<InboundMessage> = {}): boolean =>
    findBinding([{ ...ANY, ...binding }], said(message), () => true) !== undefined;

  test("channels and workspaces match by id and by name, with or without #, in any case", () => {
    for (const name of ["100", "general", "#General"]) assert.ok(matches({ channels: [name] }), name);
    for (const name of ["1", "guild"]) assert.ok(matches({ workspaces: [name] }), name);
    assert.ok(!matches({ channels: ["random"] }));
    assert.ok(!matches({ channels: ["general"], workspaces: ["Other"] }));
  });

  test("a thread belongs to its channel, where threads are wanted", () => {
    assert.ok(matches({ channels: ["general"] }, thread));
    assert.ok(!matches({ channels: ["general"], threads: false }, thread));
    assert.ok(!matches({ channels: ["random"] }, thread));
  });

  test("the name of a thread, which anybody may give it, binds it to nothing; its own id may", () => {
    const { place } = thread;
    const named = { ...thread, place: { ...place, channel: "hr-private" } };
    assert.ok(!matches({ channels: ["hr-private"] }, named));
    assert.ok(!matches({ channels: ["hr-private"] }, { ...named, place: { ...named.place, parent: null } }));
    for (const name of ["200", "100", "#general"]) assert.ok(matches({ channels: [name] }, named), name);
  });

  test("a DM is in no channel: it has a binding wherever DMs are wanted", () => {
    assert.ok(matches({ channels: ["random"], workspaces: ["Other"] }, dm));
    assert.ok(!matches({ dms: false }, dm));
  });
});

describe("what becomes of a message", () => {
  const outcome = (binding: Partial<Binding>, message: Partial<InboundMessage>, takesPart = false): string =>
    admit({ ...ANY, ...binding }, said(message), takesPart, () => true).outcome;

  test("a mention is answered; what is said beside is context, or nothing", () => {
    assert.equal(outcome({}, { addressed: true }), "turn");
    assert.equal(outcome({}, {}), "listened");
    assert.equal(outcome({ listen: false }, {}), "ignored");
    assert.equal(outcome({ mentionRequired: false }, {}), "turn");
  });

  test("a thread that the agent takes part in needs no mention", () => {
    assert.equal(outcome({}, thread, true), "turn");
    assert.equal(outcome({}, thread, false), "listened");
  });

  test("a reaction is context where a word would be answered", () => {
    const reaction = { id: "reaction/m1/u1/👍", text: "reacted with 👍", replyTo: "m1" };
    assert.equal(outcome({}, { ...thread, ...reaction }, true), "listened");
    assert.equal(outcome({ mentionRequired: false }, reaction), "listened");
    assert.equal(outcome({ mentionRequired: false }, { ...dm, ...reaction, addressed: false }), "listened");
    assert.equal(outcome({ mentionRequired: false, listen: false }, reaction), "ignored");
  });

  test("only people who are allowed cause turns, the others are context", () => {
    const asked = { addressed: true };
    assert.equal(outcome({ allowUsers: ["u2"] }, asked), "listened");
    assert.equal(outcome({ allowUsers: ["u1"] }, asked), "turn");
    assert.equal(outcome({ allowRoles: ["helpers"] }, asked), "turn");
    assert.equal(outcome({ allowRoles: ["7"], allowUsers: ["u2"] }, asked), "turn");
    assert.equal(outcome({ allowRoles: ["admins"] }, asked), "listened");
  });

  test("a name that anybody can take gives no right", () => {
    assert.equal(outcome({ allowUsers: ["Ann"] }, { addressed: true }), "listened");
    assert.equal(outcome({ dmAllow: ["Ann"] }, dm), "ignored");
  });

  test("a DM of somebody who is not on the list is not even written down", () => {
    assert.equal(outcome({ dmAllow: [] }, dm), "ignored");
    assert.equal(outcome({ dmAllow: ["u1"] }, dm), "turn");
  });

  test("other bots are not heard unless they are allowed", () => {
    const bot = { addressed: true, author: { id: "b", name: "Bot", isBot: true } };
    assert.equal(outcome({}, bot), "ignored");
    assert.equal(outcome({ allowBots: true }, bot), "turn");
  });

  test("a thread begins with its root, whoever said it", () => {
    const author = { id: "b", name: "Alerts", isBot: true };
    const root = { ...thread, author, id: thread.channel.name, isBackground: true };
    assert.equal(outcome({}, root), "listened");
    assert.equal(outcome({}, { ...root, id: "199" }), "ignored");
    assert.equal(outcome({}, { ...root, isBackground: false }), "ignored");
  });
  test("what was said before the bot came is context, whoever it names", () => {
    assert.equal(outcome({ listen: false }, { addressed: true, isBackground: true }), "listened");
    assert.equal(outcome({ dmAllow: [] }, { ...dm, isBackground: true }), "ignored");
  });
});

describe("limits of asking", () => {
  test("a person may ask so often a minute, and is told once", () => {
    let now = 0;
    const limits = new TurnRateLimit(() => now);
    assert.deepEqual(
      Array.from({ length: 5 }, () => limits.ask("ann", 2)),
      ["within", "within", "first_over", "over", "over"],
    );
    assert.equal(limits.ask("ben", 2), "within");
    now = 61_000;
    assert.deepEqual(
      [limits.ask("ann", 2), limits.ask("ann", 2), limits.ask("ann", 2)],
      ["within", "within", "first_over"],
    );
  });

  test("bots that talk with one another are stopped, until a person speaks", () => {
    const limits = new TurnRateLimit(() => 0);
    const turns = (): number =>
      Array.from({ length: 20 }, () => limits.heard("c", true, true)).filter(Boolean).length;
    const first = turns();
    assert.ok(first > 0 && first < 10);
    assert.equal(turns(), 0);
    limits.heard("c", false, true);
    assert.equal(turns(), first);
  });
});

describe("commands in messages", () => {
  const parse = (text: string): unknown =>
    parseTextCommand(text, (name) => ["context", "stop"].includes(name));
  test("stand alone or behind a mention", () => {
    assert.deepEqual(parse("/stop"), { name: "stop", argument: "" });
    assert.deepEqual(parse("@weir /context list"), { name: "context", argument: "list" });
    assert.deepEqual(parse("@weir, /Context detail x "), { name: "context", argument: "detail x" });
  });
  test("are looked for in no time", () => {
    const ms = cpuMs(() => {
      for (const sign of [",", ":", " ", "\t", "@"]) assert.equal(parse(`@a${sign.repeat(40_000)}b`), null);
    });
    assert.ok(ms < 500, `${ms} ms`);
  });
  test("are not to be found in what is none", () => {
    for (const text of ["/usr/bin", "please /stop", "/stop\nnow", "stop", "/unknown", "@a @b /stop"])
      assert.equal(parse(text), null, text);
  });
});
