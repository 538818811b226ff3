import { billRows, slowRows } from "./peers/conversation.ts";
import { killedRows } from "./peers/killed.ts";
import { openScene, type Scene } from "./peers/scene.ts";
import { ownTimeRows, rateRows } from "./peers/speed.ts";
import type { Bench, Figure, Row } from "./support/figure.ts";

/** Weir beside libraries that hold a conversation, and beside a bare turn: docs/compared.md. */
export const peers = figureOf(
  "peers",
  "own time, turns a second and kill -9 of Weir, LangGraph, Mastra and a bare turn",
  [ownTimeRows, rateRows, killedRows],
);

export const peersTokens = figureOf(
  "peers-tokens",
  "tokens of 200 long turns of Weir, LangGraph and Mastra in a 32k window, under three caches",
  [billRows],
);

export const peersSummaries = figureOf(
  "peers-summaries",
  "turns held up and messages lost beside a 20 s summariser, of Weir, LangGraph and Mastra",
  [slowRows],
);

/** @param parts each measures in the same scene, one after the other */
function figureOf(
  name: string,
  about: string,
  parts: readonly ((bench: Bench, scene: Scene) => Promise<Row[]>)[],
): Figure {
  return {
    name,
    about,
    async run(bench) {
      await using scene = await openScene(bench);
      const rows: Row[] = [];
      for (const measure of parts) rows.push(...(await measure(bench, scene)));
      return rows;
    },
  };
}
