import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { UsageError } from "../../test/support/usage.ts";

/** A recorded message: one line of `NAME.messages.jsonl`. */
export interface RecordedMessage {
  readonly conversation_id: string;
  readonly seq: number;
  readonly author: string;
  readonly ts: string;
  readonly text: string;
}

/** A question about a conversation, with the seqs of its evidence: one line of `NAME.qa.jsonl`. */
export interface RecordedQuestion {
  readonly conversation_id: string;
  readonly question_id: string;
  readonly question: string;
  readonly answer?: string;
  readonly evidence: readonly number[];
  /** The right answer is that it is not known. */
  readonly unanswerable?: boolean;
  /** A public audit found the recorded answer, or its evidence, wrong. */
  readonly audit?: unknown;
  /** `adversarial`: it asks for what was never said. */
  readonly category?: string;
}

/** A person's or a model's note on a conversation, with the seqs of its sources: one line of `NAME.facts.jsonl`. */
export interface RecordedFact {
  readonly conversation_id: string;
  readonly fact: string;
  readonly evidence: readonly number[];
}

export function readMessages(folder: string, name: string): RecordedMessage[] {
  return readLines(path.join(folder, `${name}.messages.jsonl`));
}

export function readQuestions(folder: string, name: string): RecordedQuestion[] {
  return readLines(path.join(folder, `${name}.qa.jsonl`));
}

/** @returns none if there is no such file */
export function readFacts(folder: string, name: string): RecordedFact[] {
  const isThere = existsSync(path.join(folder, `${name}.facts.jsonl`));
  return isThere ? readLines(path.join(folder, `${name}.facts.jsonl`)) : [];
}

/** @throws UsageError if there is no such file */
function readLines<Row>(file: string): Row[] {
  if (!existsSync(file)) throw new UsageError(`--data: there is no file "${file}" (see bench/README.md).`);
  const lines = readFileSync(file, "utf8").trim().split("\n");
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a benchmark's own data files
  return lines.map((line) => JSON.parse(line) as Row);
}
