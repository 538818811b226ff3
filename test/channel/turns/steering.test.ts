import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { hasBegunWork, type Steerable, steeredTo } from "../../../src/channel/turns/steering.ts";
import type { History, TurnRange } from "../../../src/core/history.ts";
import { agentId } from "../../../src/core/ids.ts";
import { budgetOf } from "../../context/agent.ts";
import { Conversation } from "../../context/conversation.ts";

const BY: Steerable = { name: "Mira", answerer: (agent) => agent, budget: budgetOf(100_000, 4000) };
const [ANN, BEN] = [0, 1];
type Said = readonly [author: number, text: string, addressed?: boolean];

/** Ann has asked, the turn has called, and then these have spoken, from seq 4 on. */
function interrupted(...said: readonly Said[]): { readonly history: History; readonly turn: TurnRange } {
  const talk = new Conversation();
  talk.say("find it", { addressed: true, author: ANN });
  talk.begin();
  talk.call(["{}"], "found");
  for (const [author, text, addressed = true] of said) talk.say(text, { author, addressed });
  const { history, turn } = talk;
  assert.ok(turn !== null && hasBegunWork(history, turn));
  return { history, turn };
}

function takenTo(said: readonly Said[], by: Steerable = BY): number | null {
  const { history, turn } = interrupted(...said);
  return steeredTo(history, turn, by);
}

describe("what a running turn takes in", () => {
  test("is what the same person says, and what was only said between", () => {
    assert.equal(takenTo([]), null);
    assert.equal(takenTo([[BEN, "hm", false]]), null);
    assert.equal(
      takenTo([
        [ANN, "the red one"],
        [BEN, "hm", false],
        [ANN, "please"],
      ]),
      6,
    );
  });

  test("is what somebody else says with the agent's name as a word, in any script and case", () => {
    assert.equal(takenTo([[BEN, "no, MIRA, the blue one"]]), 4);
    assert.equal(takenTo([[BEN, "admirable"]]), null);
    assert.equal(takenTo([[BEN, "みらさん、赤い方"]], { ...BY, name: "みら" }), 4);
    assert.equal(takenTo([[BEN, "the blue one"]], { ...BY, name: " " }), null);
  });

  test("ends before what another person or another agent has to be answered", () => {
    assert.equal(
      takenTo([
        [ANN, "the red one"],
        [BEN, "and lunch?"],
        [ANN, "please"],
      ]),
      4,
    );
    const { history, turn } = interrupted([ANN, "the red one"], [ANN, "please"]);
    const entries = history.entries.map((entry) =>
      entry.kind === "user" && entry.seq === 5
        ? { ...entry, agent: agentId("second"), deleted: true }
        : entry,
    );
    assert.equal(steeredTo({ ...history, entries }, turn, BY), 4);
  });

  test("leaves room for the work", () => {
    assert.equal(
      takenTo([
        [ANN, "short"],
        [ANN, "word ".repeat(60_000)],
        [ANN, "short"],
      ]),
      4,
    );
  });
});
