import { z } from "zod";
import { defineTool, type Tool, ToolFailure } from "../../tools/tool.ts";
import { FEWEST_CHOICES, folded, LONGEST_CHOICE, LONGEST_QUESTION, MOST_CHOICES } from "./choice.ts";
import { ASK } from "./declaration.ts";

/** Longest wait for an answer, minutes: four weeks. */
const LONGEST_WAIT = 40_320;

/** Bounds are reported when they are exceeded: in the schema every request would pay for them. */
const Asked = z
  .strictObject({
    question: z.string(),
    choices: z.array(z.string()),
    who: z.enum(["asker", "anybody"]).optional(),
    wait_minutes: z.number().optional(),
  })
  .superRefine(({ question, choices, wait_minutes: wait = 1 }, issues) => {
    const wrong = [
      question.trim() === "" || question.length > LONGEST_QUESTION
        ? `the question has 1 to ${LONGEST_QUESTION} characters`
        : null,
      choices.length < FEWEST_CHOICES || choices.length > MOST_CHOICES
        ? `there are ${FEWEST_CHOICES} to ${MOST_CHOICES} choices`
        : null,
      choices.some((choice) => choice.trim() === "" || choice.length > LONGEST_CHOICE)
        ? `each choice has 1 to ${LONGEST_CHOICE} characters`
        : null,
      new Set(choices.map(folded)).size < choices.length ? "no two choices are the same" : null,
      !Number.isInteger(wait) || wait < 1 || wait > LONGEST_WAIT
        ? `wait_minutes is a whole number from 1 to ${LONGEST_WAIT}`
        : null,
    ];
    for (const message of wrong) if (message !== null) issues.addIssue({ code: "custom", message });
  });

/** `ask`: lets somebody choose. No call of it runs: `question-gate.ts` holds each back, and shows its question. */
export const ask = defineTool({
  name: ASK,
  input: Asked,
  leastWindow: 5000,
  leftOutBy: "questions.enabled = false",
  async run() {
    throw new ToolFailure("Nobody can be asked from here.");
  },
});

/** Whether a tool is that one: a server's tool may have any name. Pure. */
export function isAsk({ spec, server }: Pick<Tool, "spec" | "server">): boolean {
  return spec.name === ASK && server === undefined;
}

/** @param json arguments that the tool has checked @returns `waitMs` null: the agent's own */
export function termsOf(json: string): { readonly isForAnybody: boolean; readonly waitMs: number | null } {
  const { who, wait_minutes: wait } = Asked.parse(JSON.parse(json));
  return { isForAnybody: who === "anybody", waitMs: wait === undefined ? null : wait * 60_000 };
}
