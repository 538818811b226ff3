import type { Mutant } from "./mutant.ts";
import { changeFunction, dropGuards } from "./sql.ts";

const MOVE = "update channels set covered_to = v_job.to_seq where id = v_job.channel_id;";
const INSERTED = "select p_job.channel_id, p_job.from_seq, p_job.to_seq, p_job.level";
const BEGIN = "  v_is_same := case when v_job.kind = 'leaf'";

/** Covers more than the job's range: `to` is an SQL expression. */
function coverTo(to: string): NonNullable<Mutant["install"]> {
  return async (db) => {
    await dropGuards(db);
    await changeFunction(db, "commit_job", [
      [BEGIN, `  if v_job.kind = 'leaf' then v_job.to_seq := ${to}; end if;\n${BEGIN}`],
    ]);
  };
}

/** Wrong ways to take entries out of the view. */
export const COMMIT_MUTANTS: readonly Mutant[] = [
  {
    name: "drain first",
    breaks: ["I1", "I2"],
    async install(db) {
      await dropGuards(db);
      await changeFunction(db, "begin_job", [
        [
          "  return query",
          "  if p_kind = 'leaf' then update channels set covered_to = p_to where id = p_channel; end if;\n  return query",
        ],
      ]);
      await changeFunction(db, "commit_job", [
        ["v_job.from_seq = v_channel.covered_to + 1 and", "v_job.to_seq <= v_channel.covered_to and"],
        [MOVE, "null;"],
      ]);
    },
  },
  { name: "replace all", breaks: ["I2", "I4"], install: coverTo("v_channel.last_seq") },
  {
    name: "recount at commit",
    breaks: ["I2", "I4"],
    install: coverTo("greatest(v_job.to_seq, v_channel.last_seq - 5)"),
  },
  {
    name: "summary of another range",
    breaks: ["I1"],
    async install(db) {
      await dropGuards(db);
      await changeFunction(db, "put_summary", [
        [
          INSERTED,
          "select p_job.channel_id, p_job.from_seq, p_job.to_seq - (p_job.kind = 'leaf')::integer, p_job.level",
        ],
      ]);
    },
  },
  {
    name: "each commit moves the watermark",
    breaks: ["I1", "I3"],
    async install(db) {
      await dropGuards(db);
      await changeFunction(db, "commit_job", [
        [`if v_job.kind = 'leaf' then\n    ${MOVE}`, `${MOVE}\n  if v_job.kind = 'leaf' then`],
      ]);
    },
  },
];
