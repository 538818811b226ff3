import type { ModelMessage } from "../../../src/core/context.ts";
import { templateText } from "../../support/request-form.ts";
import type { Ledger, SeenPrompt } from "../ledger.ts";
import { ruleIn } from "../profile.ts";
import { CUT, isOwnLine, type Prompt } from "../prompt.ts";
import { OMITTED } from "./i2-view.ts";
import { MARKER } from "../texts.ts";
import type { Arrival, PromptCheck } from "./prompt-check.ts";

/** Marks of what was made shorter to fit: an old tool result, or any item in need. */
const STUB = /\[… \d+ characters in all\]$/;

/** Before each message that a tool's result quotes. */
const QUOTE = /\n(?=\[\d{4}-\d\d-\d\d \d\d:\d\d\] )/;

/** All that may change in a system prompt, once a day. */
const DATE = /\d{4}-\d{2}-\d{2}/;

function undated(system: string): string {
  return system.replace(DATE, "");
}

/**
 * Parts 1 to 4 of a prompt are the beginning of the next one's as a chat template writes them, except where something has happened in
 * between that changes them; each kind of change is excused by its own kind of event only.
 */
export const checkI7: PromptCheck = (arrival, ledger) => {
  const last = ledger.lastPrompts.get(arrival.prompt.by);
  if (last === undefined || !arrival.isSole || arrival.order < last.order) return [];
  const { prompt } = arrival;
  const wrong: string[] = [];
  const isReloaded = ruleIn(last.prompt.system) !== ruleIn(prompt.system);
  if (prompt.tools !== last.prompt.tools && !isReloaded) wrong.push("the tools have changed");
  if (undated(prompt.system) !== undated(last.prompt.system) && !isReloaded)
    wrong.push("the system prompt has changed");
  const date = DATE.exec(prompt.system)?.[0];
  const days = [...arrival.before.days, ...arrival.at.days];
  if (date !== undefined && !days.includes(date) && !isOfTurn(last, arrival, date))
    wrong.push(`the system prompt says ${date} on ${arrival.at.days.at(-1)}`);
  const isCovered = last.before.summaries !== arrival.at.summaries;
  const isDeleted =
    last.before.deletions !== arrival.at.deletions || last.before.takenOut !== arrival.at.takenOut;
  const isSame =
    prompt.summaries.length === last.prompt.summaries.length &&
    prompt.summaries.every((text, index) => text === last.prompt.summaries[index]);
  // A guest's brief is made anew when much stands behind it.
  if (!isSame && !isCovered && !isDeleted && !arrival.isGuest)
    wrong.push("the summaries have changed without a commit");
  if (isCovered || isDeleted || isReloaded || last.before.omittedTo !== arrival.at.omittedTo) return wrong;
  if (arrival.isGuest && (!isSame || isShortened(last.prompt, prompt))) return wrong;
  return [...wrong, ...compareHistory(last, arrival, ledger)];
};

/** A turn keeps the day on which it began, however long it runs. */
function isOfTurn(last: SeenPrompt, { state }: Arrival, date: string): boolean {
  return last.turn !== null && last.turn === state.running?.id && DATE.exec(last.prompt.system)?.[0] === date;
}

function compareHistory(last: SeenPrompt, { prompt, isGuest }: Arrival, ledger: Ledger): string[] {
  const earlier = last.prompt.history;
  let covered = 0;
  for (const [index, message] of earlier.entries()) {
    const now = prompt.history[index - covered];
    if (now !== undefined && templateText([now]) === templateText([message])) continue;
    if (now !== undefined && (isReworded(message, now) || isTakenBack(message, now))) continue;
    if (now !== undefined && isQuotedAnew(message, now, ledger, last.edits)) continue;
    if (isGuest && TAKEN_BACK.test(message.text)) {
      // A guest's brief that was made anew covers it, and has the same words: it quotes nothing of what was deleted.
      covered++;
      continue;
    }
    // An item that is a stub now, or was cut because all was too much: a pruning step.
    if (isShort(message) || (now !== undefined && isShort(now))) return [];
    // By the log nobody had read the text when it was edited: the edit was under way when the turn began, which then began again.
    if (now !== undefined && [...last.editing].some((marker) => now.text.includes(marker))) return [];
    if (lacksCalls(last.prompt) || lacksCalls(prompt)) return [];
    return [
      `message ${index} of ${earlier.length} of the raw history has changed: ` +
        `${tell(message)} is now ${now === undefined ? "gone" : tell(now)}`,
    ];
  }
  return [];
}

const TAKEN_BACK = /^\[[^\]]*\] \w+: \(this message was deleted\)$/;
const OWN_HEAD = /^\[[^\]]*\] \[Weir: [^\]]*\] /;

/** What was handed over of a message that was edited since: whoever reads it is told to read that. */
const REWORDED = "The message that this was about has changed";

function isReworded(before: ModelMessage, now: ModelMessage): boolean {
  const head = /^\[[^\]]*\] \[Weir: handed over by \w+ to \w+\] /.exec(before.text)?.[0];
  return head !== undefined && isOwnLine(now) && now.text.startsWith(head + REWORDED);
}

/** Work of Weir's own that told what was edited away has gone, as a deleted message has. */
function isTakenBack(before: ModelMessage, now: ModelMessage): boolean {
  const head = OWN_HEAD.exec(before.text)?.[0];
  return head !== undefined && isOwnLine(before) && now.text === `${head}(this message was deleted)`;
}

/**
 * A tool's result quotes what was edited meanwhile, or tells what somebody else proves by now: all that differs is what shows an edit that
 * was not shown before, or whose words they are.
 */
function isQuotedAnew(before: ModelMessage, now: ModelMessage, ledger: Ledger, edits: number): boolean {
  if (before.role !== "tool" || now.role !== "tool" || before.callId !== now.callId) return false;
  const [quoted, anew] = [before.text.split(QUOTE), now.text.split(QUOTE)];
  return (
    quoted.length === anew.length &&
    anew.every((text, index) => {
      const earlier = quoted[index] ?? "";
      return (
        text === earlier ||
        showsEdit(text, earlier, ledger) ||
        (ledger.edits > edits && isOthers(text, earlier))
      );
    })
  );
}

/** Of a memory in a result: who proves it. */
const PROVER = /^(\[\d{4}-\d\d-\d\d\] )\w+(?= \(\w+\): )/gm;

function isOthers(text: string, earlier: string): boolean {
  return text.replaceAll(PROVER, "$1") === earlier.replaceAll(PROVER, "$1");
}

function showsEdit(text: string, earlier: string, { own, byMarker }: Ledger): boolean {
  const markers = text.match(MARKER) ?? [];
  return markers.some((marker) => own.has(marker) && !byMarker.has(marker) && !earlier.includes(marker));
}

function isShort(message: ModelMessage): boolean {
  const calls = message.role === "assistant" ? message.calls : [];
  const isCutCall = calls.some(({ arguments: json }) => json === "{}" || json.startsWith('{"cut":'));
  return STUB.test(message.text) || CUT.test(message.text) || isCutCall;
}

/** A guest's turn leaves out of its own requests what has no room in them. */
function isShortened(...prompts: readonly Prompt[]): boolean {
  return prompts.some(({ dynamic }) => OMITTED.test(dynamic));
}

/** In the last need calls go with their results; then something else was cut before them. */
function lacksCalls({ history, newest }: Prompt): boolean {
  return [...history, ...newest].some(isShort);
}

function tell({ role, text }: ModelMessage): string {
  return `${role} "${text.slice(0, 60)}"`;
}
