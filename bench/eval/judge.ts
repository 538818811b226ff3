import { readFileSync } from "node:fs";
import path from "node:path";
import type { ModelSpending } from "../../src/core/cost.ts";
import type { Model } from "../../src/llm/model.ts";
import type { RecordedQuestion } from "../support/recordings.ts";

const RULES = readFileSync(path.join(import.meta.dirname, "judge.md"), "utf8");
/** Longest wait for its answer, ms. */
const PATIENCE_MS = 120_000;

/** A judge's answer and its cost. */
export interface Verdict {
  /** Null: neither of the two words. */
  readonly isRight: boolean | null;
  readonly spent: readonly ModelSpending[];
}

/** Asks a model whether an answer is right. @throws ModelError if it does not answer */
export async function judge(
  model: Model,
  name: string,
  { question, answer: gold, unanswerable }: RecordedQuestion,
  answer: string,
): Promise<Verdict> {
  const right = unanswerable === true ? "This is not known: it was never said." : (gold ?? "");
  const asked = { question, right_answer: right, answer_to_mark: answer };
  const { text, usage } = await model.answer(
    {
      model: name,
      messages: [
        { role: "system", text: RULES },
        { role: "user", text: JSON.stringify(asked, null, 1) },
      ],
      tools: [],
      toolChoice: "none",
      // Some models think before they answer.
      maxOutputTokens: 1024,
      temperature: undefined,
    },
    { signal: AbortSignal.timeout(PATIENCE_MS) },
  );
  return {
    isRight: verdictIn(text),
    spent: [
      {
        model: name,
        calls: 1,
        uncounted: usage === undefined ? 1 : 0,
        promptTokens: usage?.promptTokens ?? 0,
        cachedTokens: usage?.cachedTokens ?? 0,
        writtenTokens: usage?.writtenTokens ?? 0,
        completionTokens: usage?.completionTokens ?? 0,
      },
    ],
  };
}

/** The last of the two words in the text; null: neither. Pure. */
export function verdictIn(text: string): boolean | null {
  const word = text.match(/\b(?:RIGHT|WRONG)\b/g)?.at(-1);
  return word === undefined ? null : word === "RIGHT";
}
