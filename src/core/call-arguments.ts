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
