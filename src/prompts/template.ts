import { Template as JinjaTemplate, parse, tokenize } from "@huggingface/jinja";
import { errorMessage } from "../core/errors.ts";
import { namesInUse, type VariableShape, type VariableShapes } from "./template-names.ts";

/** What a template is given, and what of it the template must use. */
export interface TemplateRules {
  readonly variables: VariableShapes;
  /** Names of variables; one that is not used is a part of the prompt that somebody lost. */
  readonly required: readonly string[];
}

type TemplateValues = Readonly<Record<string, unknown>>;

export interface TemplateProblem {
  /** From 1; null if it is not known. */
  readonly line: number | null;
  readonly message: string;
}

/** Values are data: nothing in them is ever read as a template. White space at both ends is cut off. */
export type Render = (values: TemplateValues) => string;

/**
 * Parses a template, checks its names, and tries it with full and with empty values, so that a filter that does
 * not exist fails now and not in the middle of a turn.
 */
export function compileTemplate(
  source: string,
  rules: TemplateRules,
): { readonly render: Render } | { readonly problems: readonly TemplateProblem[] } {
  const text = source.replaceAll(/\r\n?/g, "\n");
  let template: JinjaTemplate;
  try {
    template = new JinjaTemplate(text);
  } catch (error) {
    return { problems: [syntaxProblem(text, error)] };
  }
  const render: Render = (values) => template.render({ ...values }).trim();
  const wrongNames = checkNames(template, text, rules);
  // A name that is not there may be why a trial fails: one mistake is one problem.
  const problems = wrongNames.length > 0 ? wrongNames : tryOut(render, rules);
  return problems.length > 0 ? { problems } : { render };
}

function checkNames(template: JinjaTemplate, text: string, rules: TemplateRules): TemplateProblem[] {
  const names = namesInUse(template.parsed, rules.variables);
  const known = Object.keys(rules.variables);
  const has = known.length === 0 ? "it has no variables" : `it has ${known.join(", ")}`;
  const unknown = [...names.unknown].map((name) => ({
    line: lineOfName(text, name),
    message: `unknown variable \`${name}\`: ${has}`,
  }));
  const missing = rules.required
    .filter((name) => !names.used.has(name))
    .map((name) => ({
      line: null,
      message: `the variable \`${name}\` is missing: the template must use it`,
    }));
  return [...unknown, ...missing];
}

/** Renders with full and with empty values, and once with each number and each word on which a template may branch. */
function tryOut(render: Render, { variables }: TemplateRules): TemplateProblem[] {
  const shapes = Object.entries(variables);
  const valuesOf = (value: (name: string, shape: VariableShape) => unknown): TemplateValues =>
    Object.fromEntries(shapes.map(([name, shape]) => [name, value(name, shape)]));
  const full = valuesOf(fullSample);
  const empty = valuesOf((_, shape) => (isList(shape) ? [] : ""));
  const branches = Math.max(0, ...shapes.map(([, shape]) => branchesOf(shape).length));
  const samples = Array.from({ length: branches }, (_, index) =>
    valuesOf((name, shape) => branchesOf(shape).at(index % branchesOf(shape).length) ?? fullSample(name, shape)),
  );
  const messages = [full, empty, ...samples]
    .map((values) => failureOf(render, values))
    .filter((message) => message !== null);
  return [...new Set(messages)].map((message) => ({ line: null, message: `cannot be rendered: ${message}` }));
}

function isList(shape: VariableShape): boolean {
  return shape === "list" || (typeof shape === "object" && "listOf" in shape);
}

function branchesOf(shape: VariableShape): readonly (string | number)[] {
  if (shape === "number") return [1, 12];
  return typeof shape === "object" && "oneOf" in shape ? shape.oneOf : [];
}

function fullSample(name: string, shape: VariableShape): unknown {
  if (!isList(shape)) return name;
  const fields = typeof shape === "object" && "listOf" in shape ? shape.listOf : null;
  return [1, 2].map((number) =>
    fields === null
      ? `item ${number}`
      : Object.fromEntries(fields.map((field) => [field, `${field} ${number}`])),
  );
}

function failureOf(render: Render, values: TemplateValues): string | null {
  try {
    render(values);
    return null;
  } catch (error) {
    return errorMessage(error);
  }
}

/** The syntax tree has no places: the first tag that holds the name is where people will look. */
function lineOfName(text: string, name: string): number | null {
  const word = new RegExp(`\\b${name.split(".").at(-1) ?? name}\\b`);
  const index = text.split("\n").findIndex((line) => {
    const tag = line.search(/\{[{%]/);
    return tag >= 0 && word.test(line.slice(tag));
  });
  return index < 0 ? null : index + 1;
}

/** Neither the lexer nor the parser tells the place of an error: find it by what still works without it. */
function syntaxProblem(text: string, error: unknown): TemplateProblem {
  const message = `is not a valid template: ${errorMessage(error)}`;
  const lines = text.split("\n");
  const tokenCounts = lines.map((_, index) => countTokens(lines.slice(0, index + 1).join("\n")));
  if (countTokens(text) === null) {
    const lastGood = tokenCounts.findLastIndex((count) => count !== null);
    return { line: Math.min(lastGood + 2, lines.length), message };
  }
  const lineOf = (token: number): number | null => {
    const index = tokenCounts.findIndex((count) => count !== null && count > token);
    return index < 0 ? null : index + 1;
  };
  const tokens: Token[] = tokenize(text, { lstrip_blocks: true, trim_blocks: true });
  const furthest = furthestToken(tokens);
  if (furthest < tokens.length) return { line: lineOf(furthest), message };
  const open = lastOpenBlock(tokens);
  if (open === null) return { line: lines.length, message: "is not a valid template: it ends too early" };
  return { line: lineOf(open.token), message: `is not a valid template: {% ${open.name} %} is never closed` };
}

function countTokens(text: string): number | null {
  try {
    return tokenize(text, { lstrip_blocks: true, trim_blocks: true }).length;
  } catch {
    // Only whether it can be read is asked; why not is told by the error that led here.
    return null;
  }
}

/** The part of the lexer's token that is used here; the package's own types do not resolve under `nodenext`. */
interface Token {
  readonly type: string;
  readonly value: string;
}

/** The last token that the parser looked at before it gave up. */
function furthestToken(tokens: Token[]): number {
  let furthest = 0;
  const watched = new Proxy(tokens, {
    get(target, key): unknown {
      if (typeof key === "string" && /^\d+$/.test(key)) furthest = Math.max(furthest, Number(key));
      return Reflect.get(target, key);
    },
  });
  try {
    parse(watched);
  } catch {
    // It fails, as it did before: the question is where.
  }
  return furthest;
}

const BLOCKS = new Set(["if", "for", "macro", "call", "filter"]);

function lastOpenBlock(tokens: readonly Token[]): { readonly name: string; readonly token: number } | null {
  const open: { name: string; token: number }[] = [];
  tokens.forEach((token, index) => {
    const name = tokens[index + 1]?.value ?? "";
    if (token.type !== "OpenStatement") return;
    if (BLOCKS.has(name)) open.push({ name, token: index });
    else if (name.startsWith("end")) open.pop();
  });
  return open.at(-1) ?? null;
}
