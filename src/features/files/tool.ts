import { z } from "zod";
import { defineTool } from "../../tools/tool.ts";
import { ATTACHING } from "./key.ts";

/** Bounds are reported when they are exceeded: in the schema every request would pay for them. */
const Words = z.string();

/** `attach`: sends a text or a picture as a file behind the answer. */
export const attach = defineTool({
  name: "attach",
  leftOutBy: "files.attach = false",
  input: z
    .strictObject({
      name: Words,
      text: Words.optional(),
      result_of: Words.optional(),
      picture_of: Words.optional(),
    })
    .refine(
      (given) =>
        [given.text, given.result_of, given.picture_of].filter((one) => one !== undefined).length === 1,
      {
        message: "Give one of text, result_of and picture_of.",
      },
    ),
  async run({ name, text, result_of: resultOf, picture_of: pictureOf }, { kitOf, askedIn }) {
    const told = await kitOf(ATTACHING).attach({ name, text, resultOf, pictureOf }, askedIn);
    return { kind: "result", text: told, references: [] };
  },
});
