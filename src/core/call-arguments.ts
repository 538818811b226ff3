/** The arguments of a tool call: JSON text that a model wrote, and that may be anything. */

/**
 * Servers that parse earlier arguments (vLLM's templates, gateways to Anthropic and Gemini) refuse the whole
 * request, and so every later turn of the channel, for one call whose arguments are not a JSON object.
 * @returns the text as it can be sent
 */
export function objectJson(json: string): string {
  if (isObjectJson(json)) return json;
  return json.trim() === "" ? "{}" : JSON.stringify({ invalid_arguments: json });
}

/** What a model has filled in, without the names of the parameters; the whole text where it is no JSON object. */
export function argumentValues(json: string): string {
  if (!isObjectJson(json)) return json;
  const values: unknown[] = [];
  JSON.parse(json, (_, value: unknown) => {
    if (typeof value !== "object") values.push(value);
    return value;
  });
  return values.join("\n");
}

/** Is this text a JSON object? */
export function isObjectJson(json: string): boolean {
  try {
    const value: unknown = JSON.parse(json);
    return typeof value === "object" && value !== null && !Array.isArray(value);
  } catch {
    // Not JSON at all: the answer is no.
    return false;
  }
}
