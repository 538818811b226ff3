import type { ModelMessage } from "../../../src/core/context.ts";
import { nameOf } from "../profile.ts";
import { LINE } from "../prompt.ts";
import { agentIn } from "../rooms.ts";
import type { Mutant } from "./mutant.ts";
import { sending } from "./requests.ts";
import { writesWhenDue } from "./write-ahead.ts";

type Messages = readonly ModelMessage[];

function isLine({ role, text }: ModelMessage): boolean {
  return role === "user" && LINE.test(text);
}

/** Roles take turns all the same. */
function withoutAnswers(messages: Messages): Messages {
  return messages.map((message) => (isAnswer(message) ? { ...message, text: "…" } : message));
}

/** Shows the oldest message, or the oldest answer, behind itself once more. */
function twice(isMeant: (message: ModelMessage) => boolean): (messages: Messages) => Messages {
  return (messages) => {
    const at = messages.findIndex(isMeant);
    return at < 0 ? messages : messages.toSpliced(at, 0, ...messages.slice(at, at + 1));
  };
}

function isAnswer(message: ModelMessage): boolean {
  return message.role === "assistant" && message.calls.length === 0;
}

/** Takes the oldest message for shown where it is recalled. */
function quoted(messages: Messages): Messages {
  const line = messages.find(isLine);
  if (line === undefined) return messages;
  return messages
    .filter((message) => message !== line)
    .map((message) =>
      message.text.startsWith("[System: what is true just now")
        ? { ...message, text: `${message.text}\n> ${line.text}` }
        : message,
    );
}

const OMISSION = /\[System: (\d+) older messages? (?:was|were) truncated.*/;

function withOmission(told: (marker: string, count: number) => string): (messages: Messages) => Messages {
  return (messages) =>
    messages.map((message) => ({
      ...message,
      text: message.text.replace(OMISSION, (marker, count: string) => told(marker, Number(count))),
    }));
}

const PROMPTS_SHOWN = 3;
/** The oldest line of each place's last prompt; what has left the view since, and in how many prompts it still is shown. */
const oldest = new Map<
  string,
  { line: ModelMessage; next: string; late: ModelMessage | null; left: number }
>();

/** Shows the own agent of a place what has just left the raw view there for some prompts more; a guest's begins where its brief ends. */
function lately(messages: Messages): Messages {
  const lines = messages.filter(isLine);
  const [line, next = line] = lines;
  const place = /^> Place: "([^"]*)"/m.exec(messages.map(({ text }) => text).join("\n"))?.[1] ?? "";
  const by = /^You are (\w+)\./.exec(messages[0]?.text ?? "")?.[1];
  if (line === undefined || next === undefined || by !== nameOf(agentIn(place))) return messages;
  const known = oldest.get(place) ?? { line, next: next.text, late: null, left: 0 };
  const hasLeft = !lines.some(({ text }) => text === known.line.text || text === known.next);
  const late = hasLeft ? known.line : known.late;
  const left = hasLeft ? PROMPTS_SHOWN : known.left - 1;
  oldest.set(place, { line, next: next.text, late, left });
  return late === null || left <= 0 ? messages : messages.toSpliced(messages.indexOf(line), 0, late);
}

/** Wrong views of the rows. */
export const VIEW_MUTANTS: readonly Mutant[] = [
  { name: "earlier answers are not shown", breaks: ["I2"], model: sending("answer", withoutAnswers) },
  { name: "a message that is quoted alone", breaks: ["I2"], model: sending("answer", quoted) },
  { name: "a message is shown twice", breaks: ["I1"], model: sending("answer", twice(isLine)) },
  { name: "an answer is shown twice", breaks: ["I1"], model: sending("answer", twice(isAnswer)) },
  {
    name: "what is covered is still shown",
    breaks: ["I1"],
    forget: () => oldest.clear(),
    model: sending("answer", lately),
  },
  {
    name: "an omission that is not told",
    breaks: ["I2"],
    config: writesWhenDue,
    model: sending(
      "answer",
      withOmission(() => ""),
    ),
  },
  {
    name: "an omission that is told as a smaller one",
    breaks: ["I2"],
    config: writesWhenDue,
    model: sending(
      "answer",
      withOmission((marker, count) => marker.replace(`${count}`, `${count - 1}`)),
    ),
  },
];
