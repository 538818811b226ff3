// proves: src/prompts/template-names.ts
import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { compileTemplate } from "../../src/prompts/template.ts";

const RULES = { variables: { x: "text", l: { listOf: ["name"] } }, required: [] } as const;

function problemsOf(source: string): string[] {
  const compiled = compileTemplate(source, RULES);
  if ("render" in compiled) return [];
  return compiled.problems.map(({ line, message }) => `${line}: ${message}`);
}

suite("names that are defined", () => {
  const sources = [
    "{{ x }}",
    "{{ x and not x or x in 'abc' }}",
    "{% for i in l %}{{ i.name }}{{ loop.index }}{% endfor %}",
    "{% for i in l if i.name %}{{ i.name }}{% else %}{{ x }}{% endfor %}",
    "{% for n in range(3) %}{{ n }}{% endfor %}",
    "{% set y = x %}{{ y }}",
    "{% set y %}{{ x }}{% endset %}{{ y }}",
    "{% set ns = namespace(a=1) %}{% set ns.a = 2 %}{{ ns.a }}",
    "{% macro m(a, b=x) %}{{ a }}{{ b }}{% endmacro %}{{ m(1) }}",
    "{% macro m() %}{{ caller() }}{% endmacro %}{% call m() %}{{ x }}{% endcall %}",
    "{{ x | replace('a', x) | upper }}",
    "{% filter upper %}{{ x }}{% endfilter %}",
    "{{ 'yes' if x is defined else 'no' }}",
    "{{ {'k': x}['k'] }}{{ [x, x][0] }}{{ x[1:2] }}",
    "{# nothing here #}{{ none }}{{ -1 }}",
  ];
  for (const source of sources) {
    test(source, () => {
      assert.deepEqual(problemsOf(source), []);
    });
  }
});

suite("names that are not defined", () => {
  const cases: [string, string][] = [
    ["\n{{ y }}", "2: unknown variable `y`"],
    ["{{ x | replace('a', y) }}", "1: unknown variable `y`"],
    ["{% for i in l %}{% endfor %}{{ i }}", "1: unknown variable `i`"],
    ["{% for i in l %}{{ i.nam }}{% endfor %}", "1: unknown variable `i.nam`"],
    ["{% for i in l %}{{ loop.idx }}{% endfor %}", "1: unknown variable `loop.idx`"],
    ["{% for i in l if j %}{% endfor %}", "1: unknown variable `j`"],
    ["{% if true %}a{% else %}{{ y }}{% endif %}", "1: unknown variable `y`"],
    ["{% macro m(a=y) %}{% endmacro %}", "1: unknown variable `y`"],
    ["{{ {'k': y}['k'] }}", "1: unknown variable `y`"],
    ["{{ x if y else x }}", "1: unknown variable `y`"],
    ["{{ strftime_now('%Y') }}", "1: unknown variable `strftime_now`"],
    ["{{ y.z }}", "1: unknown variable `y`"],
    ["{{ x is defined and y is defined }}", "1: unknown variable `y`"],
  ];
  for (const [source, problem] of cases) {
    test(JSON.stringify(source), () => {
      assert.deepEqual(
        problemsOf(source).map((text) => text.split(": it has")[0]),
        [problem],
      );
    });
  }
});

suite("what is no template", () => {
  const cases: [string, string][] = [
    ["a\n{% if x %}b", "2: is not a valid template: {% if %} is never closed"],
    ["{% if x %}\n{% for i in l %}\n{% endfor %}", "1: is not a valid template: {% if %} is never closed"],
    ["a\n\n{% else %}", "3: is not a valid template: Unknown statement type: else"],
    ["a\n{{ 'b", "2: is not a valid template: Unexpected end of input"],
    ["a\n{# b", "2: is not a valid template: Missing end of comment tag"],
    ["a\n{% include 'b' %}", "2: is not a valid template: Unknown statement type: include"],
    ["{{ x | shout }}", "null: cannot be rendered: Unknown StringValue filter: shout"],
  ];
  for (const [source, problem] of cases) {
    test(JSON.stringify(source), () => {
      assert.deepEqual(problemsOf(source), [problem]);
    });
  }
});
