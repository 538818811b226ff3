import { canonical } from "../../../src/core/canonical.ts";
import { piecesOf } from "../../../src/llm/offline/transcript.ts";
import type { ModelMessage } from "../../../src/core/context.ts";
import type { ModelRequest } from "../../../src/llm/model.ts";
import type { Mutant } from "./mutant.ts";

/** Sends other messages than it should, in requests for one task. */
export function sending(
  task: NonNullable<ModelRequest["task"]>,
  change: (pieces: readonly ModelMessage[]) => readonly ModelMessage[],
): NonNullable<Mutant["model"]> {
  return (model) => ({
    answer: async (request, options) =>
      (request.task ?? "answer") === task
        ? model.answer(
            { ...request, messages: canonical(change(piecesOf(request.messages))).messages },
            options,
          )
        : model.answer(request, options),
  });
}
