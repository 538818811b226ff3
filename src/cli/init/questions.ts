import { OperatorError } from "../../core/errors.ts";

export interface Choice<Value> {
  readonly value: Value;
  readonly label: string;
  readonly hint?: string;
}

/** The terminal of `weir init`. Each question throws {@link Cancelled} at Ctrl-C. */
export interface Questions {
  say(text: string): void;
  one<Value extends string>(question: string, choices: readonly Choice<Value>[]): Promise<Value>;
  several<Value extends string>(
    question: string,
    choices: readonly Choice<Value>[],
  ): Promise<readonly Value[]>;
  /** @param wrong the problem of an answer; undefined: it is valid */
  text(question: string, hint: string, wrong: (answer: string) => string | undefined): Promise<string>;
  /** The typed answer is not shown. */
  secret(question: string): Promise<string>;
  confirm(question: string): Promise<boolean>;
  /** Shows the subject of a check while it runs. */
  during<Result>(what: string, work: () => Promise<Result>): Promise<Result>;
}

/** Somebody has ended the questions. */
export class Cancelled extends OperatorError {
  constructor() {
    super("Cancelled: nothing was written.");
  }
}

/** Questions on the terminal of this process. Their library is read only here. */
export async function openQuestions(): Promise<Questions> {
  const clack = await import("@clack/prompts");
  const answered = <Value>(value: Value): Exclude<Value, symbol> => {
    if (isAnswer(value)) return value;
    throw new Cancelled();
  };
  const required = (answer: string | undefined): string | undefined =>
    (answer ?? "").trim() === ""
      ? "Something has to stand here. Ctrl-C ends this, and writes nothing."
      : undefined;
  return {
    say: (text) => clack.log.message(text),
    one: async (message, choices) =>
      chosen(choices, answered(await clack.select<string>({ message, options: optionsOf(choices) }))),
    async several(message, choices) {
      const options = optionsOf(choices);
      const values = answered(await clack.multiselect<string>({ message, options, required: false }));
      return values.map((value) => chosen(choices, value));
    },
    text: async (message, placeholder, wrong) =>
      answered(
        await clack.text({ message, placeholder, validate: (answer) => wrong((answer ?? "").trim()) }),
      ).trim(),
    secret: async (message) => answered(await clack.password({ message, validate: required })).trim(),
    confirm: async (message) => answered(await clack.confirm({ message })),
    async during(what, work) {
      const spinner = clack.spinner();
      spinner.start(what);
      try {
        return await work();
      } finally {
        spinner.stop(what);
      }
    },
  };
}

function chosen<Value extends string>(choices: readonly Choice<Value>[], value: string): Value {
  const found = choices.find((one) => one.value === value);
  if (found === undefined) throw new Cancelled();
  return found.value;
}

function optionsOf(choices: readonly Choice<string>[]): { value: string; label: string; hint?: string }[] {
  return choices.map((choice) => ({ ...choice }));
}

/** The library answers a Ctrl-C with a symbol. */
function isAnswer<Value>(value: Value): value is Exclude<Value, symbol> {
  return typeof value !== "symbol";
}
