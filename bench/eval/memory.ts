import { setTimeout as delay } from "node:timers/promises";
import PQueue from "p-queue";
import type { ModelSpending } from "../../src/core/cost.ts";
import { isRetryable } from "../../src/async/retry.ts";
import { assert } from "../../src/core/errors.ts";
import type { Author } from "../../src/core/message.ts";
import type { Models } from "../../src/llm/models.ts";
import { createRetryingModel } from "../../src/llm/retrying-model.ts";
import { createTestDatabase, type TestDatabase } from "../../test/support/database.ts";
import { startWeir, type TestWeir, type TestWeirOptions } from "../../test/support/weir.ts";
import type { RecordedMessage, RecordedQuestion } from "../support/recordings.ts";
import { type Condition, configOf } from "./conditions.ts";
import { judge, type Verdict } from "./judge.ts";
import { type Asked, spentSince } from "./score.ts";

/** An hour after the last message, when the conversation counts as over. */
const LATER_MS = 3_600_000;
const ROOM = "conversation";
const WRONG: Verdict = { isRight: false, spent: [] };

export interface Conversation {
  readonly id: string;
  readonly messages: readonly RecordedMessage[];
  readonly questions: readonly RecordedQuestion[];
}

export interface EvalOptions {
  readonly model: string;
  readonly judge: string;
  readonly models: Models;
  readonly server: Pick<TestWeirOptions, "modelUrl" | "apiKey">;
  readonly windows: { readonly whole: number; readonly small: number };
  /** Concurrent questions. */
  readonly jobs: number;
  readonly progress: (text: string) => void;
}

export interface Played {
  readonly compactions: number;
  readonly merges: number;
  readonly memories: number;
  /** Omitted entries without a summary. */
  readonly omitted: number;
  readonly spent: readonly ModelSpending[];
}

/** The results of one condition in one conversation and one run. */
export interface Outcome {
  readonly condition: string;
  readonly conversation: string;
  readonly run: number;
  readonly played: Played;
  readonly asked: readonly Asked[];
  readonly judged: readonly ModelSpending[];
}

/**
 * Plays a conversation through the real daemon, and asks each question of a separate copy of the result, so that no
 * question sees another one's answer.
 */
export async function evaluate(
  condition: Condition,
  { id, messages, questions }: Conversation,
  run: number,
  options: EvalOptions,
): Promise<Outcome> {
  await using original = await createTestDatabase();
  const played = await play(condition, messages, original, options);
  const queue = new PQueue({ concurrency: options.jobs });
  const marking = createRetryingModel(options.models.model, { fallbacks: [], maxAttempts: 4 });
  const judged: ModelSpending[] = [];
  const marked = async (question: RecordedQuestion, answer: string): Promise<Verdict> => {
    try {
      return await judge(marking, options.judge, question, answer);
    } catch (error) {
      // One answer without a grade must not waste the paid rest; a missing judge must stop it.
      if (!isRetryable(error)) throw error;
      return { isRight: null, spent: [] };
    }
  };
  const ask = async (question: RecordedQuestion): Promise<Asked> => {
    const { answer, spent } = await answerOf(condition, messages, question, original, played, options);
    // An empty answer is wrong without a judge.
    const verdict = answer === "" ? WRONG : await marked(question, answer);
    judged.push(...verdict.spent);
    return {
      question: question.question_id,
      category: question.category ?? "",
      run,
      answer,
      isRight: verdict.isRight,
      spent,
    };
  };
  const asked = await Promise.all(questions.map(async (one) => queue.add(async () => ask(one))));
  options.progress(`${condition.name}, ${id}, run ${run}: ${asked.length} questions`);
  return { condition: condition.name, conversation: id, run, played, asked, judged };
}

async function start(
  condition: Condition,
  { connection }: TestDatabase,
  { model, server, windows }: EvalOptions,
  now: () => Date,
): Promise<TestWeir> {
  const config = configOf(condition, model, windows);
  return startWeir({ ...server, connection, config, now });
}

async function play(
  condition: Condition,
  messages: readonly RecordedMessage[],
  database: TestDatabase,
  options: EvalOptions,
): Promise<Played> {
  const clock = { at: new Date(messages[0]?.ts ?? 0) };
  await using weir = await start(condition, database, options, () => clock.at);
  for (const { author, seq, text, ts } of messages) {
    clock.at = new Date(ts);
    const said = { room: ROOM, id: `said-${seq}`, author: person(author), at: clock.at };
    await weir.say(text, { ...said, addressed: false });
    // In a real chat there is time for a summary between two messages.
    await weir.daemon.registry.compactionsIdle();
  }
  const { store } = weir.daemon;
  while ((await store.search.behind()).length > 0) await delay(20);
  const channel = await store.channels.find({ platform: "test", name: ROOM });
  assert(channel, "the conversation was said");
  const jobs = await store.compactions.list(channel.id, 1_000_000);
  const committed = jobs.filter(({ state }) => state === "committed");
  const { models } = await store.modelCalls.totals(channel.id);
  return {
    compactions: committed.filter(({ kind }) => kind === "leaf").length,
    merges: committed.filter(({ kind }) => kind === "merge").length,
    memories: committed.reduce((sum, job) => sum + job.memories, 0),
    omitted: Math.max(0, channel.omittedTo - channel.coveredTo),
    spent: models,
  };
}

/** The answer of an agent that has seen only the conversation; "": none. */
async function answerOf(
  condition: Condition,
  messages: readonly RecordedMessage[],
  { question }: RecordedQuestion,
  original: TestDatabase,
  played: Played,
  options: EvalOptions,
): Promise<{ readonly answer: string; readonly spent: readonly ModelSpending[] }> {
  const at = new Date(new Date(messages.at(-1)?.ts ?? 0).getTime() + LATER_MS);
  await using copy = await createTestDatabase(original);
  await using weir = await start(condition, copy, options, () => at);
  await weir.say(question, { room: ROOM, id: "question", author: askerIn(messages), at });
  await weir.event("turn_settled", ({ inReplyTo }) => inReplyTo.includes("question"));
  await weir.daemon.registry.compactionsIdle();
  const { store } = weir.daemon;
  const channel = await store.channels.find({ platform: "test", name: ROOM });
  assert(channel, "the conversation was said");
  const { models } = await store.modelCalls.totals(channel.id);
  const answers = [...weir.platform.shown.values()].filter(({ kind, final }) => kind === "answer" && final);
  return { answer: answers.map(({ text }) => text).join("\n"), spent: spentSince(models, played.spent) };
}

function person(name: string): Author {
  return { id: `u-${name}`, name, isBot: false };
}

/** In a conversation with an assistant, its user asks; otherwise an outsider. */
function askerIn(messages: readonly RecordedMessage[]): Author {
  return person(messages.some(({ author }) => author === "user") ? "user" : "Reader");
}
