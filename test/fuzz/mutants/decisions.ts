import { type CompactionState, type Decision, decide } from "../../../src/compactor/policy/policy.ts";
import type { Mutant } from "./mutant.ts";
import { writesWhenDue } from "./write-ahead.ts";

/** Ends a leaf where a call has still its results behind it. */
function cutAnywhere(state: CompactionState): Decision {
  const decision = decide(state);
  if (decision.kind !== "job" || decision.plan.kind !== "leaf") return decision;
  const { toSeq } = decision.plan;
  // Behind the end that was chosen: so the target is reached all the same.
  const call = state.history.entries.find(
    ({ kind, seq }) => kind === "tool_call" && seq > toSeq && seq < state.firstKept,
  );
  if (call === undefined) return decision;
  return { ...decision, plan: { ...decision.plan, toSeq: call.seq } };
}

/** Lets summaries pile up. */
function withoutMerges(state: CompactionState): Decision {
  const { summaries } = state.history;
  const apart = summaries.map((summary) => ({ ...summary, kind: "reset" as const }));
  return decide({ ...state, history: { ...state.history, summaries: apart } });
}

/** Looks at how full the context is once it has been emptied. */
function afterOmission(state: CompactionState): Decision {
  const { history } = state;
  const tokens = state.tokens - (history.omission?.tokens ?? 0);
  if (history.omittedTo <= history.coveredTo) return decide(state);
  // It knows of nothing that is left out, and of nothing to bring back.
  const shown = { ...history, omission: null, coveredTo: history.omittedTo };
  const decision = decide({ ...state, tokens, history: shown });
  if (decision.kind !== "job" || decision.plan.kind !== "leaf") return decision;
  return { kind: "idle" };
}

/** Is content as soon as nothing more is due. */
function withoutTarget(state: CompactionState): Decision {
  const { rules } = state;
  return decide({ ...state, rules: { ...rules, target: rules.backgroundThreshold - 0.001 } });
}

/** Says that nothing may be done where something may. */
function faintHearted(state: CompactionState): Decision {
  const decision = decide(state);
  if (decision.kind !== "job" || decision.plan.tier !== "background" || decision.plan.kind !== "leaf")
    return decision;
  return { kind: "blocked", tier: "background", reason: "there is nothing before the newest messages" };
}

/** Entries of a crumb. */
const CRUMB = 10;

/** Brings back what is omitted a few entries at a time. */
function byCrumbs(state: CompactionState): Decision {
  const decision = decide(state);
  const { history } = state;
  if (decision.kind !== "job" || decision.plan.kind !== "leaf" || history.omittedTo <= history.coveredTo)
    return decision;
  const toSeq = decision.plan.fromSeq + CRUMB - 1;
  if (toSeq >= history.omittedTo) return decision;
  return { ...decision, plan: { ...decision.plan, toSeq } };
}

/** Wrong decisions of the compactor. */
export const DECISION_MUTANTS: readonly Mutant[] = [
  { name: "cut by tokens only", breaks: ["I5"], config: writesWhenDue, decide: cutAnywhere },
  { name: "no merge", breaks: ["I8"], hangs: true, config: writesWhenDue, decide: withoutMerges },
  { name: "heals by crumbs", breaks: ["I15"], decide: byCrumbs },
  { name: "stops above the target", breaks: ["I14"], decide: withoutTarget },
  { name: "blocked without a reason", breaks: ["I14"], decide: faintHearted },
  { name: "usage after the omission", breaks: ["I15"], config: writesWhenDue, decide: afterOmission },
  {
    name: "no emergency",
    breaks: ["I6"],
    config: (config) => ({
      ...config,
      compaction: { ...config.compaction, emergencyThreshold: 1000 },
    }),
  },
];
