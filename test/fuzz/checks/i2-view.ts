import type { Ledger } from "../ledger.ts";
import { CUT, type Prompt } from "../prompt.ts";
import type { PromptCheck } from "./prompt-check.ts";

const LINE = /^\[\d{4}-\d\d-\d\d /;

function hasAllLines(prompt: Prompt, ledger: Ledger, from: number, to: number): boolean {
  const lines = [...prompt.history, ...prompt.newest].filter(
    ({ role, text }) => role === "user" && LINE.test(text),
  );
  let expected = 0;
  for (let seq = from; seq <= to; seq++) expected += Number(ledger.entries.get(seq)?.kind === "user");
  return lines.length >= expected;
}

/** What the rows call raw, a turn's prompt shows; what they call summarised, it shows by the summaries. */
export const checkI2View: PromptCheck = ({ prompt, state, before, at, isSole }, ledger) => {
  const { channel, running } = state;
  if (!isSole || running === null || running.epoch !== channel.epoch) return [];
  const first = Math.max(channel.covered_to, channel.omitted_to) + 1;
  const missing = ledger
    .messagesIn(first, running.to_seq)
    .filter(({ marker }) => !prompt.markers.has(marker));
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
