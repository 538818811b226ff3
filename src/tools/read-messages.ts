import { z } from "zod";
import { whole } from "./arguments.ts";
import { defineTool } from "./tool.ts";

const Seq = whole(1, Number.MAX_SAFE_INTEGER);
const Input = z.strictObject({ from: Seq, to: Seq.optional() });

/** `read_messages`: reads earlier messages of this channel by their numbers, such as those that a summary stands for. */
export const readMessages = defineTool({
  name: "read_messages",
  shownAs: "Reading earlier messages",
  needs: "messages",
  input: Input,
  isStandalone: true,
  isReadOnly: true,
  leastWindow: 8192,
  async run({ from, to = null }, context) {
    const { lines, next } = await context.readMessages({ from, to }, context.signal);
    const nothing = "Nothing is to be read under these numbers: you see it, or its text is no longer kept.";
    const more = next === null ? "" : `Go on with from=${next}.`;
    return { kind: "result", text: lines.length === 0 ? nothing : more, references: lines };
  },
});
