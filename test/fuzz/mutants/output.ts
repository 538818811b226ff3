import type { Job, JobResult } from "../../../src/core/compaction.ts";
import type { Model } from "../../../src/llm/model.ts";
import { JobStore } from "../../../src/store/compaction/jobs.ts";
import { BAD } from "../texts.ts";
import type { Mutant } from "./mutant.ts";

/** What the summariser said last that should have been refused. */
let lastBad: string | null = null;

/** Keeps what a check would have refused, and says that it ended well. */
function listening(model: Model): Model {
  return {
    async answer(request, options) {
      const answer = await model.answer(request, options);
      if (request.task !== "summarise") return answer;
      if (BAD.test(answer.text)) lastBad = answer.text;
      BAD.lastIndex = 0;
      return { ...answer, finish: answer.finish === "length" ? "stop" : answer.finish };
    },
  };
}

/** Commits what the model said first, in the place of whatever was made because it was no good. */
class CredulousJobs extends JobStore {
  override async stage(job: Job, result: JobResult): Promise<boolean> {
    const { summary } = result;
    if (summary === null || lastBad === null) return super.stage(job, result);
    const text = lastBad;
    lastBad = null;
    return super.stage(job, { ...result, summary: { ...summary, kind: "model", text } });
  }
}

export const OUTPUT_MUTANTS: readonly Mutant[] = [
  {
    name: "no output check",
    breaks: ["I10"],
    forget: () => (lastBad = null),
    model: listening,
    store: (store, db) => ({ ...store, jobs: new CredulousJobs(db) }),
  },
];
