import type { Focus, Signal } from "../../core/context.ts";

const SUMMARY_LENGTH = 160;
const MOST_PATHS = 6;
const MOST_SYMBOLS = 8;
/** Characters of the newest messages that are read: a longer text is a paste. */
const READ_LENGTH = 4000;

const PATH = /(?<![\w./-])(?:\.{0,2}\/)?(?:[\w.-]{1,80}\/){0,12}[\w-][\w.-]{0,80}\.[a-z]{1,6}\b/gi;
const FOLDER = /(?<![\w./-])(?:[\w.-]{1,80}\/){1,12}[\w.-]{1,80}/g;
/** Endings of a file name without a folder: `a.b.c` may also be a name in code. */
const FILE_ENDING =
  /\.(?:[cm]?[jt]sx?|md|py|go|rs|java|kt|[ch]|cpp|cs|rb|php|sh|sql|json|toml|ya?ml|txt|html?|css|csv|log|lock|ini|conf)$/i;
const QUOTED = /`([^`\n]{2,80})`/g;
const CAMEL = /\b(?:[a-z]{1,40}|[A-Z][a-z]{1,40})(?:[A-Z][a-z0-9]{0,40}){1,8}\b/g;
const DOTTED = /\b[A-Za-z_]\w{0,40}(?:\.[A-Za-z_]\w{0,40}){1,6}\b/g;

const SIGNALS: readonly (readonly [Signal, RegExp])[] = [
  ["continue", /\b(?:continue|go on|resume|carry on|pick up|weiter(?:machen)?)\b/i],
  ["plan", /\b(?:plan|roadmap|design|propose|outline|next steps?)\b/i],
  ["change", /\b(?:change|fix|edit|implement|refactor|rename|remove|add|update)\b/i],
  ["verify", /\b(?:verify|test|check|review|validate|confirm)\b/i],
];

/** Finds the topics of the newest messages. Pure. @param texts oldest first */
export function focusOf(texts: readonly string[]): Focus {
  const newest = texts.at(-1) ?? "";
  const text = texts.join("\n").slice(-READ_LENGTH);
  const paths = unique([...text.matchAll(PATH), ...text.matchAll(FOLDER)].map(([path]) => path)).filter(
    (path) => path.includes("/") || FILE_ENDING.test(path),
  );
  const quoted = [...text.matchAll(QUOTED)].map(([, name = ""]) => name.trim());
  const named = [...text.matchAll(CAMEL), ...text.matchAll(DOTTED)].map(([name]) => name);
  return {
    summary: Array.from(newest.slice(0, READ_LENGTH).replaceAll(/\s+/g, " ").trim())
      .slice(0, SUMMARY_LENGTH)
      .join(""),
    paths: paths.slice(0, MOST_PATHS),
    symbols: unique([...quoted, ...named])
      .filter((name) => name !== "" && !paths.some((path) => path.includes(name)))
      .slice(0, MOST_SYMBOLS),
    signals: SIGNALS.flatMap(([signal, words]) => (words.test(text) ? [signal] : [])),
  };
}

function unique(texts: readonly string[]): string[] {
  return [...new Set(texts)];
}

const MOST_RAISE = 12;
const RAISE = { path: 6, symbol: 4, signal: 3 } as const;

/** How much a text on the same topics gains in priority, and the matching words. Pure. */
export function raiseOf(text: string, focus: Focus, listensTo: readonly Signal[]) {
  const paths = focus.paths.filter((path) => text.includes(path));
  const symbols = focus.symbols.filter((symbol) => text.includes(symbol));
  const signals = focus.signals.filter((signal) => listensTo.includes(signal));
  const raise = paths.length * RAISE.path + symbols.length * RAISE.symbol + signals.length * RAISE.signal;
  return { raise: Math.min(raise, MOST_RAISE), evidence: [...paths, ...symbols, ...signals] };
}
