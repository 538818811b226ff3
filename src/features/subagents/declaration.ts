import { z } from "zod";
import { HOUR_MS, flag, option, table, text, whole } from "../../config/schema/values.ts";
import type { Declaration } from "../declaration.ts";

const options = table(
  "….subagents",
  {
    enabled: option(
      flag,
      false,
      "true: the agent may have subagents work on tasks, which cost what they use.",
    ),
    wait_ms: option(
      whole(0, HOUR_MS, "milliseconds"),
      30_000,
      "How long an answer waits for a subagent. One that takes longer goes on, and the agent reports its " +
        "end.",
    ),
    max_parallel: option(
      whole(1, 100, "subagents"),
      4,
      "How many work at the same time in one channel; others wait.",
    ),
    max_steps: option(whole(1, 1000, "steps"), 16, "How often one may use tools before it must report."),
    timeout_ms: option(
      whole(1000, 24 * HOUR_MS, "milliseconds"),
      900_000,
      "How long one may work (15 minutes). Then it has failed.",
    ),
    personas: option(
      z
        .record(
          z.string().regex(/^[a-z0-9][a-z0-9-]{0,62}$/),
          text("text, at most 20000 characters, under a name of small letters, digits and -", 20_000).min(1),
        )
        .describe("a table of names and texts; names are small letters, digits and -"),
      {},
      "Names from which the agent chooses, and how the subagent's instructions begin: { researcher = \"You " +
        'compare sources, and say where they disagree." }.',
    ),
  },
  "Helpers that work on a task while the agent goes on: docs/subagents.md.",
);

export const subagents = {
  options: { subagents: options },
  tools: [],
  templates: {
    /** Each a list of names that the model may choose from. */
    "tool-spawn-agent": { personas: "list", models: "list", tools: "list" },
    subagent: {
      /** Of the agent that has begun it. */
      agent_name: "text",
      date: "text",
      persona: "text",
      /** Names; empty: no tools. */
      tools: "list",
    },
    "subagent-task": {
      task: "text",
      /** Of the conversation; "": it is told nothing of it. */
      brief: "text",
    },
  },
  describedTools: ["spawn_agent"],
  callPurpose: "subagent",
  openWork: {
    table: "subagents",
    progress:
      "format('%s with %s steps in %s ms, begun %s times', count(*), sum(jsonb_array_length(w.steps)), sum(w.spent_ms), sum(w.begun))",
  },
} as const satisfies Declaration;
