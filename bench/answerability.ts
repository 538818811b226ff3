import { CONNECTION_VARIABLE, startTestServer } from "../test/support/test-server.ts";
import { type Access, type AskedChannel, askedContext } from "./answerability/asking.ts";
import { type Evidence, type Part, PARTS, RequestParts } from "./answerability/evidence.ts";
import { replay, type Summariser, type Talk } from "./answerability/replayed.ts";
import { type Bench, type Figure, type Row, sum } from "./support/figure.ts";
import {
  readFacts,
  readMessages,
  readQuestions,
  type RecordedFact,
  type RecordedMessage,
} from "./support/recordings.ts";

const RECORDING = "recall-locomo";
const WINDOWS = [8192, 16_384, 32_768] as const;
const CHECKED = 16_384;
/** Holds every conversation. */
const WHOLE = 1_000_000;
/** A trial asks each tenth question. */
const TRIAL = 10;
const AGES = 4;
const NAMES = { perfect: "perfect summariser", "stand-in": "stand-in" } as const;
/** The room of the long case. */
const TOGETHER = "together";
/**
 * Each conversation is replayed so often, each time a further part of a stretch behind: how much is found depends on how full a channel
 * is when it is asked.
 */
const PLACES = 3;
/** Of a window: the raw text between two landings. */
const STRETCH_SHARE = 0.18;
/** About what a line of it takes with its head: the places need not be exact thirds. */
const FILLER_TOKENS = 32;
const FILLER =
  "The door of the hall stood open, then it was closed, and for the whole of a quiet morning nobody came by.";

/** A question with an answer, and the messages that hold it. */
interface Question {
  readonly conversation: string;
  readonly question: string;
  readonly evidence: readonly (Evidence & { readonly age: number })[];
}

/** One way to answer. */
interface Way extends Access {
  readonly name: string;
  readonly bars?: { readonly mean: number; readonly all?: number };
}

/** The share of a question's gold evidence that stands in its request. */
export const answerability: Figure = {
  name: "answerability",
  about: `evidence of ${RECORDING} that stands in the request when it is asked for; with --quick each ${TRIAL}th question`,
  needsRecordings: true,
  async run(bench: Bench): Promise<Row[]> {
    await using server = await startTestServer();
    process.env[CONNECTION_VARIABLE] = JSON.stringify(server.connection);
    const folder = bench.recordings ?? "";
    const messages = readMessages(folder, RECORDING);
    const facts = readFacts(folder, RECORDING);
    const read = questionsOf(folder, messages, facts);
    const questions = bench.isQuick ? read.filter((_, index) => index % TRIAL === 0) : read;
    const apart = [...Map.groupBy(messages, (one) => one.conversation_id)].map(([room, of]) => ({
      room,
      messages: of,
    }));
    const together = [
      { room: TOGETHER, messages: messages.toSorted((a, b) => (a.ts < b.ts ? -1 : Number(a.ts > b.ts))) },
    ];
    const measuring = { bench, facts, questions };
    const rows: Row[] = [];
    const windows = bench.isCheck || bench.isQuick ? [CHECKED] : WINDOWS;
    rows.push(
      ...(await measure(measuring, apart, "none", WHOLE, [
        plain("full context", WHOLE),
        ...windows.flatMap(unsummarised),
      ])),
    );
    const alone = {
      ...plain(`${inK(CHECKED)}, summaries alone, perfect summariser`, CHECKED),
      bars: { mean: 0.6 },
    };
    rows.push(...(await measure(measuring, apart, "perfect", CHECKED, [alone])));
    for (const window of windows) {
      for (const summariser of ["perfect", "stand-in"] as const)
        rows.push(...(await measure(measuring, apart, summariser, window, [all(window, NAMES[summariser])])));
    }
    const long = { ...all(CHECKED, "one channel"), bars: { mean: 0.93, all: 0.88 } };
    rows.push(...(await measure(measuring, together, "perfect", CHECKED, [long])));
    return rows;
  },
};

function plain(name: string, window: number): Way {
  return { name, recall: "off", window };
}

function unsummarised(window: number): Way[] {
  return [
    plain(`${inK(window)}, last N`, window),
    { name: `${inK(window)}, search alone`, recall: "messages", window },
  ];
}

function all(window: number, summariser: string): Way {
  const bars = window < CHECKED ? { mean: 0.92 } : { mean: 0.95, all: 0.9 };
  return { name: `${inK(window)}, all, ${summariser}`, recall: "all", window, bars };
}

function inK(window: number): string {
  return `${window / 1024}k`;
}

interface Measuring {
  readonly bench: Bench;
  readonly facts: readonly RecordedFact[];
  readonly questions: readonly Question[];
}

/** Replays the conversations once, and asks all questions in each way. A channel is kept as the last way recalls. */
async function measure(
  { bench, facts, questions }: Measuring,
  talks: readonly Talk[],
  summariser: Summariser,
  window: number,
  ways: readonly Way[],
): Promise<Row[]> {
  const startedAt = performance.now();
  const places = Array.from({ length: summariser === "none" ? 1 : PLACES }, (_, place) => place);
  const channels = places.flatMap((place) => talks.map((talk) => behind(talk, place, window)));
  const recall = ways.at(-1)?.recall ?? "off";
  await using replayed = await replay(channels, facts, { summariser, window, recall });
  const { leaf, merge } = replayed.jobs;
  const seconds = (): string => `${Math.round((performance.now() - startedAt) / 1000)} s`;
  const what = `${channels.length} channels, ${summariser}, ${inK(window)}`;
  bench.progress(`${what}: replayed in ${seconds()}, ${leaf} summaries, ${merge} merges`);
  const rows: Row[] = [];
  for (const way of ways) {
    const found: Found[] = [];
    for (const place of places) {
      for (const question of questions) {
        const channel =
          replayed.channels.get(roomOf(question.conversation, place)) ??
          replayed.channels.get(roomOf(TOGETHER, place));
        if (channel !== undefined) found.push(await ask(channel, question, way));
      }
    }
    rows.push(...rowsOf(way, found, bench.isQuick));
    bench.progress(`${way.name}: asked after ${seconds()}`);
  }
  if (summariser !== "none")
    rows.push({
      what: `${inK(window)}, ${summariser}, ${talks.length} channels: merges`,
      value: merge / places.length,
      unit: "",
    });
  return rows;
}

function roomOf(room: string, place: number): string {
  return `${room}, ${place}`;
}

/** The same conversation behind so much of something else that it ends at another place between two landings. */
function behind({ room, messages }: Talk, place: number, window: number): Talk {
  const [first] = messages;
  const count = Math.round(((place / PLACES) * STRETCH_SHARE * window) / FILLER_TOKENS);
  if (first === undefined || count === 0) return { room: roomOf(room, place), messages };
  const filler = Array.from({ length: count }, (_, index) => ({
    ...first,
    seq: -1 - index,
    ts: new Date(Date.parse(first.ts) - (count - index) * 60_000).toISOString(),
    text: FILLER,
  }));
  return { room: roomOf(room, place), messages: [...filler, ...messages] };
}

/** What one request holds. */
interface Found {
  readonly pieces: readonly { readonly age: number; readonly in: readonly Part[] }[];
  readonly tokens: number;
  readonly characters: number;
}

async function ask(channel: AskedChannel, { question, evidence }: Question, way: Way): Promise<Found> {
  const parts = new RequestParts(await askedContext(channel, question, way));
  return {
    pieces: evidence.map((one) => ({ age: one.age, in: PARTS.filter((part) => parts.holds(one, part)) })),
    tokens: parts.tokens,
    characters: parts.characters,
  };
}

function rowsOf({ name, bars }: Way, found: readonly Found[], isQuick: boolean): Row[] {
  const shares = found.map(({ pieces }) => share(pieces));
  const row = (what: string, value: number, unit = "", least?: number): Row => {
    // Each tenth question alone proves no bar.
    return {
      what: `${name}: ${what}`,
      value,
      unit,
      ...(least !== undefined && !isQuick && { bar: { atLeast: least } }),
    };
  };
  const pieces = found.flatMap((one) => one.pieces);
  const mean = (numbers: readonly number[]): number => sum(numbers) / numbers.length;
  return [
    row("evidence", mean(shares), "", bars?.mean),
    row("questions with all of it", mean(shares.map((one) => Number(one === 1))), "", bars?.all),
    ...PARTS.map((part) => row(`of it ${part}`, mean(pieces.map((one) => Number(one.in.includes(part)))))),
    ...Array.from({ length: AGES }, (_, age) =>
      row(`of its ${age + 1}. quarter by age, oldest first`, share(pieces.filter((one) => one.age === age))),
    ),
    row("request", mean(found.map(({ tokens }) => tokens)), "tokens"),
    row("request", mean(found.map(({ characters }) => characters)), "chars"),
  ];
}

function share(pieces: Found["pieces"]): number {
  return pieces.filter((one) => one.in.length > 0).length / pieces.length;
}

/** Questions with evidence; adversarial ones ask for what was never said. */
function questionsOf(
  folder: string,
  messages: readonly RecordedMessage[],
  facts: readonly RecordedFact[],
): Question[] {
  const key = (conversation: string, seq: number): string => `${conversation} ${seq}`;
  const byConversation = Map.groupBy(messages, (one) => one.conversation_id);
  const said = new Map<string, Question["evidence"][number]>();
  for (const [conversation, of] of byConversation) {
    for (const [index, { seq, text }] of of.entries())
      said.set(key(conversation, seq), { text, facts: [], age: Math.floor((index * AGES) / of.length) });
  }
  for (const { conversation_id: conversation, evidence, fact } of facts) {
    for (const seq of evidence) {
      const one = said.get(key(conversation, seq));
      if (one !== undefined) said.set(key(conversation, seq), { ...one, facts: [...one.facts, fact] });
    }
  }
  return readQuestions(folder, RECORDING).flatMap(
    ({ conversation_id: conversation, question, evidence, category }) => {
      const found = evidence.flatMap((seq) => said.get(key(conversation, seq)) ?? []);
      return category === "adversarial" || found.length === 0
        ? []
        : [{ conversation, question, evidence: found }];
    },
  );
}
