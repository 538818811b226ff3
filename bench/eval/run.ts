/**
 * How well an agent with a real model answers questions about a long conversation: `npm run eval -- memory --model NAME
 * --data FOLDER`. Its model calls cost money. See the README.md of the benchmarks.
 */
import { writeFileSync } from "node:fs";
import process from "node:process";
import { parseArgs } from "node:util";
import { loadConfig } from "../../src/config/load.ts";
import { costOf, type ModelSpending, totalSpending } from "../../src/core/cost.ts";
import { WeirError } from "../../src/core/errors.ts";
import { formatDollars, formatNumber } from "../../src/text/format.ts";
import { alignColumns } from "../../src/text/markdown-table.ts";
import {
  existingFolder,
  readUsage,
  UsageError,
  wholeNumber,
  writableFile,
} from "../../test/support/usage.ts";
import { readMessages, readQuestions } from "../support/recordings.ts";
import { type Condition, CONDITIONS } from "./conditions.ts";
import type { Conversation, Outcome } from "./memory.ts";
import { rightShare } from "./score.ts";

const RECORDINGS = ["recall-locomo", "recall-longmemeval"];

const USAGE = `npm run eval -- memory --model NAME --data FOLDER [--judge NAME] [--runs 3] [--window 8192] [--recording NAME]…
    [--condition NAME]… [--conversations N] [--questions N] [--jobs 2] [--json FILE]

It asks the server of the configuration ([llm] of config.toml, OPENAI_BASE_URL, OPENAI_API_KEY), and costs what its calls cost.
Conditions: ${CONDITIONS.map(({ name }) => name).join(", ")}.`;

/** @throws TypeError for an unknown option, UsageError for an invalid value */
function readOptions() {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      model: { type: "string" },
      judge: { type: "string" },
      data: { type: "string" },
      runs: { type: "string", default: "3" },
      window: { type: "string", default: "8192" },
      recording: { type: "string", multiple: true },
      condition: { type: "string", multiple: true },
      conversations: { type: "string", default: "1000" },
      questions: { type: "string", default: "1000" },
      jobs: { type: "string", default: "2" },
      json: { type: "string" },
    },
  });
  const [what, ...more] = positionals;
  if (what !== "memory" || more.length > 0)
    throw new UsageError("What is to be evaluated? There is: memory.");
  const { model, data, json } = values;
  if (model === undefined) throw new UsageError("--model NAME is missing: the language model that answers.");
  if (data === undefined) throw new UsageError("--data FOLDER is missing: the recorded conversations.");
  return {
    model,
    judge: values.judge ?? model,
    data: existingFolder("data", data),
    json: json === undefined ? null : writableFile("json", json),
    runs: wholeNumber("runs", values.runs, 1),
    // Half of it is room for the conversation, even in the smallest.
    window: wholeNumber("window", values.window, 4096),
    conversations: wholeNumber("conversations", values.conversations, 1),
    questions: wholeNumber("questions", values.questions, 1),
    jobs: wholeNumber("jobs", values.jobs, 1),
    recordings: values.recording ?? RECORDINGS,
    conditions: values.condition?.map(findCondition) ?? CONDITIONS,
  };
}

function findCondition(name: string): Condition {
  const found = CONDITIONS.find((one) => one.name === name);
  if (found !== undefined) return found;
  throw new UsageError(`--condition: there is no "${name}".`);
}

type Options = ReturnType<typeof readOptions>;

const options = readUsage(USAGE, readOptions);
try {
  await run(options);
} catch (error) {
  if (!(error instanceof UsageError || error instanceof WeirError)) throw error;
  console.error(error.message);
  process.exitCode = 2;
}

async function run(asked: Options): Promise<void> {
  const { llm } = loadConfig({ cwd: process.cwd(), env: process.env });
  if (llm.baseUrl === null && llm.apiKey === null) {
    throw new UsageError(
      "No language model is configured, and without one there is nothing to evaluate: set OPENAI_API_KEY, or OPENAI_BASE_URL " +
        "(llm.base_url in config.toml) for another server.",
    );
  }
  const conversations = readConversations(asked);
  const { evaluate } = await import("./memory.ts");
  const { OPENAI_URL, openModels } = await import("../../src/llm/model-provider.ts");
  const { CONNECTION_VARIABLE, startTestServer } = await import("../../test/support/test-server.ts");
  await using models = await openModels(llm);
  const model = await models.resolve(asked.model);
  // Tests have their own server, whose connection they pass.
  await using server = process.env[CONNECTION_VARIABLE] === undefined ? await startTestServer() : null;
  if (server !== null) process.env[CONNECTION_VARIABLE] = JSON.stringify(server.connection);
  const outcomes: Outcome[] = [];
  for (let number = 1; number <= asked.runs; number++) {
    for (const conversation of conversations) {
      for (const condition of asked.conditions) {
        const outcome = await evaluate(condition, conversation, number, {
          model,
          judge: asked.judge,
          models,
          server: { modelUrl: llm.baseUrl ?? OPENAI_URL, ...(llm.apiKey !== null && { apiKey: llm.apiKey }) },
          windows: { whole: models.windowOf(model, 0), small: asked.window },
          jobs: asked.jobs,
          progress: (text) => console.error(`… ${text}`),
        });
        outcomes.push(outcome);
        // Saves the paid results before a later failure.
        if (asked.json !== null) writeFileSync(asked.json, JSON.stringify({ ...asked, outcomes }, null, 1));
      }
    }
  }
  await models.askPrices(AbortSignal.timeout(5000));
  const dollars = (spent: readonly ModelSpending[]): string => {
    const cost = costOf(spent, (name) => models.priceOf(name));
    return cost.dollars === null || cost.unpriced.length > 0 ? "unknown" : formatDollars(cost.dollars);
  };
  console.log(report(asked, model, outcomes, dollars));
}

/** Leaves out questions whose recorded answer an audit found wrong. */
function readConversations({ data, recordings, ...most }: Options): Conversation[] {
  return recordings.flatMap((name) => {
    const byConversation = Map.groupBy(readMessages(data, name), (one) => one.conversation_id);
    const questions = readQuestions(data, name).filter(({ audit }) => audit === undefined);
    return [...byConversation].slice(0, most.conversations).map(([id, messages]) => {
      const about = questions.filter((one) => one.conversation_id === id);
      return { id, messages, questions: about.slice(0, most.questions) };
    });
  });
}

function report(
  asked: Options,
  model: string,
  outcomes: readonly Outcome[],
  dollars: (spent: readonly ModelSpending[]) => string,
): string {
  const rows = asked.conditions.map(({ name }) => {
    const own = outcomes.filter(({ condition }) => condition === name);
    const all = own.flatMap((one) => one.asked);
    const { mean, from, to } = rightShare(all);
    const answers = totalSpending(all.flatMap(({ spent }) => spent));
    const summaries = totalSpending(own.flatMap(({ played }) => played.spent));
    const each = (tokens: number): string => formatNumber(tokens / Math.max(1, all.length));
    return [
      name,
      `${percent(mean)} (${percent(from)}–${percent(to)})`,
      String(all.length),
      `${each(answers.promptTokens)} (${each(answers.cachedTokens)})`,
      each(answers.completionTokens),
      formatNumber(summaries.promptTokens + summaries.completionTokens),
      dollars(
        own.flatMap(({ played, asked: questions }) => [
          ...played.spent,
          ...questions.flatMap(({ spent }) => spent),
        ]),
      ),
    ];
  });
  const head = ["condition", "right (95 %)", "asked", "tokens in (cached)", "out", "of summaries", "cost"];
  const silent = outcomes.flatMap((one) => one.asked).filter(({ answer }) => answer === "").length;
  const unjudged = outcomes.flatMap((one) => one.asked).filter(({ isRight }) => isRight === null).length;
  const judged = outcomes.flatMap((one) => one.judged);
  return [
    `${model}, marked by ${asked.judge}; window ${formatNumber(asked.window)}, ${asked.runs} runs`,
    table([head, ...rows]),
    categories(asked, outcomes),
    `Marking: ${formatNumber(totalSpending(judged).promptTokens)} tokens, ${dollars(judged)}; ${unjudged} answers got no mark; ${silent} questions got no answer, which counts as wrong.`,
    ...shortcomings(outcomes),
  ].join("\n\n");
}

function categories(asked: Options, outcomes: readonly Outcome[]): string {
  const names = [...new Set(outcomes.flatMap((one) => one.asked.map(({ category }) => category)))].toSorted();
  const rows = asked.conditions.map(({ name }) => {
    const all = outcomes.filter(({ condition }) => condition === name).flatMap((one) => one.asked);
    return [
      name,
      ...names.map((category) => percent(rightShare(all.filter((one) => one.category === category)).mean)),
    ];
  });
  return table([["right, by category", ...names], ...rows]);
}

/** Reasons why a figure is less reliable. */
function shortcomings(outcomes: readonly Outcome[]): string[] {
  const summarising = new Set(CONDITIONS.filter(({ summarises }) => summarises).map(({ name }) => name));
  const whole = new Set(CONDITIONS.filter(({ isWhole }) => isWhole).map(({ name }) => name));
  const of = (found: readonly Outcome[]): string =>
    [...new Set(found.map(({ conversation }) => conversation))].join(", ");
  const few = outcomes.filter(
    ({ condition, played }) => summarising.has(condition) && (played.compactions < 3 || played.merges < 1),
  );
  const cut = outcomes.filter(({ condition, played }) => whole.has(condition) && played.omitted > 0);
  return [
    ...(few.length === 0
      ? []
      : [`Fewer than three compactions and a merge (a smaller --window brings more): ${of(few)}.`]),
    ...(cut.length === 0 ? [] : [`The model's window does not hold the whole of: ${of(cut)}.`]),
  ];
}

function table(rows: readonly (readonly string[])[]): string {
  return alignColumns(rows, { gap: "  ", ruleGap: "  ", minWidth: 3 }).join("\n");
}

function percent(share: number): string {
  return Number.isNaN(share) ? "–" : `${(share * 100).toFixed(1)} %`;
}
