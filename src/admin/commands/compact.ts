import { compactAtHome } from "../requests/at-home.ts";
import type { AskedCommand, Command, CommandParts } from "./command.ts";
import { displayableLine } from "../../text/displayable.ts";
import { describeAnswer, quoteSummary } from "../requests/compact-answer.ts";

const EFFECT = "costs model calls, and changes what everybody here is answered from";
/** How long the asker waits for a summary, ms. */
const COMPACT_WAIT_MS = 15_000;
/** Longest focus, in UTF-16 units. */
const MAX_FOCUS = 200;
const FOCUS: Command["argument"] = {
  name: "focus",
  form: "FOCUS",
  help: "what the summary should keep above all",
};

export const compactCommand: Command = {
  name: "compact",
  help: "summarise what is old now, instead of when the context is full",
  argument: FOCUS,
  allowed: "owners",
  effect: EFFECT,
  run: async (parts, command) => forceAndDescribe(parts, command, false),
};

export const summarizeCommand: Command = {
  name: "summarize",
  help: "as /compact, and show the summary",
  argument: FOCUS,
  allowed: "owners",
  effect: EFFECT,
  run: async (parts, command) => forceAndDescribe(parts, command, true),
};

async function forceAndDescribe(
  parts: CommandParts,
  { channel: { id }, argument, typed }: AskedCommand,
  showsText: boolean,
): Promise<string> {
  const focus = displayableLine(argument).trim();
  if (focus.length > MAX_FOCUS) return `Nothing was summarised: a focus has at most ${MAX_FOCUS} characters.`;
  const answer = await compactAtHome(parts, id, focus, COMPACT_WAIT_MS);
  if (answer === null) return `This is still being summarised. ${typed("context")} shows how far it is.`;
  const quoted = showsText ? quoteSummary(answer) : "";
  return quoted === "" ? describeAnswer(answer) : `${describeAnswer(answer)}\n\n${quoted}`;
}
