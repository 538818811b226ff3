import type { Model } from "../../../src/llm/model.ts";
import type { Mutant } from "./mutant.ts";

/** Never hears how many tokens the server has counted. */
function uncounted(model: Model): Model {
  return {
    async answer(request, options) {
      const { onCall } = options;
      const answer = await model.answer(request, {
        ...options,
        onCall: (record) => onCall?.({ ...record, usage: undefined }),
      });
      return { ...answer, usage: undefined };
    },
  };
}

/** Wrong ideas of how long a text is. */
export const TOKEN_MUTANTS: readonly Mutant[] = [
  { name: "believes its estimates alone", breaks: ["I6"], ratio: 1.2, model: uncounted },
];
