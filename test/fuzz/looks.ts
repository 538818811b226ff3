import { z } from "zod";
import { makeTool, type Tool } from "../../src/tools/tool.ts";

/** The tool that finds something out: its results may prove memories. */
export const LOOK = "look";

/** The same question has the same answer, which repeats it. */
export function lookTool(): Tool {
  return makeTool({
    name: LOOK,
    description: "Looks.",
    input: z.strictObject({ for: z.string() }),
    findsOut: true,
    async run({ for: asked }) {
      return { kind: "result", text: `The depot has ${asked.length} crates of ${asked}.`, references: [] };
    },
  });
}

/** Its results in a summariser's transcript: the number of the line, and the sentence. */
export const SEEN = /^(\d+)\. \[[^\]]*\] look returned: (The depot has \d+ crates of [^.\n]+)\./gm;
/** How each of its sentences begins. */
export const SEEN_HEAD = "The depot has";
