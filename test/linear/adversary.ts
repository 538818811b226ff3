import { type AST, RegExpParser, visitRegExpAST } from "@eslint-community/regexpp";
import type { Growing } from "./growth.ts";

/** Texts that are made to be hard for a regular expression: of what it takes, without what it waits for. */

/** Characters of which those are chosen that a class takes. */
const POOL = Array.from(
  "a1 \n\r\u2028A\t_.-/:=+*`~|[]()<>{}\"'\\#@&;,!?%$^0bxz9é\u00a0\u3042\u30a2漢한☃\u0301\u200b\u{1f600}\u0001",
);
/** Most of them for one class: one of each kind. */
const WITNESSES = 3;
/** Hardly an expression takes it. */
const STRANGE = "\u0001";
const ENDS = ["", STRANGE, "\n"];
/** Repeats of an element that are taken for a bounded number of it. */
const FEW = 30;
const MANY = 10;
/** Of one expression. */
const MOST_TEXTS = 16;

const parser = new RegExpParser();

interface Parts {
  readonly head: string;
  readonly unit: string;
  readonly second?: string;
  readonly end: string;
}

/** @returns each with its parts as its name */
export function hardTexts({ source, flags }: RegExp): Growing[] {
  const mode = { unicode: flags.includes("u"), unicodeSets: flags.includes("v") };
  const pattern = parser.parsePattern(source, 0, source.length, mode);
  const sampler = new Sampler(flags);
  const found = new Map<string, Parts>();
  const add = (parts: Parts) => {
    if (parts.unit !== "") found.set(JSON.stringify(parts), parts);
  };
  let before: { readonly unit: string; readonly head: string } | null = null;
  for (const { element, head } of elementsOf(pattern, sampler)) {
    for (const unit of sampler.samplesOf(element.type === "Quantifier" ? element.element : element)) {
      if (element.type !== "Quantifier" || element.max < MANY) {
        add({ head: "", unit, end: "" });
        // A word that another has to stand before.
        if (unit.length > 1) add({ head: "", unit: ` ${unit}`, end: "" });
        continue;
      }
      for (const end of ENDS) add({ head, unit, end });
      add({ head: "", unit, end: STRANGE });
      if (before !== null) add({ head: before.head, unit: before.unit, second: unit, end: STRANGE });
      add({ head: "", unit: head + unit.repeat(2), end: "" });
      before = { unit, head };
    }
  }
  for (const alternative of pattern.alternatives) {
    const whole = sampler.ofAlternative(alternative);
    for (let length = 1; length <= Math.min(whole.length, FEW); length++)
      add({ head: "", unit: whole.slice(0, length), end: "" });
    add({ head: "", unit: whole, end: "" });
  }
  const all = [...found.values()];
  // Of a long list of words each is as hard as the next.
  const step = Math.max(1, all.length / MOST_TEXTS);
  return Array.from(
    { length: Math.min(all.length, MOST_TEXTS) },
    (_, index) => all[Math.floor(index * step)],
  ).flatMap((parts) => (parts === undefined ? [] : [growing(parts)]));
}

export function growing(parts: Parts): Growing {
  const { head, unit, second = "", end } = parts;
  return {
    name: JSON.stringify(parts),
    text: (length) => {
      const half = second === "" ? length : length / 2;
      const repeated = second === "" ? "" : second.repeat(Math.ceil(half / second.length));
      // Joined: a text of pieces would be put together by whoever reads it first.
      return [head, unit.repeat(Math.ceil(half / unit.length)), repeated, end].join("");
    },
  };
}

/** Each element of a pattern, inner ones as well, behind what a match has before it. */
function elementsOf(
  pattern: AST.Pattern,
  sampler: Sampler,
): { readonly element: AST.Element; readonly head: string }[] {
  const found: { readonly element: AST.Element; readonly head: string }[] = [];
  const walk = (alternatives: readonly AST.Alternative[], head: string) => {
    for (const alternative of alternatives) {
      let behind = head;
      for (const element of alternative.elements) {
        found.push({ element, head: behind });
        const inner = element.type === "Quantifier" ? element.element : element;
        if ("alternatives" in inner) walk(inner.alternatives, behind);
        behind += sampler.samplesOf(element)[0] ?? "";
      }
    }
  };
  walk(pattern.alternatives, "");
  return found;
}

class Sampler {
  readonly #flags: string;

  constructor(flags: string) {
    this.#flags = flags.replaceAll(/[^iuvs]/g, "");
  }

  ofAlternative({ elements }: AST.Alternative): string {
    return elements.map((element) => this.samplesOf(element)[0] ?? "").join("");
  }

  /** Texts that an element takes; none: it takes no character. */
  samplesOf(element: AST.Element): string[] {
    switch (element.type) {
      case "Character":
        return [String.fromCodePoint(element.value)];
      case "CharacterSet":
      case "CharacterClass":
      case "ExpressionCharacterClass": {
        const one = new RegExp(`^(?:${element.raw})$`, this.#flags);
        const taken = POOL.filter((character) => one.test(character));
        return taken.length === 0 ? membersOf(element) : taken.slice(0, WITNESSES);
      }
      case "Group":
      case "CapturingGroup":
        return element.alternatives.map((alternative) => this.ofAlternative(alternative));
      case "Quantifier": {
        const times = Math.min(Math.max(element.min, 1), FEW);
        return this.samplesOf(element.element).map((sample) => sample.repeat(times));
      }
      case "Assertion":
        return element.kind === "lookahead" && !element.negate
          ? element.alternatives.map((alternative) => this.ofAlternative(alternative))
          : [];
      case "Backreference": {
        const group = Array.isArray(element.resolved) ? element.resolved[0] : element.resolved;
        return group === undefined ? [] : this.samplesOf(group);
      }
    }
  }
}

/** Characters that stand in a class by name: of one that takes none of the pool. */
function membersOf(element: AST.Element): string[] {
  const found: string[] = [];
  visitRegExpAST(element, {
    onCharacterEnter: ({ value }) => void found.push(String.fromCodePoint(value)),
  });
  return found.slice(0, WITNESSES);
}
