import { z } from "zod";
import type { ToolSpec } from "../core/context.ts";

/** The JSON Schema of a tool's arguments, without its dialect, which no model needs and each request would pay for. */
export function parametersOf(input: z.ZodType): ToolSpec["parameters"] {
  const { $schema: _dialect, ...parameters } = z.toJSONSchema(input, { io: "input" });
  return parameters;
}
