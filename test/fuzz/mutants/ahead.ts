import { decide } from "../../../src/compactor/policy/policy.ts";
import { writtenTo } from "../../../src/core/history.ts";
import type { Mutant } from "./mutant.ts";
import { changeFunction, dropGuards } from "./sql.ts";
import { writesAhead } from "./write-ahead.ts";
import { withoutCarrier } from "./without-carrier.ts";

/** Wrong ways to write ahead, and to commit what was written. Each of their channels writes ahead. */
export const AHEAD_MUTANTS: readonly Mutant[] = [
  {
    name: "a stretch is shown as committed",
    breaks: ["I1", "I2", "I9"],
    config: writesAhead,
    store: (store) => ({
      ...store,
      async coverage(channel) {
        const coverage = await store.coverage(channel);
        return { ...coverage, coveredTo: writtenTo(coverage) };
      },
    }),
  },
  {
    name: "a stretch outlives a deletion",
    breaks: ["I12"],
    config: writesAhead,
    store: withoutCarrier("jobs"),
  },
  {
    name: "stretches are committed out of order",
    breaks: ["I1"],
    config: writesAhead,
    async install(db) {
      await dropGuards(db);
      await changeFunction(db, "commit_ahead", [
        [
          "order by j.from_seq loop\n    exit when v_job.from_seq <> v_covered + 1 or v_live",
          "order by j.from_seq desc limit 1 loop\n    exit when v_live",
        ],
      ]);
    },
  },
  {
    name: "stretches are not committed together",
    breaks: ["I1", "I2"],
    config: writesAhead,
    async install(db) {
      await dropGuards(db);
      await changeFunction(db, "commit_ahead", [
        [
          "    v_covered := v_job.to_seq;",
          "    select max(j.to_seq) into v_covered from jobs j where j.channel_id = p_channel and (j.state = 'ahead' or j.id = v_job.id) and j.kind = 'leaf';",
        ],
      ]);
    },
  },
  {
    name: "a stretch is written twice",
    breaks: ["I16"],
    config: writesAhead,
    install: async (db) => db.script("alter table jobs drop constraint jobs_ahead_apart"),
    decide(state) {
      const decision = decide(state);
      if (decision.kind !== "job" || decision.plan.isAhead !== true || decision.plan.kind !== "leaf")
        return decision;
      return { kind: "job", plan: { ...decision.plan, fromSeq: state.history.coveredTo + 1 } };
    },
  },
];
