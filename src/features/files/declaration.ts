import type { Declaration } from "../declaration.ts";
import { flag, option, table } from "../../config/schema/values.ts";

const options = table(
  "….files",
  {
    attach: option(
      flag,
      false,
      "true: the agent can send a text, or a picture of a tool, as a file after its answer, on Discord and " +
        "Slack.",
    ),
  },
  "Files that the agent sends.",
);

export const files = { options: { files: options }, tools: ["attach"] } as const satisfies Declaration;
