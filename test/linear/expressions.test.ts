import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { analyse } from "scslre";
import { z } from "zod";
import { withKey, withVariables } from "../../src/cli/init/edit-text.ts";
import { compileTemplate } from "../../src/prompts/template.ts";
import { hardTexts } from "./adversary.ts";
import { firstSlow, stopping } from "./growth.ts";
import { built, freshly, type Expression, expressions } from "./sources.ts";

/** Longest that one expression may take with all its texts; one that takes longer never ends. */
const ENDLESS_MS = 120_000;

/** Calls a function that builds its expressions once. */
async function called(file: string, name: string, ...texts: readonly string[]): Promise<unknown> {
  const functions = z.record(z.string(), z.unknown()).parse({ ...Object(await freshly(file)) });
  const found = functions[name];
  assert.ok(typeof found === "function", name);
  return Reflect.apply(found, undefined, texts);
}

/** Expressions that are built out of what a function is called with, or when they are first needed. */
const CALLS: readonly (() => unknown)[] = [
  () => withVariables("A=1\n", { TOKEN: "x" }),
  () => withKey("[models]\na = 1\n", "models", "name", '"x"'),
  async () => called("src/memory/named-times.ts", "namedTimes", "on friday, 3 march", "2026-11-21"),
  async () => called("src/text/recurrences.ts", "findRecurrence", "every friday"),
  () => compileTemplate("{{ unknown }}", { variables: {}, required: [] }),
];

const { literals, constructions } = expressions();
const constructed = await built(constructions, CALLS);
const all = [
  ...new Map([...literals, ...constructed].map((one) => [`${one.source}/${one.flags}`, one])).values(),
];

/** As it is used where it is used most: from each place of a text on. */
function work({ source, flags }: Expression): {
  readonly expression: RegExp;
  readonly scan: (text: string) => void;
} {
  const expression = new RegExp(source, `${flags.replaceAll(/[gy]/g, "")}g`);
  const scan = (text: string): void => {
    let previous = -1;
    for (expression.lastIndex = 0; expression.test(text); previous = expression.lastIndex)
      if (expression.lastIndex === previous) expression.lastIndex++;
  };
  return { expression, scan };
}

describe("regular expressions take time that grows with the text alone", () => {
  test("each place that builds one is known", () => {
    const found = new Set(constructed.map(({ site }) => site));
    assert.deepEqual(
      constructions.filter((site) => !found.has(site)),
      [],
      "no call in CALLS builds it",
    );
  });

  test("measured, with texts made for each", () => {
    const slow = all.flatMap((one) => {
      const { expression, scan } = work(one);
      const why = stopping(ENDLESS_MS, () => firstSlow(scan, hardTexts(expression)));
      return why === null ? [] : [`${one.site} /${one.source}/${one.flags} ${why}`];
    });
    assert.deepEqual(slow, []);
  });

  test("by a checker, whatever the text", () => {
    const reported = all.filter((one) => analyse(work(one).expression).reports.length > 0);
    assert.deepEqual(
      reported.map(({ site, source }) => `${site} /${source}/`),
      [],
    );
  });
});

test("what is not linear is found", () => {
  for (const source of [String.raw`\s+$`, String.raw`\S+:\/\/\S+`, "=+$"]) {
    const square = work({ site: "", source, flags: "" });
    const found = stopping(ENDLESS_MS, () => firstSlow(square.scan, hardTexts(square.expression)));
    assert.ok(found !== null, source);
  }
});
