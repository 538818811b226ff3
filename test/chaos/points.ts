import type { Mood, ModelPlace } from "./chaos-model.ts";
import type { Place } from "./service-proxy.ts";

/** Where a process is killed, and what makes it come there. */
export interface Point {
  readonly name: string;
  readonly at:
    | { readonly kind: "gate"; readonly gate: string }
    | { readonly kind: "model"; readonly place: ModelPlace }
    | { readonly kind: "service"; readonly place: Place }
    /** Some time after its start, ms. */
    | { readonly kind: "time"; readonly from: number; readonly to: number };
  /** What people do meanwhile. */
  readonly traffic: "chat" | "flood" | "loopback";
  readonly mood?: Mood;
  readonly callsTools?: boolean;
  /** Every answer is longer than a message of the service. */
  readonly isLong?: boolean;
  /** The model refuses every turn: what is sent is a notice, of which no piece was shown before. */
  readonly failsTurns?: boolean;
  /** It comes by at its start only; the process before is killed at this point. */
  readonly after?: string;
}

function gate(name: string, traffic: Point["traffic"], more: Partial<Point> = {}): Point {
  return { name, at: { kind: "gate", gate: name }, traffic, ...more };
}

function model(place: ModelPlace, traffic: Point["traffic"], more: Partial<Point> = {}): Point {
  return { name: place, at: { kind: "model", place }, traffic, ...more };
}

function service(place: Place): Point {
  return { name: place, at: { kind: "service", place }, traffic: "loopback" };
}

const WELL = { mood: "well" } as const;

export const POINTS: readonly Point[] = [
  gate("append.insert", "chat"),
  gate("append.commit", "chat"),
  gate("load.take", "chat", { after: "random" }),
  gate("turn.begin", "chat"),
  gate("turn.again", "chat", { after: "turn.model" }),
  model("turn.model", "chat"),
  model("turn.stream", "chat"),
  gate("turn.tools", "chat", { callsTools: true }),
  model("turn.second", "chat", { callsTools: true }),
  gate("turn.omit", "flood", { mood: "stalled" }),
  gate("turn.settle", "chat"),
  gate("turn.settle_commit", "chat"),
  gate("send.open", "loopback"),
  service("send.before"),
  service("send.after"),
  gate("send.shown", "loopback"),
  service("edit.before"),
  service("edit.after"),
  gate("send.sent", "chat"),
  { ...service("send.before"), name: "notice.before", failsTurns: true },
  { ...service("send.after"), name: "notice.after", failsTurns: true },
  { ...service("part.first"), isLong: true },
  { ...service("part.between"), isLong: true },
  { ...service("part.second"), isLong: true },
  gate("job.begin", "flood"),
  model("job.model", "flood"),
  gate("job.take", "flood", { after: "job.model" }),
  { name: "job.again", at: { kind: "gate", gate: "job.take" }, traffic: "flood", mood: "bad" },
  model("job.memory", "flood", { mood: "saving" }),
  gate("job.save", "flood", WELL),
  model("job.part", "flood", WELL),
  gate("job.stage", "flood", WELL),
  gate("job.fail", "flood", { mood: "down" }),
  gate("commit.summary", "flood", WELL),
  gate("commit.cover", "flood", WELL),
  gate("commit.memory", "flood", { mood: "saving" }),
  gate("commit.end", "flood", WELL),
  gate("commit.commit", "flood", WELL),
  gate("merge.begin", "flood", WELL),
  model("merge.model", "flood", WELL),
  gate("merge.swap", "flood", WELL),
  gate("merge.insert", "flood", WELL),
  gate("merge.commit", "flood", WELL),
  { name: "start", at: { kind: "time", from: 150, to: 600 }, traffic: "chat" },
  { name: "random", at: { kind: "time", from: 500, to: 1500 }, traffic: "chat" },
  { name: "random.flood", at: { kind: "time", from: 500, to: 1500 }, traffic: "flood" },
  { name: "random.stalled", at: { kind: "time", from: 700, to: 1500 }, traffic: "flood", mood: "stalled" },
  { name: "random.bad", at: { kind: "time", from: 700, to: 1500 }, traffic: "flood", mood: "bad" },
];

export function pointNamed(name: string): Point {
  const found = POINTS.find((point) => point.name === name);
  if (found === undefined) throw new Error(`no point ${name}`);
  return found;
}
