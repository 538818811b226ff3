import type { PlatformCommand } from "../../platform.ts";
import type { Session } from "../presenters/presenter.ts";

export type TypedLine =
  | { readonly type: "empty" }
  | { readonly type: "message"; readonly speaker: string; readonly text: string }
  /** `/word rest`: for Weir, not for the agent. */
  | { readonly type: "command"; readonly name: string; readonly argument: string }
  | { readonly type: "quit" }
  /** `/as NAME`: who speaks from now on. */
  | { readonly type: "speaker"; readonly name: string }
  /** `/raw`: answers as they are written, or drawn. */
  | { readonly type: "raw" }
  /** A line without a valid meaning, and the advice for it. */
  | { readonly type: "mistake"; readonly why: string };

export const AS: PlatformCommand = {
  name: "as",
  help: "speak as somebody else from now on",
  argument: { name: "name", form: "NAME", help: "who speaks" },
};
export const RAW: PlatformCommand = {
  name: "raw",
  help: "show answers as they are written, without drawing their Markdown; again: draw it",
  argument: null,
};
export const HELP: PlatformCommand = {
  name: "help",
  help: "every command with what it takes, and the keys",
  argument: { name: "what", form: "all", help: "not only the common ones" },
};
export const QUIT: PlatformCommand = { name: "quit", help: "leave (so does Ctrl-D)", argument: null };

/** Commands of the session itself, beside those of every platform or in their place. */
export const SESSION_COMMANDS: readonly PlatformCommand[] = [AS, HELP, RAW, QUIT];

const COMMAND = /^\/([A-Za-z][\w-]*)(?:\s([^]*))?$/;
/** One word, a colon, white space, and something said: so `http://…` and `12:30` are no speakers. */
const SPEAKER = /^([^\s:/]{1,40}):\s+(\S[^]*)$/;
const MAX_NAME_LENGTH = 40;

/** Pure: what a typed (or pasted, then of several lines) text means. */
export function readTypedLine(line: string, context: Pick<Session, "speaker" | "multi">): TypedLine {
  const text = line.trim();
  if (text === "") return { type: "empty" };
  if (text.startsWith("//")) return { type: "message", speaker: context.speaker, text: text.slice(1) };
  const command = COMMAND.exec(text);
  if (command !== null) return readCommand(command[1] ?? "", (command[2] ?? "").trim());
  const said = context.multi ? SPEAKER.exec(text) : null;
  if (said !== null) return { type: "message", speaker: said[1] ?? context.speaker, text: said[2] ?? "" };
  // The first line's indentation stays: it may be code.
  return { type: "message", speaker: context.speaker, text: line.trimEnd().replace(/^(?:[^\S\n]*\n)+/, "") };
}

function readCommand(word: string, argument: string): TypedLine {
  const name = word.toLowerCase();
  if (name === "quit" || name === "exit") return { type: "quit" };
  if (name === "raw" && argument === "") return { type: "raw" };
  if (name !== "as") return { type: "command", name, argument };
  if (argument === "") return { type: "mistake", why: "Say who: /as NAME" };
  if (argument.length > MAX_NAME_LENGTH || argument.includes("\n")) {
    return { type: "mistake", why: `A name is one line of at most ${MAX_NAME_LENGTH} characters.` };
  }
  return { type: "speaker", name: argument };
}
