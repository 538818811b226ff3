// proves: bench/eval/run.ts, bench/eval/memory.ts, bench/eval/conditions.ts, bench/eval/judge.ts
// The plumbing of the evaluation, with a scripted model: it says nothing of how well anything is remembered.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { after, before, describe, test } from "node:test";
import { z } from "zod";
import { status, text, toolCalls } from "./model-behaviours.ts";
import { type Behaviour, type ChatRequest, type ModelServer, startModelServer } from "./model-server.ts";

const EVAL = path.join(import.meta.dirname, "../../bench/eval/run.ts");
const MESSAGES = 130;
/** A model that does not exist. */
const NOBODY = "nobody";
const FILLER =
  "and after that we walked along the river for a while and talked about boats, weather, old bridges, the market and what there is to eat";
/** Words, which no check of a summary asks for. */
const EARLY = "marigold";
const REMEMBERED = "harvest";
const LATE = "9009";
const SAID: Readonly<Record<number, string>> = {
  3: `The code of locker seven is ${EARLY}.`,
  5: `The birthday of Zoe is in the ${REMEMBERED}.`,
  [MESSAGES - 1]: `The number of the ferry is ${LATE}.`,
};
const QUESTIONS = [
  { question_id: "q1", category: "early", question: "What is the code of locker seven?", answer: EARLY },
  { question_id: "q2", category: "kept", question: "When is the birthday of Zoe?", answer: REMEMBERED },
  { question_id: "q3", category: "late", question: "What is the number of the ferry?", answer: LATE },
  { question_id: "q4", category: "never", question: "Who stole the boat?", unanswerable: true },
  { question_id: "q5", category: "early", question: "What is wrong?", answer: "this", audit: "wrong answer" },
];

const outcomes = z.object({
  outcomes: z.array(
    z.object({
      condition: z.string(),
      played: z.object({
        compactions: z.number(),
        merges: z.number(),
        memories: z.number(),
        omitted: z.number(),
      }),
      asked: z.array(z.object({ question: z.string(), answer: z.string(), isRight: z.boolean().nullable() })),
    }),
  ),
});

let folder: string;
let server: ModelServer;
before(async () => {
  folder = await mkdtemp(path.join(tmpdir(), "weir-eval-"));
  server = await startModelServer();
  server.respond(scripted);
  const at = Date.UTC(2026, 0, 1);
  const lines = Array.from({ length: MESSAGES }, (_, seq) => {
    const ts = new Date(at + seq * 600_000).toISOString();
    const author = seq % 2 === 0 ? "Ann" : "Ben";
    return { conversation_id: "c1", seq, author, ts, text: SAID[seq] ?? `Number ${seq}: ${FILLER}.` };
  });
  await writeLines("recall-test.messages.jsonl", lines);
  await writeLines(
    "recall-test.qa.jsonl",
    QUESTIONS.map((one) => ({ conversation_id: "c1", evidence: [], ...one })),
  );
});
after(async () => {
  await server[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
});

async function writeLines(name: string, rows: readonly unknown[]): Promise<void> {
  await writeFile(path.join(folder, name), rows.map((row) => `${JSON.stringify(row)}\n`).join(""));
}

/** Grades by the letter, summarises without content, and answers with the text before the question. */
function scripted({ model, messages, tools }: ChatRequest): Behaviour {
  if (model === NOBODY) return status(404, { error: { message: "there is no model of this name" } });
  const shown = messages.map(({ content }) => content ?? "").join("\n");
  if (messages[0]?.content?.startsWith("You mark answers") === true) return text(marked(shown));
  if (!shown.includes("[System: what is true")) {
    const line = /(\d+)\. \[[^\]]*\] (?:(?:Ann|Ben): )?The birthday of Zoe/.exec(shown)?.[1];
    const isAsked = tools !== undefined && messages.every(({ role }) => role !== "tool");
    return isAsked && line !== undefined
      ? toolCalls([savedAs(Number(line))])
      : text("They talked about boats.");
  }
  const found = Object.entries({ "locker seven?": EARLY, "of Zoe?": REMEMBERED, "the ferry?": LATE }).find(
    ([question]) => shown.includes(question),
  )?.[1];
  return text(found !== undefined && shown.includes(found) ? `It is ${found}.` : "That I do not know.");
}

function marked(shown: string): string {
  const right = /"right_answer": "(.*)"/.exec(shown)?.[1] ?? "";
  const answer = /"answer_to_mark": "(.*)"/.exec(shown)?.[1] ?? "";
  const isRight = right.includes("not known") ? answer.includes("do not know") : answer.includes(right);
  return isRight ? "RIGHT" : "WRONG";
}

function savedAs(source: number): { name: string; arguments: object } {
  const statement = `The birthday of Zoe is in the ${REMEMBERED}.`;
  const memory = { type: "fact", subject: "Zoe", statement, quote: statement, sources: [source] };
  return { name: "memory_save", arguments: { memories: [memory] } };
}

async function evaluate(
  args: readonly string[],
  env: NodeJS.ProcessEnv = { OPENAI_BASE_URL: server.url },
): Promise<{ code: number | null; stdout: string; stderr: string }> {
  const { OPENAI_API_KEY: _, OPENAI_BASE_URL: _url, ...rest } = process.env;
  return await new Promise((resolve) => {
    const child = execFile(
      process.execPath,
      [EVAL, ...args],
      { cwd: folder, env: { ...rest, ...env } },
      (_error, stdout, stderr) => resolve({ code: child.exitCode, stdout, stderr }),
    );
  });
}

function rightOf(asked: z.infer<typeof outcomes>["outcomes"][number]["asked"]): string[] {
  return asked.filter(({ isRight }) => isRight === true).map(({ question }) => question);
}

describe("npm run eval -- memory", () => {
  test("says in words what it lacks, and ends with 2", async () => {
    const lacks = async (args: readonly string[], env?: NodeJS.ProcessEnv): Promise<string> => {
      const { code, stderr } = await evaluate(args, env);
      assert.equal(code, 2, stderr);
      assert.doesNotMatch(stderr, /^ +at /m);
      return stderr;
    };
    assert.match(await lacks([]), /What is to be evaluated/);
    assert.match(await lacks(["memory", "--data", folder]), /--model NAME is missing/);
    const args = ["memory", "--model", "test-model", "--data", folder];
    assert.match(await lacks(args, {}), /^No language model is configured.*OPENAI_API_KEY/);
    assert.match(await lacks(args), /there is no file ".*recall-locomo\.messages\.jsonl"/);
    assert.match(await lacks([...args, "--condition", "none"]), /there is no "none"/);
  });

  test("asks each question under each condition, of what came of the whole conversation, and has it marked", async () => {
    const json = path.join(folder, "outcomes.json");
    const { code, stdout, stderr } = await evaluate(
      `memory --model test-model --data ${folder} --recording recall-test --runs 1 --window 4096 --json ${json}`.split(
        " ",
      ),
    );
    assert.equal(code, 0, stderr);
    const read = outcomes.parse(JSON.parse(await readFile(json, "utf8"))).outcomes;
    // An extract shows omitted messages without a summary, and includes one item or another.
    const told = read.filter(({ condition }) => condition !== "last N only");
    const right = new Map(told.map(({ condition, asked }) => [condition, rightOf(asked)]));
    assert.deepEqual(Object.fromEntries(right), {
      "full context": ["q1", "q2", "q3", "q4"],
      "search only": ["q1", "q2", "q3", "q4"],
      "summaries only": ["q3", "q4"],
      "summaries and memories": ["q2", "q3", "q4"],
      all: ["q1", "q2", "q3", "q4"],
    });
    const last = read.find(({ condition }) => condition === "last N only")?.asked ?? [];
    assert.deepEqual(
      last.slice(2).map(({ isRight }) => isRight),
      [true, true],
    );
    for (const { condition, played } of read) {
      const summarises = condition.startsWith("summaries") || condition === "all";
      assert.equal(played.compactions >= 3, summarises, condition);
      assert.equal(played.memories > 0, summarises, condition);
      assert.equal(played.omitted > 0, condition === "last N only" || condition === "search only", condition);
    }
    // On a slow machine a summary covers more, and one condition may need no merge.
    assert.ok(read.some(({ played }) => played.merges > 0));
    assert.match(stdout, /^full context +100\.0 % \(100\.0 %–100\.0 %\) +4 /m);
    assert.match(stdout, /^summaries only +50\.0 % /m);
    assert.match(stdout, /right, by category +early +kept +late +never/);
    assert.match(stdout, /; 0 answers got no mark; 0 questions got no answer/);
    assert.doesNotMatch(stdout, /does not hold the whole/);
  });

  test("ends with what the server says where there is no such judge", async () => {
    const { code, stdout, stderr } = await evaluate(
      `memory --model test-model --judge ${NOBODY} --data ${folder} --recording recall-test --runs 1 --condition`
        .split(" ")
        .concat("full context"),
    );
    assert.equal(code, 2);
    assert.equal(stdout, "");
    assert.match(stderr, /there is no model of this name/);
    assert.doesNotMatch(stderr, /^ +at /m);
  });
});
