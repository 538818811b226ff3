import { jsonOf } from "../../core/json.ts";
import { escapeLabels } from "../../context/labels.ts";
import type { Entry } from "../../core/entry.ts";
import { sliceWhole } from "../../text/text.ts";

/** Facts that patterns extract from tool calls and results, so that they do not depend on a model's attention. */
export interface Hints {
  readonly files: readonly string[];
  readonly commands: readonly string[];
  readonly errors: readonly string[];
  readonly links: readonly string[];
}

const MAX_HINTS = 12;
/** Characters. */
const MAX_LENGTH = 160;
const MAX_LINK = 300;

const LINK = /https?:\/\/[^\s"'<>`\\)\]}]+/g;
const BETWEEN_PATHS = /[\s"'<>`()[\]{},;=|]+/;
const FILE =
  /^[\w~@+.-][\w@+./\\-]*\.(?:[cm]?[jt]sx?|py|rb|go|rs|java|kt|swift|c|h|cc|cpp|hpp|cs|php|sh|sql|md|txt|jsonl?|ya?ml|toml|ini|conf|cfg|env|log|lock|csv|tsv|html?|css|xml|pdf|png|jpe?g|svg|zip|gz|tar|docx?|xlsx?)$|^\/[\w@+./-]+$/i;
/** `:12:3` or a full stop after a path. The lookbehind matches backwards: forwards, the pattern would restart at each mark. */
const BEHIND_PATH = /$(?<=([.:!?]*(?::\d+)*[.:!?]*))/;
const ERROR =
  /\b(?:\w{0,40}(?:error|exception)|traceback|fatal|panic|failed|failure|denied|ENOENT|EACCES|ECONN\w+)\b/i;
const COMMAND_KEYS: ReadonlySet<string> = new Set(["command", "cmd", "script", "shell"]);

/** Collects hints, newest first. Passages of the log that a tool result quotes are not searched. */
export function collectHints(entries: readonly Entry[]): Hints {
  const files = new Set<string>();
  const commands = new Set<string>();
  const errors = new Set<string>();
  const links = new Set<string>();
  for (const entry of entries.toReversed()) {
    if (entry.deleted || entry.expired === true) continue;
    for (const text of toolTexts(entry)) {
      for (const [link] of text.matchAll(LINK)) {
        // A truncated link is useless.
        if (link.length <= MAX_LINK) add(links, link, MAX_LINK);
      }
      for (const file of filesIn(text.replaceAll(LINK, " "))) add(files, file);
    }
    if (entry.kind === "tool_call") {
      for (const call of entry.calls)
        for (const command of commandsOf(call.arguments)) add(commands, command);
    }
    if (entry.kind === "tool_result") {
      for (const line of entry.text.split("\n")) if (ERROR.test(line)) add(errors, line);
    }
  }
  return { files: [...files], commands: [...commands], errors: [...errors], links: [...links] };
}

function add(found: Set<string>, text: string, maxLength = MAX_LENGTH): void {
  const line = escapeLabels(sliceWhole(text.replaceAll(/\s+/g, " ").trim(), 0, maxLength));
  if (line !== "" && found.size < MAX_HINTS) found.add(line);
}

function filesIn(text: string): string[] {
  const words = text.split(BETWEEN_PATHS).filter(({ length }) => length <= MAX_LENGTH);
  return words.map((word) => withoutBehind(word)).filter((word) => FILE.test(word));
}

function withoutBehind(word: string): string {
  const behind = BEHIND_PATH.exec(word)?.[1] ?? "";
  return word.slice(0, word.length - behind.length);
}

function toolTexts(entry: Entry): string[] {
  if (entry.kind === "tool_call") return entry.calls.map((call) => call.arguments);
  return entry.kind === "tool_result" ? [entry.text] : [];
}

function commandsOf(json: string): string[] {
  // A model wrote the arguments; without valid JSON there is no command.
  const value = jsonOf(json);
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, one]) =>
    COMMAND_KEYS.has(key) && typeof one === "string" ? [one] : [],
  );
}
