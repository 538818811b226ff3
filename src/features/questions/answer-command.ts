import {
  type AskedCommand,
  type Command,
  type CommandParts,
  placeName,
} from "../../admin/commands/command.ts";
import { keptMessage } from "../../admin/commands/kept-message.ts";
import { retryWrite } from "../../async/retry.ts";
import { maskOf } from "../../admin/secrets.ts";
import { ANSWERED } from "../../platforms/platform.ts";
import { codeBlock, counted } from "../../text/text.ts";
import { displayableLine } from "../../text/displayable.ts";
import { choiceNamed, choiceOf, mayAnswer } from "./choice.ts";
import { answerText } from "./choice-text.ts";
import { QUESTIONS } from "./key.ts";
import type { QuestionRow } from "./question.ts";
import { shownName } from "./question-text.ts";

export const answerCommand: Command = {
  name: "answer",
  help: "answer a question of the agent by one of its choices; alone: what is asked here",
  argument: {
    name: "choice",
    form: "NUMBER CHOICE",
    help: "which question, and the number or the words of the choice",
  },
  allowed: "everybody",
  keepsMessage: true,
  run: answer,
};

async function answer(parts: CommandParts, command: AskedCommand): Promise<string> {
  const { channel, argument, asker, typed } = command;
  const { store, answer: write } = parts.serviceOf(QUESTIONS);
  if (argument === "") return list(parts, command, await store.choices(channel.id));
  const [, number, words = ""] = /^#?(\d{1,15})(?:\s+(\S[^]*))?$/.exec(argument) ?? [];
  if (number === undefined) return `This is ${typed("answer NUMBER CHOICE")}.`;
  const id = Number(number);
  const found = await store.find(channel.id, id);
  if (found?.kind !== "choice") return `${placeName(channel, true)} has no question #${id}.`;
  if (!mayAnswer(found, channel.address.platform, asker.id)) return notAsked(found);
  const choice = choiceOf(found);
  if (found.state !== "asked" || choice === null) return answeredBefore(found);
  const made = choiceNamed(choice, words);
  const text = made === null ? undefined : choice.choices[made - 1];
  if (text === undefined)
    return `#${id} has the choices 1 to ${choice.choices.length}: ${typed(`answer ${id} 1`)}.`;
  const name = await parts.nameIn(channel, { id: asker.id, name: asker.name, isBot: false });
  const { isOurs, question } = await write(channel.id, id, { by: { id: asker.id, name }, text });
  await keepSaid(parts, command);
  return isOurs ? ANSWERED : answeredBefore(question ?? found);
}

/** A plain message that made a choice stands in the log like any other: its deletion finds it there, and it is no new message later. */
async function keepSaid(parts: CommandParts, command: AskedCommand): Promise<void> {
  const { channel, said } = command;
  if (said === undefined || /^(?:@\S+\s+)?\//.test(said.text.trim())) return;
  const message = await keptMessage(parts, command, said.text);
  const { result } = await retryWrite(async () => parts.store.log.appendMessage(channel.id, message));
  parts.waker.announce(channel.id, result);
}

function notAsked({ id, askedBy }: QuestionRow): string {
  const names = askedBy.map(shownName).join(", ");
  return `#${id} is a question to ${names === "" ? "somebody else" : names}.`;
}

/** Why a choice cannot be made any more. */
export function answeredBefore(question: QuestionRow): string {
  const { id, state } = question;
  return state === "asked"
    ? `#${id} has waited too long for an answer.`
    : `#${id} is over already. ${answerText(question)}`;
}

function list(parts: CommandParts, { channel, typed }: AskedCommand, open: readonly QuestionRow[]): string {
  const here = placeName(channel);
  if (open.length === 0) return `No question waits for an answer in ${here}.`;
  const masked = maskOf(parts.secrets);
  const shown = (text: string): string => displayableLine(masked(text));
  const lines = open.flatMap((row) => {
    const { question = "(taken back)", choices = [] } = choiceOf(row) ?? {};
    return [
      `#${row.id} ${shown(question)}`,
      ...choices.map((one, index) => `   ${index + 1}. ${shown(one)}`),
    ];
  });
  return `${counted(open.length, "question waits", "questions wait")} for an answer in ${here}:\n${codeBlock(lines.join("\n"))}\n${typed("answer NUMBER CHOICE")} answers one.`;
}
