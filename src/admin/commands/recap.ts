import { displayableLine, firstWords } from "../../text/displayable.ts";
import { formatSpan } from "../../text/format.ts";
import { counted } from "../../text/text.ts";
import type { TimeFormat } from "../../text/time.ts";
import { type AskedCommand, type Command, type CommandParts, placeName, timeOf } from "./command.ts";
import { speakerIn } from "./export.ts";

/** Longest piece of the last message that is shown, in UTF-16 units. */
const MAX_QUOTE = 160;
const WEEK_MS = 6 * 24 * 60 * 60 * 1000;

export const recapCommand: Command = {
  name: "recap",
  help: "how much was said here, since when, and the last of it",
  argument: null,
  allowed: "everybody",
  run: recap,
  /** An introduction for the terminal. Only the person at the operator's machine sees how it is set up. */
  runUnmet({ isStandIn }, { channel }) {
    if (channel.platform !== "terminal") return null;
    return isStandIn() ? STAND_IN : WELCOME;
  },
};

const WELCOME =
  "Say something to begin. /help lists what you can type, /context shows how full the model's window is, and /remember keeps a statement.";

const STAND_IN = [
  "Weir is a chat bot whose channels never forget silently. No model is set up, so a stand-in answers, which only quotes what was said.",
  "Try: tell it something, and ask for it later; /remember TEXT, /context, /help.",
  "A model needs a line OPENAI_API_KEY=… or OPENAI_BASE_URL=… in a file .env beside config.toml (.env.example has all), and a new start.",
].join("\n");

async function recap({ store, agentOf, now }: CommandParts, { channel }: AskedCommand): Promise<string> {
  const said = await store.overview.said(channel.id);
  const [last] = said === null ? [] : await store.log.readCurrent(channel.id, said.last, said.last);
  if (said === null || last === undefined) return `Nothing was said in ${placeName(channel)} yet.`;
  const time = timeOf({ agentOf }, channel);
  const quote = firstWords("text" in last ? last.text : "", MAX_QUOTE);
  const ago = formatSpan(Math.max(0, now().getTime() - last.at.getTime()));
  const whose = displayableLine(speakerIn(last, channel.agent));
  return `${counted(said.count, "message")} since ${dayOf(said.since, time, now())}; last, ${ago} ago: ${whose}: ${quote}`;
}

/** `today`, `Monday`, `2026-11-21`. Pure. */
function dayOf(date: Date, time: TimeFormat, now: Date): string {
  if (time.day(date) === time.day(now)) return "today";
  return now.getTime() - date.getTime() < WEEK_MS ? (time.full(date).split(" ")[0] ?? "") : time.day(date);
}
