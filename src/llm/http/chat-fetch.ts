import { jsonOf } from "../../core/json.ts";
import { boundedText } from "./bounded-body.ts";
import { redirectIn } from "../../text/redirect.ts";
import { abandon, nodeFetch } from "./node-fetch.ts";

/**
 * `fetch` that converts responses which the client cannot read. Measured with openai 7.55: from an error body without
 * `error` (vLLM, pydantic's `detail`, Gemini's array) the client keeps only the status. A redirect becomes an error
 * with its target.
 */
export const chatFetch: typeof fetch = async (input, init) => {
  const response = await nodeFetch(input, init);
  const url = input instanceof Request ? input.url : String(input);
  const redirect = redirectIn(url.split("?", 1)[0] ?? url, response, "base_url");
  if (redirect !== undefined) {
    abandon(response);
    return Response.json({ error: { message: redirect } }, { status: response.status });
  }
  return response.ok ? response : wrapErrorBody(response);
};

async function wrapErrorBody(response: Response): Promise<Response> {
  const text = await boundedText(response);
  const { status, headers } = response;
  return new Response(status === 304 ? null : withErrorKey(text), {
    status,
    headers: withoutLength(headers),
  });
}

function withErrorKey(text: string): string {
  const body = jsonOf(text);
  // HTML or plain text: the client reports it unchanged.
  if (body === undefined) return text;
  const first: unknown = Array.isArray(body) ? body[0] : body;
  if (typeof first !== "object" || first === null) return JSON.stringify({ error: { message: text } });
  if (!("error" in first)) return JSON.stringify({ error: first });
  const error = typeof first.error === "string" ? { message: first.error } : first.error;
  return JSON.stringify({ error: withUsage(error, first) });
}

/** Adds the usage that a server reports beside an error, since the client passes on only the error. */
function withUsage(error: unknown, beside: object): unknown {
  return "usage" in beside && typeof error === "object" && error !== null
    ? { ...error, usage: beside.usage }
    : error;
}

function withoutLength(headers: Headers): Headers {
  const copy = new Headers(headers);
  copy.delete("content-length");
  copy.delete("content-encoding");
  return copy;
}
