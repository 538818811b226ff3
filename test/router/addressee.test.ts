// Whom of several agents a message means.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { agentId } from "../../src/core/ids.ts";
import type { Team } from "../../src/core/team.ts";
import { type Addressed, addresseeOf } from "../../src/router/addressee.ts";
import { cpuMs } from "../support/cpu-time.ts";

const team: Team = [
  { agent: null, name: "Weir", names: ["main", "Weir"], roles: [] },
  {
    agent: agentId("researcher"),
    name: "Researcher",
    names: ["researcher", "res", "Dr. Who"],
    roles: ["77001", "Scientists"],
  },
  { agent: agentId("res-two"), name: "Res-Two", names: ["res-two"], roles: [] },
  { agent: agentId("ann"), name: "Ann", names: ["ann", "Ünal"], roles: [] },
];

/** The id of whom a message means; "main": the channel's own; undefined: it names nobody. */
function meant(text: string, more: Omit<Addressed, "text"> = {}): string | undefined {
  const found = addresseeOf(team, { text, ...more });
  return found === undefined ? undefined : (found.member.agent ?? "main");
}

describe("a message means", () => {
  test("whom it names behind an @, wherever that stands, in whatever case", () => {
    assert.equal(meant("@researcher hello"), "researcher");
    assert.equal(meant("so, @RES: what is it?"), "researcher");
    assert.equal(meant("what is it, @res."), "researcher");
    assert.equal(meant("(@res)"), "researcher");
    assert.equal(meant("ask @dr. who about it"), "researcher");
    assert.equal(meant("@ÜNAL?"), "ann");
    assert.equal(meant("@weir what now"), "main");
    assert.equal(meant("@res"), "researcher");
    assert.equal(meant("@ｒｅｓ hello"), "researcher");
  });

  test("the longest name, and no part of a word", () => {
    assert.equal(meant("@res-two hello"), "res-two");
    assert.equal(meant("@res- hello"), "researcher");
    for (const text of [
      "@resort",
      "@res_b",
      "@res-three",
      "@res2",
      "me@researcher.org",
      "x.@res",
      "researcher: hi",
      "@ res",
    ])
      assert.equal(meant(text), undefined, text);
  });

  test("the first of those it names, however many", () => {
    assert.equal(meant("@ann and @res"), "ann");
    assert.equal(meant("@nobody @@res @ann"), "researcher");
    const ms = cpuMs(() => {
      assert.equal(meant("@re ".repeat(400_000)), undefined);
      assert.equal(meant(`${"@res-".repeat(3)}${"@".repeat(400_000)}`), "researcher");
    });
    assert.ok(ms < 2000, `${ms} ms`);
  });

  test("nobody by what stands in code", () => {
    assert.equal(meant("```\n@res run\n```"), undefined);
    assert.equal(meant("use `@res` to ask, @ann"), "ann");
    assert.equal(meant("```\n@res never closed"), undefined);
  });
});

describe("a message means, beside its words,", () => {
  test("a person, where the platform's own mention says so, whatever the person is called", () => {
    assert.equal(meant("@Ann are you there?", { mentions: ["Ann"] }), undefined);
    assert.equal(meant("@Ann, @res?", { mentions: ["Ann"] }), "researcher");
    assert.equal(meant("@Ann Researcher hello", { mentions: ["Ann Researcher"] }), undefined);
    assert.equal(meant("@Weir @res hello", { mentions: ["Weir"] }), "researcher");
    assert.equal(meant("@ann hello", { mentions: ["Anna"] }), "ann");
  });

  test("an agent, by its role", () => {
    assert.equal(meant("@Scientists hello", { mentionedRoles: ["77001"] }), "researcher");
    assert.equal(meant("@Scientists hello", { mentionedRoles: ["1", "scientists"] }), "researcher");
    assert.equal(meant("@Scientists hello", { mentionedRoles: ["1"] }), undefined);
    assert.equal(meant("@ann @Scientists", { mentionedRoles: ["77001"] }), "ann");
  });

  test("whom /ask names, behind a mention of the bot as well", () => {
    assert.equal(meant("/ask res what of @ann?"), "researcher");
    assert.equal(meant("@bot /ask @res, what?"), "researcher");
    assert.equal(meant("/ask res first\nsecond"), "researcher");
    for (const text of ["/ask nobody what?", "/ask res", "please /ask res what?", "/asking res what"])
      assert.equal(meant(text), undefined, text);
    assert.equal(addresseeOf(team, { text: "/ask res what?" })?.isAsk, true);
    assert.equal(addresseeOf(team, { text: "@res what?" })?.isAsk, false);
  });

  test("nobody where one agent answers alone", () => {
    assert.equal(addresseeOf([], { text: "@res hello" }), undefined);
  });
});
