import { countTokens } from "gpt-tokenizer/encoding/o200k_base";
import type { EntryReference } from "../src/core/entry.ts";
import { agentId, type ChannelId, type Seq } from "../src/core/ids.ts";
import { Recall } from "../src/memory/recall.ts";
import { worthShowing } from "../src/memory/recall-worth.ts";
import { chooseTerms, orQuery } from "../src/memory/terms.ts";
import type { Queryable } from "../src/store/database/queryable.ts";
import type { Store } from "../src/store/store.ts";
import { rankDocuments } from "../src/text/terms.ts";
import { sourcesOf } from "../test/context/agent.ts";
import { Conversation } from "../test/context/conversation.ts";
import { byWords } from "../test/support/search-words.ts";
import { contentQuestion, pieceOf } from "./support/asked-passages.ts";
import { startBenchDaemon } from "./support/daemon.ts";
import { type Bench, type Figure, median, quantile, type Row, sum } from "./support/figure.ts";
import { startBenchModel } from "./support/model.ts";
import {
  readMessages,
  type RecordedMessage,
  type RecordedQuestion,
  readQuestions,
} from "./support/recordings.ts";

const RECORDING = "recall-locomo";
const JAPANESE = "multilingual-ja-realpersonachat";
const AT = [5, 10, 20] as const;
/** One question per this many messages of the Japanese recording. */
const EVERY = 6;
/** Room for the recalled lines of a turn that asks nothing, in tokens of o200k. */
const SHOWN_TOKENS = 650;

/** A recorded conversation in the log: its channel, our seq of each recorded one, and the messages. */
interface Loaded {
  readonly channel: ChannelId;
  readonly seqs: Map<number, Seq>;
  readonly messages: RecordedMessage[];
}

interface Asked {
  readonly question: string;
  readonly category: string;
  readonly conversation: Loaded;
  readonly wanted: readonly Seq[];
}

/** Finds the best lines for a question, best first. */
type Way = (asked: Asked) => Promise<Seq[]>;

/** The share of the evidence that recall finds, compared with plain ways, and that a turn shows. */
export const recallQuality: Figure = {
  name: "recall-quality",
  about: `evidence that recall finds in ${RECORDING} (questions that have an answer), and Japanese passages`,
  needsRecordings: true,
  async run(bench: Bench): Promise<Row[]> {
    const folder = bench.recordings ?? "";
    await using model = await startBenchModel();
    await using weir = await startBenchDaemon({
      modelUrl: model.url,
      agents: [{ id: "main", model: "reply-0-8" }],
    });
    const { store } = weir.daemon;
    const loaded = await load(store, readMessages(folder, RECORDING));
    const questions = inSplit(readQuestions(folder, RECORDING), loaded, bench.split);
    await weir.database.script("analyze entry_search");
    const recall = new Recall({ search: store.search, now: Date.now });
    const rows: Row[] = [];
    const plain = plainWays(weir.database, store, await store.search.frequencies());
    for (const [name, way] of plain) {
      const { found } = await score(questions, way);
      for (const limit of AT) rows.push({ what: `${name}: R@${limit}`, value: found(limit), unit: "" });
      bench.progress(name);
    }
    await score(questions.slice(0, 50), byRecall(recall));
    const { found, ms } = await score(questions, byRecall(recall));
    const isWhole = bench.split === null;
    const bars = isWhole ? { 5: 0.66, 10: 0.75, 20: 0.81 } : null;
    for (const limit of AT) {
      const bar = bars === null ? {} : { bar: { atLeast: bars[limit] } };
      rows.push({ what: `recall: R@${limit}`, value: found(limit), unit: "", ...bar });
    }
    for (const category of new Set(questions.map((one) => one.category))) {
      const bar = isWhole && category === "single-hop" ? { bar: { atLeast: 0.89 } } : {};
      rows.push({ what: `recall, ${category}: R@10`, value: found(10, category), unit: "", ...bar });
    }
    rows.push({ what: "recall: p50", value: median(ms), unit: "ms" });
    rows.push({ what: "recall: p99", value: quantile(ms, 0.99), unit: "ms" });
    bench.progress("recall");
    for (const neighbours of [0, 1]) {
      const { share, tokens } = await shown(store, recall, questions, neighbours);
      const what = neighbours === 0 ? "shown of the evidence" : "the same with one line on each side";
      const bar = isWhole && neighbours === 0 ? { bar: { atLeast: 0.78 } } : {};
      rows.push({ what, value: share, unit: "", ...bar });
      rows.push({
        what: "most tokens of that",
        value: Math.max(...tokens),
        unit: "",
        ...(neighbours === 0 && { bar: { atMost: SHOWN_TOKENS } }),
      });
      rows.push({ what: "tokens of that, p50", value: median(tokens), unit: "" });
    }
    bench.progress("shown");
    rows.push(...(await foreign(recall, questions, [...loaded.values()], isWhole)));
    return [...rows, ...(await japanese(store, recall, folder, bench))];
  },
};

/** Pieces of 12 characters, and questions of content words, at regular intervals of the Japanese recording. */
async function japanese(store: Store, recall: Recall, folder: string, bench: Bench): Promise<Row[]> {
  const loaded = await load(store, readMessages(folder, JAPANESE), "all");
  await store.search.forgetErased();
  const [conversation] = loaded.values();
  if (conversation === undefined) return [];
  const rows: Row[] = [];
  for (const [name, ask] of [
    ["Japanese pieces of 12 characters", pieceOf],
    ["Japanese questions of content words", contentQuestion],
  ] as const) {
    const asked = conversation.messages.flatMap(({ seq, text }, index): Asked[] => {
      const question = index % EVERY === 0 ? ask(text) : null;
      const wanted = conversation.seqs.get(seq);
      return question === null || wanted === undefined
        ? []
        : [{ question, category: name, conversation, wanted: [wanted] }];
    });
    const { found } = await score(asked, byRecall(recall));
    const documents = conversation.messages.map(({ text }) => text);
    const plain: Way = async ({ question }) =>
      rankDocuments(question, documents)
        .slice(0, 20)
        .map(({ index }) => conversation.seqs.get(conversation.messages[index]?.seq ?? -1) ?? 0);
    const few = bench.isQuick ? asked.slice(0, 50) : asked;
    const { found: foundPlain } = await score(few, plain);
    rows.push({ what: `${name}, ${asked.length}: R@10`, value: found(10), unit: "", bar: { atLeast: 0.95 } });
    rows.push({ what: `${name}, BM25 of each message: R@10`, value: foundPlain(10), unit: "" });
    bench.progress(name);
  }
  return rows;
}

/** @param into one channel of this name for all; default: one per conversation */
async function load(
  store: Store,
  messages: readonly RecordedMessage[],
  into?: string,
): Promise<Map<string, Loaded>> {
  const loaded = new Map<string, Loaded>();
  for (const [index, message] of messages.entries()) {
    const { author, ts, text } = message;
    const name = into ?? message.conversation_id;
    const channel = { platform: "main", name };
    const description = { address: channel, kind: "channel" as const, workspace: "", agent: agentId("main") };
    const entry: Loaded = loaded.get(name) ?? {
      channel: await store.channels.open(description),
      seqs: new Map(),
      messages: [],
    };
    loaded.set(name, entry);
    const seq = into === undefined ? message.seq : index;
    const appended = await store.log.appendMessage(entry.channel, {
      addressed: false,
      id: String(seq),
      author: { id: author, name: author, isBot: false },
      text,
      at: new Date(ts),
    });
    entry.seqs.set(seq, appended.seq);
    entry.messages.push({ ...message, seq });
  }
  for (const { channel } of loaded.values()) await store.search.indexAll([channel], 20_000);
  return loaded;
}

/**
 * Questions with an answer: the adversarial ones ask for what was never said. Every second conversation is reported,
 * the others are used for tuning.
 */
function inSplit(
  questions: readonly RecordedQuestion[],
  loaded: ReadonlyMap<string, Loaded>,
  split: Bench["split"],
): Asked[] {
  const names = [...loaded.keys()];
  return questions.flatMap(({ conversation_id: name, question, evidence, category = "" }): Asked[] => {
    const conversation = loaded.get(name);
    if (conversation === undefined || evidence.length === 0 || category === "adversarial") return [];
    if (split !== null && (names.indexOf(name) % 2 === 0) !== (split === "tune")) return [];
    const wanted = evidence.flatMap((seq) => conversation.seqs.get(seq) ?? []);
    return [{ question, category, conversation, wanted }];
  });
}

const TO = Number.MAX_SAFE_INTEGER;

function byRecall(recall: Recall): Way {
  return async ({ question, conversation: { channel, seqs } }) => {
    const found = await recall.find({ channel, text: question, to: seqs.size, limit: 20 });
    return found.map(({ seq }) => seq);
  };
}

/** The obvious simple ways. */
function plainWays(db: Queryable, store: Store, frequencies: ReadonlyMap<string, number>): [string, Way][] {
  const byRank = async (asked: Asked, pick: (lexemes: readonly string[]) => string): Promise<Seq[]> => {
    const lexemes = await store.search.lexemes(asked.question);
    if (lexemes.length === 0) return [];
    const query = { pick: pick(lexemes), terms: orQuery(lexemes), to: TO, limit: 20 };
    return byWords(db, asked.conversation.channel, query);
  };
  return [
    [
      "all terms (AND)",
      async (asked) => byRank(asked, (lexemes) => lexemes.map((one) => orQuery([one])).join(" & ")),
    ],
    ["any term (OR), ts_rank", async (asked) => byRank(asked, orQuery)],
    [
      "the rarest terms, ts_rank",
      async (asked) =>
        byRank(asked, (lexemes) =>
          orQuery(chooseTerms(lexemes, frequencies, asked.conversation.seqs.size, 50).pick),
        ),
    ],
    [
      "BM25 over windows of three",
      async ({ question, conversation: { messages, seqs } }) => {
        const said = messages.map(({ author, text }) => `${author} ${text}`);
        const windows = said.map((_, index) => said.slice(Math.max(0, index - 1), index + 2).join(" "));
        return rankDocuments(question, windows)
          .slice(0, 20)
          .flatMap(({ index }) => seqs.get(messages[index]?.seq ?? -1) ?? []);
      },
    ],
  ];
}

interface Score {
  /** The mean share of the evidence in the first results, over all questions or one category. */
  readonly found: (limit: number, category?: string) => number;
  readonly ms: readonly number[];
}

async function score(questions: readonly Asked[], way: Way): Promise<Score> {
  const results: { readonly asked: Asked; readonly seqs: readonly Seq[] }[] = [];
  const ms: number[] = [];
  for (const asked of questions) {
    const startedAt = performance.now();
    const seqs = await way(asked);
    ms.push(performance.now() - startedAt);
    results.push({ asked, seqs });
  }
  const found = (limit: number, category?: string): number => {
    const counted = results.filter(({ asked }) => category === undefined || asked.category === category);
    return (
      sum(
        counted.map(({ asked: { wanted }, seqs }) => {
          const top = new Set(seqs.slice(0, limit));
          return wanted.filter((seq) => top.has(seq)).length / wanted.length;
        }),
      ) / counted.length
    );
  };
  return { found, ms };
}

/** The share of the evidence in the dynamic part of a turn that asks nothing, which has the least room. */
async function shown(
  store: Store,
  recall: Recall,
  questions: readonly Asked[],
  neighbours: number,
): Promise<{ readonly share: number; readonly tokens: readonly number[] }> {
  const talk = new Conversation();
  talk.say("hello", { addressed: true });
  talk.begin();
  const seen = talk.seen.at(-1);
  if (seen === undefined) throw new Error("there is no turn");
  let share = 0;
  const tokens: number[] = [];
  for (const { question, conversation, wanted } of questions) {
    const { channel, seqs } = conversation;
    const hits = await recall.find({
      ...worthShowing(question),
      channel,
      text: question,
      to: seqs.size,
      limit: 20,
    });
    const recalled = neighbours === 0 ? hits : await withNeighbours(store, channel, hits, neighbours);
    const part = sourcesOf(seen, recalled).dynamic.make(null);
    const section = part.sections.find(({ key }) => key === "recalled");
    tokens.push(countTokens(section?.text ?? ""));
    const lines = new Set((section?.text ?? "").split("\n"));
    const said = new Map(recalled.map((one) => [one.seq, headOf(one)]));
    const isShown = (seq: Seq): boolean => {
      const head = said.get(seq);
      return head !== undefined && [...lines].some((line) => line.includes(head));
    };
    share += wanted.filter(isShown).length / wanted.length;
  }
  return { share: share / questions.length, tokens };
}

/** Questions that are shown lines unasked: put to each other conversation, where nothing answers them, and to their own. */
async function foreign(
  recall: Recall,
  questions: readonly Asked[],
  conversations: readonly Loaded[],
  isWhole: boolean,
): Promise<Row[]> {
  const count = { own: 0, other: 0 };
  for (const { question, conversation } of questions)
    for (const one of conversations) {
      const asked = { ...worthShowing(question), channel: one.channel, text: question, limit: 1 };
      const found = await recall.find({ ...asked, to: one.seqs.size });
      if (found.length > 0) count[one === conversation ? "own" : "other"]++;
    }
  const value = count.other / (questions.length * (conversations.length - 1));
  const bar = isWhole ? { bar: { atMost: 0.4 } } : {};
  return [
    { what: "questions that are shown lines of another conversation", value, unit: "", ...bar },
    { what: "questions that are shown lines of their own", value: count.own / questions.length, unit: "" },
  ];
}

/** The beginning of a rendered line after its time. */
function headOf({ author, text }: EntryReference): string {
  return `${author}: ${(text ?? "").split("\n")[0]?.slice(0, 150)}`;
}

/** Each hit with its neighbours after it. */
async function withNeighbours(
  store: Store,
  channel: ChannelId,
  hits: readonly EntryReference[],
  neighbours: number,
): Promise<EntryReference[]> {
  const seqs = hits.flatMap(({ seq }) =>
    Array.from({ length: 2 * neighbours + 1 }, (_, index) => seq + index - neighbours),
  );
  return store.search.said(channel, [...new Set(seqs)]);
}
