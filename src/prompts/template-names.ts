/**
 * Finds the names that a Jinja template uses but nobody gives it. Jinja prints an undefined name as nothing, so a
 * misspelt variable would only show as a prompt that lacks a part.
 */

/** One value, a list of texts, a list of records with these fields, or one of these words. */
export type VariableShape =
  | "text"
  | "number"
  | "flag"
  | "list"
  | { readonly listOf: readonly string[] }
  | { readonly oneOf: readonly string[] };
export type VariableShapes = Readonly<Record<string, VariableShape>>;

export interface NamesInUse {
  /** Names, or `loop variable.field`, that nothing defines. */
  readonly unknown: ReadonlySet<string>;
  /** Given variables that the template uses. */
  readonly used: ReadonlySet<string>;
}

/** What Jinja itself defines, less what would make a prompt differ from call to call (`strftime_now`). */
const GLOBALS = ["true", "false", "none", "True", "False", "None", "range", "namespace"];
const LOOP_FIELDS = "index index0 revindex revindex0 first last length previtem nextitem".split(" ");

/** A name in scope. `fields`: the only ones that it has; null: not known. */
interface Local {
  readonly fields: readonly string[] | null;
  /** Fields of its items, for a loop over it. */
  readonly itemFields: readonly string[] | null;
  readonly isVariable: boolean;
}

type Scope = Map<string, Local>;
type Node = Readonly<Record<string, unknown>>;

const PLAIN: Local = { fields: null, itemFields: null, isVariable: false };

/**
 * @param program the parsed template (`Template.parsed`)
 * @param variables what will be given to it
 */
export function namesInUse(program: unknown, variables: VariableShapes): NamesInUse {
  const scope: Scope = new Map(GLOBALS.map((name) => [name, PLAIN]));
  for (const [name, shape] of Object.entries(variables)) {
    const itemFields = typeof shape === "object" && "listOf" in shape ? shape.listOf : null;
    scope.set(name, { fields: null, itemFields, isVariable: true });
  }
  const walk = new Walk();
  walk.visit(program, scope);
  return walk;
}

class Walk implements NamesInUse {
  readonly unknown = new Set<string>();
  readonly used = new Set<string>();

  visit(node: unknown, scope: Scope): void {
    if (Array.isArray(node)) return node.forEach((item) => this.visit(item, scope));
    if (!isNode(node)) return;
    switch (node["type"]) {
      case "Identifier":
        return this.#name(nameOf(node), scope);
      case "MemberExpression":
        return this.#member(node, scope);
      case "For":
        return this.#loop(node, scope);
      case "Set":
        return this.#assignment(node, scope);
      case "Macro":
        scope.set(nameOf(node["name"]), PLAIN);
        return this.#callable(node["args"], node["body"], scope);
      case "CallStatement":
        this.visit(node["call"], scope);
        return this.#callable(node["callerArgs"], node["body"], scope);
      case "FilterExpression":
      case "FilterStatement":
        // The filter's own name is no variable; its arguments may be.
        this.#children([node["operand"], node["body"]], scope);
        return this.visit(isNode(node["filter"]) ? node["filter"]["args"] : undefined, scope);
      case "TestExpression":
        return this.visit(node["operand"], scope);
      case "KeywordArgumentExpression":
        return this.visit(node["value"], scope);
      case "ObjectLiteral":
        return node["value"] instanceof Map ? this.#children([...node["value"]].flat(), scope) : undefined;
      // Operators are tokens that look like identifiers: `and`, `in`.
      case "BinaryExpression":
        return this.#children([node["left"], node["right"]], scope);
      case "UnaryExpression":
        return this.visit(node["argument"], scope);
      default:
        return this.#children(Object.values(node), scope);
    }
  }

  #children(nodes: readonly unknown[], scope: Scope): void {
    for (const node of nodes) this.visit(node, scope);
  }

  #name(name: string, scope: Scope): void {
    const local = scope.get(name);
    if (local === undefined) this.unknown.add(name);
    else if (local.isVariable) this.used.add(name);
  }

  #member(node: Node, scope: Scope): void {
    this.visit(node["object"], scope);
    if (node["computed"] === true) return this.visit(node["property"], scope);
    const object = nameOf(node["object"]);
    const field = nameOf(node["property"]);
    const fields = scope.get(object)?.fields ?? null;
    if (fields !== null && !fields.includes(field)) this.unknown.add(`${object}.${field}`);
  }

  #loop(node: Node, scope: Scope): void {
    const { iterable } = node;
    // `for x in xs if x.y`: the condition sees the loop's variable.
    const isFiltered = isNode(iterable) && iterable["type"] === "SelectExpression";
    const list = isFiltered ? iterable["lhs"] : iterable;
    this.visit(list, scope);
    const inner: Scope = new Map(scope);
    const itemFields = scope.get(nameOf(list))?.itemFields ?? null;
    const isSingle = isNode(node["loopvar"]) && node["loopvar"]["type"] === "Identifier";
    declare(node["loopvar"], inner, { ...PLAIN, fields: isSingle ? itemFields : null });
    if (isFiltered) this.visit(iterable["test"], inner);
    inner.set("loop", { ...PLAIN, fields: LOOP_FIELDS });
    this.visit(node["body"], inner);
    this.visit(node["defaultBlock"], scope);
  }

  #assignment(node: Node, scope: Scope): void {
    this.visit(node["value"], scope);
    this.visit(node["body"], scope);
    const { assignee } = node;
    if (isNode(assignee) && assignee["type"] === "MemberExpression") this.visit(assignee, scope);
    else declare(assignee, scope, PLAIN);
  }

  #callable(parameters: unknown, body: unknown, scope: Scope): void {
    const inner: Scope = new Map(scope);
    for (const name of ["caller", "varargs", "kwargs"]) inner.set(name, PLAIN);
    for (const parameter of Array.isArray(parameters) ? parameters : []) {
      if (isNode(parameter) && parameter["type"] === "KeywordArgumentExpression") {
        this.visit(parameter["value"], scope);
        declare(parameter["key"], inner, PLAIN);
      } else declare(parameter, inner, PLAIN);
    }
    this.visit(body, inner);
  }
}

/** Brings the names of `x` or of `(x, y)` into scope. */
function declare(target: unknown, scope: Scope, local: Local): void {
  if (!isNode(target)) return;
  if (target["type"] === "Identifier") scope.set(nameOf(target), local);
  else if (Array.isArray(target["value"])) for (const part of target["value"]) declare(part, scope, local);
}

function nameOf(node: unknown): string {
  const isIdentifier = isNode(node) && node["type"] === "Identifier";
  return isIdentifier && typeof node["value"] === "string" ? node["value"] : "";
}

function isNode(value: unknown): value is Node {
  return typeof value === "object" && value !== null && "type" in value;
}
