import { fullPrice } from "../../test/support/provider-caches.ts";
import { type Bench, type Row, sum } from "../support/figure.ts";
import type { BenchModel, ServedRequest } from "../support/model.ts";
import { BILLED_SUMMARY_MS, CACHES, CHARACTERS, slowSummaryMs } from "./arms.ts";
import type { Talk, Turn } from "./peer.ts";
import type { Peer, Scene } from "./scene.ts";
import { overWeir } from "./speed.ts";

/** Bytes in one of the server's tokens. */
const BYTES_A_TOKEN = 4;
/** A turn that takes longer has waited for a summary: its own model takes 200 ms at most. */
const BLOCKED_MS = 1000;
const ROOM = "room";

/** The tokens of one long conversation, by each cache, with those of the summaries. */
export async function billRows(bench: Bench, { model, peers }: Scene): Promise<Row[]> {
  const count = bench.isQuick ? 60 : 200;
  const talk = { rooms: [ROOM], count, paceMs: BILLED_SUMMARY_MS / 5, characters: CHARACTERS };
  const held = talkers(peers);
  bench.progress(`${count} turns under each of three caches`);
  await Promise.all(held.flatMap((peer) => CACHES.map(async (cache) => peer.talk({ arm: cache, ...talk }))));
  const served = await lastServed(model, BILLED_SUMMARY_MS);
  const rows = held.map((peer) => billOf(peer, served));
  const [weirs] = rows;
  return rows.flatMap((bill, index) => {
    const name = held[index]?.name ?? "";
    return [...bill].flatMap(([what, value]) => [
      { what: `${name}: ${what}`, value, unit: "tokens" },
      ...(what.startsWith("a prompt") || what.startsWith("at full price")
        ? overWeir(name, what, value, weirs?.get(what) ?? NaN)
        : []),
    ]);
  });
}

/** Under each cache, with the peer's own marks, or where it sends none with the provider's at the latest message. */
function billOf({ name }: Peer, all: readonly ServedRequest[]): Map<string, number> {
  const bill = new Map<string, number>();
  for (const cache of CACHES) {
    const served = all.filter((one) => one.model.endsWith(`+${cache}+${name}`));
    const replies = served.filter((one) => one.model.startsWith("reply"));
    const summaries = served.filter((one) => one.model.startsWith("summary"));
    const tokens = (of: readonly ServedRequest[]): number => sum(of.map((one) => one.bytes / BYTES_A_TOKEN));
    if (cache === "prefix") {
      bill.set("a prompt, mean", tokens(replies) / replies.length);
      bill.set("largest prompt", Math.max(...replies.map((one) => one.bytes / BYTES_A_TOKEN)));
      bill.set("the summariser's input", tokens(summaries));
    }
    const billed = served.flatMap((one) => (one.billed === null ? [] : [one.billed]));
    const at = billed.map(({ use, implicit }) => fullPrice(name === "weir" ? use : implicit));
    bill.set(`at full price, ${cache}`, sum(at));
  }
  return bill;
}

/** Turns that a slow summariser holds up, and messages that are forgotten without a summary. */
export async function slowRows(bench: Bench, { model, peers }: Scene): Promise<Row[]> {
  const summaryMs = slowSummaryMs(bench.isQuick);
  const talk = { rooms: [ROOM], count: 100, paceMs: summaryMs / 10, characters: CHARACTERS };
  const arms = talkers(peers).flatMap((peer) =>
    (peer.name === "langgraph" ? ["slow", "whole"] : ["slow"]).map((arm) => ({ peer, arm })),
  );
  bench.progress(
    `${talk.count} turns, one each ${talk.paceMs / 1000} s, a summariser of ${summaryMs / 1000} s`,
  );
  // A first turn opens connections, and compiles.
  for (const { peer, arm } of arms) await peer.talk({ arm, rooms: ["warm"], count: 1 });
  await model.served();
  const talked = await Promise.all(
    arms.map(async ({ peer, arm }) => peer.talk({ arm, ...talk } satisfies Partial<Talk>)),
  );
  const served = await lastServed(model, summaryMs);
  return arms.flatMap(({ peer: { name }, arm }, index) => {
    const way = arm === "whole" ? `${name}, summariser that reads all` : name;
    return slowRowsOf(
      way,
      summaryMs,
      talked[index]?.turns ?? [],
      served.filter((one) => one.model.endsWith(`+${name}+${arm}`)),
    );
  });
}

function slowRowsOf(
  way: string,
  summaryMs: number,
  turns: readonly Turn[],
  served: readonly ServedRequest[],
): Row[] {
  const replies = served.filter((one) => one.model.startsWith("reply"));
  const summaries = served.filter((one) => one.model.startsWith("summary"));
  const known = new Set([...summaries.flatMap(({ marks }) => marks), ...(replies.at(-1)?.marks ?? [])]);
  const times = turns.map(({ handedInAt, answeredAt }) => answeredAt - handedInAt);
  const row = (what: string, value: number, unit = ""): Row => ({ what: `${way}: ${what}`, value, unit });
  return [
    row("turns blocked by a slow summariser", times.filter((ms) => ms > BLOCKED_MS).length),
    row("… those that took over half of its time", times.filter((ms) => ms > summaryMs / 2).length),
    row("… the longest turn", Math.max(...times), "ms"),
    row("… summaries asked for", summaries.length),
    row("… turns without an answer", turns.filter(({ isAnswer }) => !isAnswer).length),
    row("… messages lost: in no summary's request and not in the last prompt", turns.length - known.size),
  ];
}

/** A bare turn has no memory. */
function talkers(peers: readonly Peer[]): Peer[] {
  return peers.filter(({ name }) => name !== "bare");
}

/** Also what is asked for until nobody talks any more. */
async function lastServed(model: BenchModel, summaryMs: number): Promise<ServedRequest[]> {
  const served = await model.served();
  await new Promise((resolve) => {
    setTimeout(resolve, summaryMs);
  });
  return [...served, ...(await model.served())];
}
