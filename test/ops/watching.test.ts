// The alerts and the dashboard in `ops/`: they name what the daemon measures, and each alert fires when it should.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { parser } from "@prometheus-io/lezer-promql";
import { parse as parseYaml } from "yaml";
import { z } from "zod";
import { EVENTS, MEMBER, openMeasured } from "../daemon/metrics/measured.ts";

const OPS = path.join(import.meta.dirname, "../../ops");
const read = (file: string): string => readFileSync(path.join(OPS, file), "utf8");

const rule = z.object({
  alert: z.string(),
  expr: z.string(),
  labels: z.object({ severity: z.enum(["page", "ticket"]) }),
  annotations: z.object({ summary: z.string(), runbook: z.string() }),
});
const rules = z
  .object({ groups: z.array(z.object({ rules: z.array(rule) })) })
  .parse(parseYaml(read("prometheus/alerts.yaml")))
  .groups.flatMap((group) => group.rules);

const target = z.object({ expr: z.string(), legendFormat: z.string() });
const panels = z
  .object({ panels: z.array(z.object({ title: z.string(), targets: z.array(target).default([]) })) })
  .parse(JSON.parse(read("grafana/weir.json"))).panels;

/** By metric, its labels with their values. */
type Exposed = ReadonlyMap<string, ReadonlyMap<string, ReadonlySet<string>>>;

/** What a daemon exposes that is in a cluster, and at which everything has happened. */
async function exposed(): Promise<Exposed> {
  const daemon = openMeasured({}, MEMBER);
  for (const event of EVENTS) daemon.events.emit(event);
  const found = new Map<string, Map<string, Set<string>>>([["up", new Map()]]);
  for (const sample of (await daemon.samples()).keys()) {
    const [name = "", labels = ""] = sample.split("{");
    const values = found.get(name) ?? new Map<string, Set<string>>();
    found.set(name, values);
    for (const [, label = "", value = ""] of labels.matchAll(/(\w+)="([^"]*)"/g))
      values.set(label, (values.get(label) ?? new Set()).add(value));
  }
  return found;
}

/** Labels that Prometheus itself gives each series. */
const OF_PROMETHEUS = ["job", "instance"];

/** The faults of an expression: unknown metrics, labels and values; what is no PromQL. */
function faultsOf(expr: string, known: Exposed): string[] {
  // Variables of Grafana stand for a duration, or within a text.
  const text = expr.replaceAll("$__rate_interval", "5m");
  const faults: string[] = [];
  const seen = new Set(OF_PROMETHEUS);
  let metric = "";
  const at = ({ from, to }: { readonly from: number; readonly to: number }): string => text.slice(from, to);
  const grouped: string[] = [];
  parser.parse(text).iterate({
    enter(node) {
      if (node.type.isError) faults.push(`no PromQL at ${node.from} of ${text}`);
      if (node.name === "VectorSelector") {
        metric = /^\w+/.exec(at(node))?.[0] ?? "";
        if (!known.has(metric)) faults.push(`no metric ${metric}`);
        for (const label of known.get(metric)?.keys() ?? []) seen.add(label);
      }
      if (node.name === "UnquotedLabelMatcher") {
        const [, label = "", sign = "", value = ""] = /^(\w+)([=!~]+)"(.*)"$/.exec(at(node)) ?? [];
        if (OF_PROMETHEUS.includes(label)) return;
        const values = known.get(metric)?.get(label);
        if (values === undefined) faults.push(`${metric} has no label ${label}`);
        else if (!sign.startsWith("!"))
          for (const one of value.split("|")) if (!values.has(one)) faults.push(`${label} is never ${one}`);
      }
      if (node.name === "LabelName" && node.node.parent?.name === "GroupingLabels") grouped.push(at(node));
    },
  });
  return [...faults, ...grouped.filter((label) => !seen.has(label)).map((label) => `no label ${label}`)];
}

test("the alerts and the panels ask for metrics, labels and values that a daemon has", async () => {
  const known = await exposed();
  const asked = [
    ...rules.map(({ alert, expr }) => ({ of: alert, expr, legend: "" })),
    ...panels.flatMap(({ title, targets }) =>
      targets.map(({ expr, legendFormat }) => ({ of: title, expr, legend: legendFormat })),
    ),
  ];
  assert.ok(asked.length > 60);
  const faults = asked.flatMap(({ of, expr }) => faultsOf(expr, known).map((fault) => `${of}: ${fault}`));
  assert.deepEqual(faults, []);
  // A label that an aggregation drops leaves a hole in the name of a line.
  const holes = asked.flatMap(({ of, expr, legend }) => {
    const by = /^\S* ?(?:sum|max|histogram_quantile\([^,]+, sum) by \(([^)]*)\)/.exec(expr)?.[1];
    const left = by?.split(", ");
    return [...legend.matchAll(/\{\{(\w+)\}\}/g)]
      .map(([, label = ""]) => label)
      .filter((label) => left !== undefined && !left.includes(label))
      .map((label) => `${of}: ${label}`);
  });
  assert.deepEqual(holes, []);
});

test("an expression with a wrong metric, label, value or form is found", async () => {
  const known = await exposed();
  const wrong = {
    weir_turns: "no metric weir_turns",
    'weir_turns_total{kind="failed"}': "weir_turns_total has no label kind",
    'weir_turns_total{outcome="fail"}': "outcome is never fail",
    "sum by (model) (weir_turns_total)": "no label model",
    "sum(weir_turns_total": "no PromQL at 20 of sum(weir_turns_total",
  };
  for (const [expr, fault] of Object.entries(wrong)) assert.deepEqual(faultsOf(expr, known), [fault]);
});

test("each metric of Weir is on the dashboard", () => {
  const shown = JSON.stringify(panels);
  // The version is for the choice of the daemon.
  const metrics = [...new Set(readMetricNames())].filter((name) => name !== "weir_info");
  assert.ok(metrics.length > 30);
  assert.deepEqual(
    metrics.filter((name) => !shown.includes(name)),
    [],
  );
});

function readMetricNames(): string[] {
  const file = path.join(import.meta.dirname, "../../src/daemon/metrics/instruments.ts");
  return [...readFileSync(file, "utf8").matchAll(/"(weir_\w+)"/g)].map(([, name = ""]) => name);
}

const cases = z
  .object({
    tests: z.array(
      z.object({
        alert_rule_test: z.array(z.object({ alertname: z.string(), exp_alerts: z.array(z.unknown()) })),
      }),
    ),
  })
  .parse(parseYaml(read("prometheus/alerts.test.yaml")))
  .tests.flatMap((one) => one.alert_rule_test);

test("each alert has a case in which it fires, one in which it does not, and a heading that says what to do", () => {
  const headings = (page: string): string[] =>
    [...readFileSync(path.join(OPS, "..", page), "utf8").matchAll(/^## (.+)$/gm)].map(([, title = ""]) =>
      title
        .toLowerCase()
        .replaceAll(/[^\w\s-]/g, "")
        .replaceAll(" ", "-"),
    );
  for (const { alert, annotations } of rules) {
    const of = cases.filter(({ alertname }) => alertname === alert);
    assert.ok(
      of.some(({ exp_alerts: fired }) => fired.length > 0),
      `${alert} fires in no case`,
    );
    assert.ok(
      of.some(({ exp_alerts: fired }) => fired.length === 0),
      `${alert} fires in each case`,
    );
    const [page = "", anchor = ""] = annotations.runbook.split("#");
    assert.ok(headings(page).includes(anchor), `${alert}: ${annotations.runbook}`);
  }
});

test("promtool finds each alert fire when it should", (t) => {
  const { error, status, stdout, stderr } = spawnSync(
    "promtool",
    ["test", "rules", path.join(OPS, "prometheus/alerts.test.yaml")],
    { encoding: "utf8" },
  );
  if (error !== undefined) return t.skip("promtool, which is a part of Prometheus, is not on the PATH");
  assert.equal(status, 0, `${stdout}${stderr}`);
});
