import assert from "node:assert/strict";
import { defaultAgent } from "../context/agent.ts";
import type { Conversation } from "../context/conversation.ts";
import type { CompactionConfig } from "../../src/config/config.ts";
import type { Entry } from "../../src/core/entry.ts";
import type { PastTurn } from "../../src/store/turns/past.ts";
import { type ReplayedTurn, Simulation, type SimulationParts } from "../../src/tune/simulation.ts";
import { type Agent, budgetOf } from "../../src/turn/agent.ts";

const SCENE = { platform: "test", channel: "room", names: ["test:room"], fileNames: ["test-room"] };

export interface Tried {
  /** Tokens. */
  readonly window?: number;
  readonly rules?: Partial<CompactionConfig>;
  /** Estimated tokens of one more tool, about. */
  readonly toolTokens?: number;
}

/** The default agent with other settings. */
export function agentWith({ window = 8192, rules = {}, toolTokens = 0 }: Tried): Agent {
  const agent = defaultAgent();
  const [first] = agent.tools;
  assert.ok(first !== undefined);
  const spec = { ...first.spec, name: "stones", description: "stone ".repeat(toolTokens) };
  const compaction = { ...agent.config.compaction, ...rules };
  return {
    ...agent,
    tools: toolTokens === 0 ? agent.tools : [...agent.tools, { ...first, spec }],
    config: {
      ...agent.config,
      contextWindow: window,
      maxOutputTokens: 512,
      generationReserve: 512,
      compaction,
    },
  };
}

/** A simulation of a channel of that agent; nothing is known of its summaries. */
export function simulationOf(tried: Tried, parts: Partial<SimulationParts> = {}): Simulation {
  const agent = agentWith(tried);
  return new Simulation({
    agent,
    budget: budgetOf(agent, "m"),
    scene: SCENE,
    from: 1,
    lengths: [],
    summariserMs: 60_000,
    resets: [],
    ...parts,
  });
}

/** The log of a conversation: all of its entries, and the turns that have ended. */
export interface Spoken {
  readonly entries: readonly Entry[];
  readonly turns: readonly ReplayedTurn[];
}

export function spokenBy({ history, turn: running, seen }: Conversation): Spoken {
  const ids = [...new Set(seen.map(({ turn }) => turn.id))].filter((id) => id !== running?.id);
  const turns = ids.map((id): ReplayedTurn => {
    const turn = seen.find((one) => one.turn.id === id)?.turn;
    assert.ok(turn !== undefined);
    const own = history.entries.filter(
      (entry) =>
        ("turnId" in entry && entry.turnId === id) || (entry.kind === "notice" && entry.after === turn.toSeq),
    );
    const state: PastTurn["state"] = own.at(-1)?.kind === "assistant" ? "answered" : "skipped";
    return { turn: { ...turn, state, lastSeq: own.at(-1)?.seq ?? null }, recalled: [], remembered: [] };
  });
  return { entries: history.entries, turns };
}

/** Plays all of it. @param look called behind each entry */
export function play(
  simulation: Simulation,
  { entries, turns }: Spoken,
  look: () => void = () => undefined,
): void {
  simulation.expect(turns);
  for (const entry of entries) {
    simulation.take(entry);
    look();
  }
  simulation.end();
  look();
}
