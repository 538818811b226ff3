import { armsOf } from "./peers/arms.ts";
import { billRows, slowRows } from "./peers/conversation.ts";
import { killedRows } from "./peers/killed.ts";
import { ownTimeRows, rateRows } from "./peers/speed.ts";
import { openScene } from "./peers/scene.ts";
import type { Bench, Figure, Row } from "./support/figure.ts";

const MEASURES = [ownTimeRows, rateRows, billRows, slowRows, killedRows] as const;

/** Weir beside libraries that hold a conversation, and beside a bare turn: docs/compared.md. */
export const peers: Figure = {
  name: "peers",
  about:
    "Weir beside LangGraph with summaries, Mastra's Observational Memory and a bare turn, in a 32k window",
  async run(bench: Bench): Promise<Row[]> {
    await using scene = await openScene(bench, (name) => armsOf(name, bench.isQuick));
    const rows: Row[] = [];
    for (const measure of MEASURES) rows.push(...(await measure(bench, scene)));
    return rows;
  },
};
