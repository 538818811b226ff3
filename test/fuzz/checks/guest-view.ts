import { CUT, linesIn, type Prompt } from "../prompt.ts";
import type { SummaryRow } from "../observe.ts";
import type { PromptCheck } from "./prompt-check.ts";

/**
 * A guest is shown the channel's summaries, a brief of what they do not cover, and from some message on all that was said, each
 * message once.
 */
export const checkGuestView: PromptCheck = ({ prompt, state, before, at, isSole }, ledger) => {
  const { channel, running } = state;
  if (!isSole || running === null || running.epoch !== channel.epoch) return [];
  const shown = linesIn(prompt);
  const twice = shown.filter((one, index) => shown.indexOf(one) !== index);
  const wrong = twice.map((one) => `a guest's prompt shows ${one} twice`);
  const from = Math.min(running.from_seq, ...shown.flatMap((one) => ledger.byMarker.get(one)?.seq ?? []));
  const missing = ledger.messagesIn(from, running.to_seq).filter(({ marker }) => !shown.includes(marker));
  const isExcused = prompt.messages.some(({ text }) => CUT.test(text));
  if (missing.length > 0 && !isExcused)
    wrong.push(
      `a guest's prompt begins at entry ${from} and lacks ${missing.map(({ seq }) => seq).join(", ")}`,
    );
  if (before.summaries !== at.summaries || before.deletions !== at.deletions) return wrong;
  return [...wrong, ...leftOut(prompt, state.summaries)];
};

/** Where they have room, the live summaries stand before the brief as they are; else one digest of them does. */
function leftOut({ summaries: shown }: Prompt, summaries: readonly SummaryRow[]): string[] {
  const live = summaries.filter((one) => one.live && one.kind !== "reset");
  const isDigest = live.length > 1 && shown.length <= 2;
  const isSame = live.every(({ text }, index) => text === shown[index]);
  return isDigest || isSame
    ? []
    : [`a guest's prompt has ${shown.length} summaries, the rows ${live.length} others`];
}
