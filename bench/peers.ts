import { billRows, slowRows } from "./peers/conversation.ts";
import { killedRows } from "./peers/killed.ts";
import { openScene } from "./peers/scene.ts";
import { ownTimeRows, rateRows } from "./peers/speed.ts";
import type { Figure } from "./support/figure.ts";

/** Weir beside libraries that hold a conversation, and beside a bare turn: docs/compared.md. */
export const peers: Figure = {
  name: "peers",
  about: "own time, turns a second and kill -9 of Weir, LangGraph, Mastra and a bare turn",
  async run(bench) {
    await using scene = await openScene(bench);
    return [
      ...(await ownTimeRows(bench, scene)),
      ...(await rateRows(bench, scene)),
      ...(await killedRows(bench, scene)),
    ];
  },
};

/** The same with long conversations. */
export const peersTokens: Figure = {
  name: "peers-tokens",
  about: "tokens of 200 long turns of Weir, LangGraph and Mastra in a 32k window, under three caches",
  async run(bench) {
    await using scene = await openScene(bench);
    const rows = await billRows(bench, scene);
    return rows;
  },
};

export const peersSummaries: Figure = {
  name: "peers-summaries",
  about: "turns held up and messages lost beside a 20 s summariser, of Weir, LangGraph and Mastra",
  async run(bench) {
    await using scene = await openScene(bench);
    const rows = await slowRows(bench, scene);
    return rows;
  },
};
