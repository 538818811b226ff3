import { ParseError, parseTOML, type AST } from "toml-eslint-parser";
import { configProblem, type ConfigProblem } from "./config-error.ts";
import { redact, redactLine } from "./redact.ts";
import type { Outcome } from "./text-file.ts";
import { emptyTable, setAt, valueAt, type KeyPath } from "./value-tree.ts";

interface Place {
  /** From 1. */
  readonly line: number;
  /** From 1. */
  readonly column: number;
}

/** A TOML file as plain values (tables without a prototype), with the place of each. */
export interface TomlDocument {
  readonly value: Readonly<Record<string, unknown>>;
  /** The place of a key, or of the nearest table around it in the file. */
  locate(path: KeyPath): Place | null;
}

/**
 * Parses TOML. It builds the values itself: the parser's `getStaticTOMLValue` writes a table called `__proto__` onto
 * the prototype of all objects.
 * @param shownAs the file's name in problems
 * @param isPublicKey whether the values of a key may be shown in an excerpt
 */
export function parseToml(
  text: string,
  shownAs: string,
  isPublicKey: (key: string) => boolean,
): Outcome<TomlDocument> {
  let program: AST.TOMLProgram;
  try {
    program = parseTOML(text);
  } catch (error) {
    return { problem: syntaxProblem(error, text, shownAs, isPublicKey) };
  }
  const builder = new DocumentBuilder();
  try {
    for (const node of program.body[0].body) builder.add(node);
  } catch (error) {
    if (!(error instanceof TooDeepError)) throw error;
    return { problem: configProblem({ file: shownAs, ...error.place, message: error.message }) };
  }
  return { value: builder };
}

/** Most tables that are left out. */
const MAX_CUTS = 50;

/**
 * Parses TOML without the tables that cannot be read.
 * @returns `cut`: the texts of these tables; null: nothing is readable
 */
export function parseReadableToml(
  text: string,
): { readonly document: TomlDocument; readonly cut: readonly string[] } | null {
  const cut: string[] = [];
  for (let lines = text.split("\n"); cut.length <= MAX_CUTS;) {
    const parsed = parseToml(lines.join("\n"), "", () => false);
    if ("value" in parsed) return { document: parsed.value, cut };
    const [from, to] = tableAt(lines, (parsed.problem.line ?? 0) - 1);
    cut.push(lines.slice(from, to).join("\n"));
    // Replaced by empty lines, so that the other lines keep their numbers.
    const left = lines.map((line, index) => (index >= from && index < to ? "" : line));
    if (left.join() === lines.join()) return null;
    lines = left;
  }
  return null;
}

/** `[defaults]`, also unfinished, but no line of a list. */
const TABLE_HEAD = /^\s*\[[^,]*$/;

/** The lines of the table around a line. @returns first and end, from 0 */
function tableAt(lines: readonly string[], line: number): readonly [from: number, to: number] {
  const isHead = (text: string): boolean => TABLE_HEAD.test(text.replace(/#.*/, ""));
  const from = lines.findLastIndex((text, index) => index <= line && isHead(text));
  const to = lines.findIndex((text, index) => index > Math.max(from, line) && isHead(text));
  return [Math.max(from, 0), to < 0 ? lines.length : to];
}

/** Longest path to a value; no real setting has ten parts. */
const MAX_DEPTH = 100;

class TooDeepError extends Error {
  readonly place: Place;

  constructor(place: Place) {
    super(`is nested more than ${MAX_DEPTH} levels deep here`);
    this.place = place;
  }
}

class DocumentBuilder implements TomlDocument {
  readonly value: Record<string, unknown> = emptyTable();
  readonly #places = new Map<string, Place>();

  locate(path: KeyPath): Place | null {
    for (let length = path.length; length > 0; length--) {
      const place = this.#places.get(JSON.stringify(path.slice(0, length)));
      if (place !== undefined) return place;
    }
    return null;
  }

  /** The place of exactly this key. */
  placeOf(path: KeyPath): Place | null {
    return this.#places.get(JSON.stringify(path)) ?? null;
  }

  add(node: AST.TOMLKeyValue | AST.TOMLTable): void {
    if (node.type === "TOMLKeyValue") this.#addKeyValue([], node);
    else this.#addTable(node);
  }

  #addTable(node: AST.TOMLTable): void {
    this.#place(node.resolvedKey, node);
    // For a list of tables, the first one.
    node.resolvedKey.forEach((_, index, path) => this.#place(path.slice(0, index), node));
    if (valueAt(this.value, node.resolvedKey) === undefined) {
      setAt(this.value, node.resolvedKey, emptyTable());
    }
    for (const pair of node.body) this.#addKeyValue(node.resolvedKey, pair);
  }

  #addKeyValue(base: KeyPath, node: AST.TOMLKeyValue): void {
    const path = [...base];
    for (const key of node.key.keys) {
      path.push(nameOf(key));
      this.#place(path, node);
    }
    setAt(this.value, path, this.#content(path, node.value));
  }

  #content(path: KeyPath, node: AST.TOMLContentNode): unknown {
    if (node.type === "TOMLValue") return node.value;
    if (node.type === "TOMLArray") {
      return node.elements.map((element, index) => {
        this.#place([...path, index], element);
        return this.#content([...path, index], element);
      });
    }
    setAt(this.value, path, emptyTable());
    for (const pair of node.body) this.#addKeyValue(path, pair);
    return valueAt(this.value, path);
  }

  /** @throws TooDeepError */
  #place(path: KeyPath, node: AST.TOMLNode): void {
    const place = { line: node.loc.start.line, column: node.loc.start.column + 1 };
    if (path.length > MAX_DEPTH) throw new TooDeepError(place);
    const key = JSON.stringify(path);
    if (!this.#places.has(key)) this.#places.set(key, place);
  }
}

function nameOf(key: AST.TOMLBare | AST.TOMLQuoted): string {
  return key.type === "TOMLBare" ? key.name : key.value;
}

function syntaxProblem(
  error: unknown,
  text: string,
  file: string,
  isPublicKey: (key: string) => boolean,
): ConfigProblem {
  if (!(error instanceof ParseError)) {
    // Lists nested deeper than the stack allows end here.
    return configProblem({ file, message: "cannot be read as TOML: it is nested too deeply or damaged" });
  }
  const lines = text.split(/\r?\n/);
  const end = placeBeforeLineBreak(error, lines);
  const line = lines[end.line - 1] ?? "";
  const repeated = error.message.startsWith("Defining a key multiple")
    ? describeRepetition(lines, end.line)
    : null;
  return configProblem({
    file,
    line: end.line,
    column: end.column,
    message: `is not valid TOML: ${redact(printable(repeated ?? explain(error.message)))}`,
    excerpt: excerptOf(line, end.column, isPublicKey),
  });
}

/**
 * Both places of a table or key that stands twice: `[llm] on line 4 stands again on line 20`. Null: the first is not found, as it is
 * within one value with the second.
 * @param line the second one's, from 1
 */
function describeRepetition(lines: readonly string[], line: number): string | null {
  const before = readTree(lines.slice(0, line - 1).join("\n"));
  const own = lines[line - 1] ?? "";
  const again = readTree(own) ?? readTree(`${own.slice(0, own.indexOf("=") + 1)} 0`);
  const [repeated] = again?.body[0].body ?? [];
  if (before === null || repeated === undefined) return null;
  const document = new DocumentBuilder();
  for (const node of before.body[0].body) document.add(node);
  const isTable = repeated.type === "TOMLTable";
  const last = before.body[0].body.at(-1);
  const table = isTable || last?.type !== "TOMLTable" ? [] : last.resolvedKey;
  const keys = isTable ? repeated.resolvedKey : repeated.key.keys.map(nameOf);
  const first = document.placeOf([...table, ...keys]);
  if (first === null) return null;
  const name = isTable ? `[${keys.join(".")}]` : keys.join(".");
  return `${name} on line ${first.line} stands again on line ${line}: one of them must go`;
}

/** Null: it is no TOML. */
function readTree(text: string): AST.TOMLProgram | null {
  try {
    return parseTOML(text);
  } catch (error) {
    if (error instanceof ParseError) return null;
    throw error;
  }
}

/** The parser's message contains the offending character, which may be unprintable. */
function printable(message: string): string {
  return message.replaceAll(
    /[\p{Cc}\p{Cf}]/gu,
    (character) => `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}`,
  );
}

/** Longest line of an excerpt: a longer one would wrap, and misplace the caret. */
const LONGEST_EXCERPT = 160;

function excerptOf(line: string, column: number, isPublicKey: (key: string) => boolean): string | null {
  if (line.length > LONGEST_EXCERPT) return null;
  return `${redactLine(line, isPublicKey).replaceAll(CONTROLS, "\uFFFD")}\n${" ".repeat(column - 1)}^`;
}

/** Replaced one for one, so that the caret still points at its place. */
// oxlint-disable-next-line no-control-regex -- control characters are what a terminal must not get
const CONTROLS = /[\u0000-\u001f\u007f-\u009f]/g;

/** A mistake at a line break is reported at the start of the next line; it is at the end of this one. */
function placeBeforeLineBreak(error: ParseError, lines: readonly string[]): Place {
  const previous = lines[error.lineNumber - 2];
  if (
    error.column > 0 ||
    previous === undefined ||
    !/^Unterminated|must be on the same line/.test(error.message)
  ) {
    return { line: error.lineNumber, column: error.column + 1 };
  }
  return { line: error.lineNumber - 1, column: previous.length + 1 };
}

/** The parser's message for common mistakes, in plain words. */
function explain(message: string): string {
  if (message.startsWith("Unexpected character")) return "unexpected character (a text needs quotes)";
  if (message.startsWith("Unterminated string")) return "the closing quote of a text is missing";
  if (message.startsWith("Unterminated table-key")) return "the closing bracket of a table is missing";
  if (message.includes("must be on the same line")) {
    return "the line ends too early: expected `key = value` or `[table]` on one line";
  }
  if (message.startsWith("Unterminated array")) return "the closing bracket of a list is missing";
  if (message.startsWith("Defining a key multiple")) return "this key or table was set before";
  if (message.startsWith("Unspecified values")) return "the value is missing";
  if (message.startsWith("Expected equal")) return "expected `key = value` or `[table]`";
  return message;
}
