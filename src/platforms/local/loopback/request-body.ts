import type { Context } from "hono";
import { HTTPException } from "hono/http-exception";
import type { z } from "zod";

/**
 * The JSON body of a request.
 * @throws HTTPException (415, 400) that says what is wrong with it
 */
export async function readBody<Schema extends z.ZodType>(
  c: Context,
  schema: Schema,
): Promise<z.output<Schema>> {
  // A browser sends other types for any page without a preflight request.
  if (!/^application\/json[ \t]*(?:;|$)/i.test(c.req.header("content-type") ?? "")) {
    throw new HTTPException(415, { message: "a body needs the header content-type: application/json" });
  }
  let value: unknown;
  try {
    value = await c.req.json();
  } catch (error) {
    throw new HTTPException(400, { message: "the body is not JSON", cause: error });
  }
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const why = result.error.issues.map((issue) => `${issue.path.join(".")}: ${issue.message}`).join("; ");
  throw new HTTPException(400, { message: why });
}
