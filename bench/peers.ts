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
export const peersMemory: Figure = {
  name: "peers-memory",
  about: "tokens of a conversation of Weir, LangGraph and Mastra in a 32k window, and a slow summariser",
  async run(bench) {
    await using scene = await openScene(bench);
    return [...(await billRows(bench, scene)), ...(await slowRows(bench, scene))];
  },
};
