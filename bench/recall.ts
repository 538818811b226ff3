/**
 * How much of the evidence recall finds, and how fast: `node bench/recall.ts --data FOLDER`.
 *
 * FOLDER has `NAME.messages.jsonl` ({conversation_id, seq, author, ts, text}) and `NAME.qa.jsonl` ({conversation_id,
 * question, evidence: [seq…]}); NAME is `recall-locomo` unless `--name` says otherwise. Real Postgres, no model. Side by side
 * in one run: how many candidates the rarest terms may pick before all terms rank them (Infinity: all terms pick).
 */
import { readFileSync } from "node:fs";
import { cpus } from "node:os";
import path from "node:path";
import { parseArgs } from "node:util";
import { pino } from "pino";
import { agentId, type ChannelId, type Seq } from "../src/core/ids.ts";
import { CANDIDATES, chooseTerms, orQuery } from "../src/memory/terms.ts";
import { Database } from "../src/store/pool.ts";
import { createStore, type Store } from "../src/store/store.ts";
import { startTestServer } from "../test/support/test-server.ts";

interface Message {
  readonly conversation_id: string;
  readonly seq: number;
  readonly author: string;
  readonly ts: string;
  readonly text: string;
}

interface Question {
  readonly conversation_id: string;
  readonly question: string;
  readonly evidence: readonly number[];
}

/** A recorded conversation in the log: its channel, and our seq of each recorded one. */
interface Loaded {
  readonly channel: ChannelId;
  readonly seqs: ReadonlyMap<number, Seq>;
}

const AT = [5, 10, 20] as const;

function readLines<Row>(file: string): Row[] {
  const lines = readFileSync(file, "utf8").trim().split("\n");
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a benchmark's own data files
  return lines.map((line) => JSON.parse(line) as Row);
}

async function load(store: Store, messages: readonly Message[]): Promise<Map<string, Loaded>> {
  const loaded = new Map<string, { channel: ChannelId; seqs: Map<number, Seq> }>();
  for (const { conversation_id: name, seq, author, ts, text } of messages) {
    const address = { platform: "bench", name };
    const description = { address, kind: "channel" as const, workspace: "", agent: agentId("main") };
    const entry = loaded.get(name) ?? {
      channel: await store.channels.open(description),
      seqs: new Map<number, Seq>(),
    };
    loaded.set(name, entry);
    const said = { id: author, name: author, isBot: false };
    const at = new Date(ts);
    const message = { type: "message" as const, channel: address, kind: "channel" as const, workspace: "" };
    const appended = await store.log.appendMessage(entry.channel, {
      ...message,
      id: String(seq),
      author: said,
      text,
      at,
      addressed: false,
    });
    entry.seqs.set(seq, appended.seq);
  }
  for (const { channel } of loaded.values()) while ((await store.search.index(channel, 500)) > 0);
  return loaded;
}

interface Score {
  readonly found: number[];
  readonly ms: number[];
}

async function score(
  store: Store,
  questions: readonly Question[],
  loaded: Map<string, Loaded>,
  candidates: number,
): Promise<Score> {
  const frequencies = await store.search.frequencies();
  const found = AT.map(() => 0);
  const ms: number[] = [];
  for (const { conversation_id: name, question, evidence } of questions) {
    const conversation = loaded.get(name);
    if (conversation === undefined) continue;
    const startedAt = performance.now();
    const lexemes = await store.search.lexemes(question);
    const terms = chooseTerms(lexemes, frequencies, conversation.seqs.size, candidates);
    const pick = orQuery(terms.pick);
    const query = { pick, terms: orQuery(terms.rank), to: Number.MAX_SAFE_INTEGER, limit: 20 };
    const hits = lexemes.length === 0 ? [] : await store.search.byWords(conversation.channel, query);
    ms.push(performance.now() - startedAt);
    const wanted = evidence.map((seq) => conversation.seqs.get(seq));
    for (const [index, limit] of AT.entries()) {
      const top = new Set<Seq | undefined>(hits.slice(0, limit).map(({ seq }) => seq));
      found[index] = (found[index] ?? 0) + wanted.filter((seq) => top.has(seq)).length / wanted.length;
    }
  }
  return { found: found.map((sum) => sum / ms.length), ms: ms.toSorted((a, b) => a - b) };
}

const { values } = parseArgs({
  options: { data: { type: "string" }, name: { type: "string", default: "recall-locomo" } },
});
if (values.data === undefined)
  throw new Error("--data FOLDER is missing: a folder with recall-locomo.messages.jsonl");
const messages = readLines<Message>(path.join(values.data, `${values.name}.messages.jsonl`));
const questions = readLines<Question>(path.join(values.data, `${values.name}.qa.jsonl`)).filter(
  ({ evidence }) => evidence.length > 0,
);
await using server = await startTestServer();
await using database = new Database(server.connection, pino({ level: "warn" }));
const store = createStore(database);
const loaded = await load(store, messages);
await database.script("analyze entry_search");
console.log(
  `${messages.length} messages, ${questions.length} questions with evidence; ${cpus()[0]?.model}, ${cpus().length} cores`,
);
console.log("candidates      R@5    R@10   R@20   p50 ms  p99 ms");
for (const candidates of [10, CANDIDATES, 200, 1000, Infinity]) {
  await score(store, questions.slice(0, 50), loaded, candidates);
  const { found, ms } = await score(store, questions, loaded, candidates);
  const shares = found.map((share) => share.toFixed(2).padEnd(5)).join("  ");
  const at = (share: number): string => (ms[Math.floor(ms.length * share)] ?? 0).toFixed(2).padStart(6);
  console.log(`${String(candidates).padEnd(14)}  ${shares}  ${at(0.5)}  ${at(0.99)}`);
}
