import type { MessageAction } from "../../core/message.ts";
import { displayable, displayableLine } from "../../text/displayable.ts";
import { choiceOf } from "./choice.ts";
import type { QuestionRow } from "./question.ts";
import { type QuestionStyle, plainName } from "./question-text.ts";

/** Names of people that a question gives. */
const MOST_NAMES = 5;

/** The message of a choice: the question, or what has been chosen. Pure. */
export function choiceText(row: QuestionRow, style: QuestionStyle): string {
  const { id, state } = row;
  const { agent, masked } = style;
  const shown = (text: string): string => displayable(masked(text));
  const choice = choiceOf(row);
  const name = plainName(agent);
  if (state !== "asked") {
    const question = choice === null ? "" : `${name} asked: ${closed(shown(choice.question))}\n`;
    return `#${id}: ${question}${answerText(row, shown)}`;
  }
  const { question = "", choices = [] } = choice ?? {};
  const lines = choices.map((one, index) => `${index + 1}. ${shown(one).replaceAll("```", "'''")}`);
  return [`#${id}: ${name} asks: ${closed(shown(question))}`, ...lines, howText(row, style)].join("\n");
}

/** A code block that the question leaves open would swallow the choices. */
function closed(question: string): string {
  return question.split("```").length % 2 === 0 ? `${question}\n\`\`\`` : question;
}

/** What has become of a choice, as a sentence. Pure. */
export function answerText(
  { state, answer, decidedName }: Pick<QuestionRow, "state" | "answer" | "decidedName">,
  shown: (text: string) => string = displayableLine,
): string {
  const who = decidedName === "" ? "Somebody" : plainName(decidedName);
  if (state === "asked") return "It waits for an answer.";
  if (state === "answered")
    return answer === "" ? `${who} has answered.` : `${who} has chosen: ${shown(answer)}`;
  if (state === "lapsed") return "Nobody has answered in time.";
  return "Void: what it was asked for was taken back or changed, or the conversation was reset.";
}

function howText(
  { id, askedOf, askedBy, expiresAt }: QuestionRow,
  { hasButtons, typed, time }: QuestionStyle,
): string {
  const names = askedBy.slice(0, MOST_NAMES).map(plainName).join(", ");
  const who = askedOf.length === 0 ? "Anybody here" : names === "" ? "Whoever was asked" : names;
  const inWords = `by the number, or by ${typed(`answer ${id} NUMBER`)}`;
  // A press while Weir restarts fails.
  const how = hasButtons ? `by a button, ${inWords}` : inWords;
  return `${who} can answer ${how}. Without an answer by ${time(expiresAt)} it goes on without one.`;
}

export function choiceActions(row: QuestionRow, masked: (text: string) => string): readonly MessageAction[] {
  if (row.state !== "asked") return [];
  return (choiceOf(row)?.choices ?? []).map((choice, index) => ({
    label: `${index + 1}. ${displayableLine(masked(choice))}`,
    style: "plain",
    command: "answer",
    argument: `${row.id} ${index + 1}`,
  }));
}
