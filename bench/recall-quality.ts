import type { ChannelId, Seq } from "../src/core/ids.ts";
import { agentId } from "../src/core/ids.ts";
import { CANDIDATES, chooseTerms, orQuery } from "../src/memory/terms.ts";
import type { Store } from "../src/store/store.ts";
import { startBenchDaemon } from "./support/daemon.ts";
import { type Bench, type Figure, median, quantile, type Row } from "./support/figure.ts";
import { startBenchModel } from "./support/model.ts";
import {
  readMessages,
  type RecordedMessage,
  type RecordedQuestion,
  readQuestions,
} from "./support/recordings.ts";

const RECORDING = "recall-locomo";
const AT = [5, 10, 20] as const;

/** A recorded conversation in the log: its channel, and our seq of each recorded one. */
interface Loaded {
  readonly channel: ChannelId;
  readonly seqs: Map<number, Seq>;
}

/** How much of the evidence recall finds, by how many candidates the rarest terms may pick before all terms rank them. */
export const recallQuality: Figure = {
  name: "recall-quality",
  about: `evidence that recall finds in ${RECORDING}, by the number of candidates`,
  needsRecordings: true,
  async run(bench: Bench): Promise<Row[]> {
    const folder = bench.recordings ?? "";
    const questions = readQuestions(folder, RECORDING).filter(({ evidence }) => evidence.length > 0);
    await using model = await startBenchModel();
    await using weir = await startBenchDaemon({
      modelUrl: model.url,
      agents: [{ id: "main", model: "reply-0-8" }],
    });
    const { store } = weir.daemon;
    const loaded = await load(store, readMessages(folder, RECORDING));
    await weir.database.script("analyze entry_search");
    const rows: Row[] = [];
    for (const candidates of [10, CANDIDATES, 1000]) {
      await score(store, questions.slice(0, 50), loaded, candidates);
      const { found, ms } = await score(store, questions, loaded, candidates);
      for (const [index, limit] of AT.entries())
        rows.push({
          what: `${candidates} candidates: found at ${limit}`,
          value: found[index] ?? NaN,
          unit: "",
        });
      rows.push({ what: `${candidates} candidates: p50`, value: median(ms), unit: "ms" });
      rows.push({ what: `${candidates} candidates: p99`, value: quantile(ms, 0.99), unit: "ms" });
      bench.progress(`${candidates} candidates`);
    }
    return rows;
  },
};

async function load(store: Store, messages: readonly RecordedMessage[]): Promise<Map<string, Loaded>> {
  const loaded = new Map<string, Loaded>();
  for (const { conversation_id: name, seq, author, ts, text } of messages) {
    const channel = { platform: "main", name };
    const description = { address: channel, kind: "channel" as const, workspace: "", agent: agentId("main") };
    const entry = loaded.get(name) ?? { channel: await store.channels.open(description), seqs: new Map() };
    loaded.set(name, entry);
    const message = {
      type: "message" as const,
      channel,
      kind: "channel" as const,
      workspace: "",
      addressed: false,
    };
    const said = {
      id: String(seq),
      author: { id: author, name: author, isBot: false },
      text,
      at: new Date(ts),
    };
    const appended = await store.log.appendMessage(entry.channel, { ...message, ...said });
    entry.seqs.set(seq, appended.seq);
  }
  for (const { channel } of loaded.values()) while ((await store.search.index(channel, 500)) > 0);
  return loaded;
}

async function score(
  store: Store,
  questions: readonly RecordedQuestion[],
  loaded: ReadonlyMap<string, Loaded>,
  candidates: number,
): Promise<{ readonly found: readonly number[]; readonly ms: readonly number[] }> {
  const frequencies = await store.search.frequencies();
  const found = AT.map(() => 0);
  const ms: number[] = [];
  for (const { conversation_id: name, question, evidence } of questions) {
    const conversation = loaded.get(name);
    if (conversation === undefined) continue;
    const startedAt = performance.now();
    const lexemes = await store.search.lexemes(question);
    const terms = chooseTerms(lexemes, frequencies, conversation.seqs.size, candidates);
    const query = {
      pick: orQuery(terms.pick),
      terms: orQuery(terms.rank),
      to: Number.MAX_SAFE_INTEGER,
      limit: 20,
    };
    const hits = lexemes.length === 0 ? [] : await store.search.byWords(conversation.channel, query);
    ms.push(performance.now() - startedAt);
    const wanted = evidence.map((seq) => conversation.seqs.get(seq));
    for (const [index, limit] of AT.entries()) {
      const top = new Set<Seq | undefined>(hits.slice(0, limit).map(({ seq }) => seq));
      found[index] = (found[index] ?? 0) + wanted.filter((seq) => top.has(seq)).length / wanted.length;
    }
  }
  return { found: found.map((sum) => sum / ms.length), ms };
}
