import type { Ledger } from "../ledger.ts";
import { answersIn, CUT, linesIn, type Prompt, saidIn } from "../prompt.ts";
import type { EntryRow } from "../observe.ts";
import { firstRaw, isStill, type PromptCheck } from "./prompt-check.ts";

function hasAllLines(prompt: Prompt, ledger: Ledger, from: number, to: number): boolean {
  let expected = 0;
  for (let seq = from; seq <= to; seq++) expected += Number(isSaid(ledger.entries.get(seq), ledger));
  return saidIn(prompt).length >= expected;
}

/** Somebody has said it. */
function isSaid(entry: EntryRow | undefined, { byMessageId }: Ledger): boolean {
  return entry?.message_id != null && byMessageId.has(entry.message_id);
}

/** What the rows call raw, a turn's prompt shows; what they call summarised, it shows by the summaries. */
export const checkI2View: PromptCheck = ({ prompt, state, before, at, isSole }, ledger) => {
  const { channel, running } = state;
  if (!isSole || running === null || running.epoch !== channel.epoch) return [];
  const first = firstRaw(state);
  // What is quoted elsewhere, as recalled say, does not count.
  const shown = new Set(linesIn(prompt));
  const missing = ledger.messagesIn(first, running.to_seq).filter(({ marker }) => !shown.has(marker));
  // Cut to its shortest form, a message may have lost even its marker; its line is there all the same.
  const isExcused =
    prompt.messages.some(({ text }) => CUT.test(text)) && hasAllLines(prompt, ledger, first, running.to_seq);
  const wrong =
    missing.length === 0 || isExcused
      ? []
      : [
          `the prompt of turn ${running.id} (${running.from_seq}-${running.to_seq}) shows ${missing.length} raw messages ` +
            `not at all: ${missing.map(({ seq }) => seq).join(", ")}`,
        ];
  if (before.summaries !== at.summaries || before.deletions !== at.deletions) return wrong;
  const live = state.summaries.filter((one) => one.live && one.kind !== "reset").map(({ text }) => text);
  const isSame =
    live.length === prompt.summaries.length && live.every((text, index) => text === prompt.summaries[index]);
  if (!isSame)
    wrong.push(`the prompt has ${prompt.summaries.length} summaries, the rows ${live.length} others`);
  return wrong;
};

/** All raw answers of the bot are shown, too. */
export const checkI2Answers: PromptCheck = (arrival, ledger) => {
  if (!isStill(arrival)) return [];
  const { prompt, state } = arrival;
  const first = firstRaw(state);
  const shown = new Set(answersIn(prompt));
  return [...ledger.answers].flatMap(([answer, { seq, turn_id: turn }]) =>
    seq < first || turn === state.running?.id || shown.has(answer)
      ? []
      : [`the prompt does not show the answer of entry ${seq} ("${answer}")`],
  );
};

/** What is told of an omitted range: how many messages, and from when to when. */
export const OMITTED =
  /\[System: (\d+) older messages? (?:was|were) truncated [^\]]*\] \w+ \w+ written (?:at|between) (.{16})(?: and (.{16}))?\./;

/** What is omitted is named: how much it is, and from when to when. */
export const checkI2Omission: PromptCheck = (arrival, ledger) => {
  if (!isStill(arrival)) return [];
  const { channel } = arrival.state;
  const minutes: string[] = [];
  for (let seq = channel.covered_to + 1; seq <= channel.omitted_to; seq++) {
    const entry = ledger.entries.get(seq);
    if (entry !== undefined && entry.kind !== "notice") minutes.push(entry.minute);
  }
  minutes.sort();
  const wanted = minutes.length === 0 ? [] : [`${minutes.length}`, minutes[0], minutes.at(-1)];
  const [, count, from, to = from] = OMITTED.exec(arrival.prompt.dynamic) ?? [];
  const told = count === undefined ? [] : [count, from, to];
  return wanted.join(" ") === told.join(" ")
    ? []
    : [`omitted are "${wanted.join(" ")}", and the prompt says "${told.join(" ")}"`];
};
