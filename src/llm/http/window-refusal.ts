/** A server's refusal of a request that is larger than the model's window, parsed from its message. */
export interface WindowRefusal {
  /** Tokens; undefined if the server does not tell. */
  readonly window: number | undefined;
}

/** A server's error; a missing field is empty. */
export interface RefusalText {
  readonly message: string;
  readonly code: string;
  readonly type: string;
  /** llama.cpp's `n_ctx`. */
  readonly contextSize: number | undefined;
}

/** Characters of a message that are read. The wording comes first; the request's own text may follow. */
const MAX_READ = 2000;

/**
 * Wordings, with the window if they state it, as quoted in the documentation and the issues of the servers
 * named here. None was tried on a live server: a missing wording costs one failed turn, not a crash.
 */
const WORDINGS: readonly RegExp[] = [
  // OpenAI, vLLM, DeepSeek, OpenRouter ("This endpoint's …"), Azure
  /maximum context length (?:is|of) (?<window>[\d,]+)/i,
  // OpenAI's newer models
  /input tokens exceed the configured limit of (?<window>[\d,]+)/i,
  /exceeds the context window/i,
  // vLLM, SGLang
  /longer than the (?:maximum model length of|model'?s context length) \(?(?<window>[\d,]+)/i,
  /exceeds (?:the )?(?:model'?s )?maximum (?:context|allowed) length(?: of| \()?\s*(?<window>[\d,]+)?/i,
  // llama.cpp
  /exceeds the available context size(?: \((?<window>[\d,]+) tokens\))?/i,
  // Ollama
  /(?:input|prompt)(?: length)? (?:is too long|exceeds).{0,80}context length/i,
  // LM Studio
  /loaded with context length of only (?<window>[\d,]+)/i,
  /greater than the context length/i,
  // Anthropic
  /prompt is too long(?:: [\d,]+ tokens > (?<window>[\d,]+))?/i,
  /exceed context limit: [\d,]+ \+ [\d,]+ > (?<window>[\d,]+)/i,
  // Gemini
  /input token count.{0,80}exceeds the maximum number of tokens allowed \(?(?<window>[\d,]+)/i,
  // Mistral
  /too large for model with (?<window>[\d,]+) maximum context length/i,
  // xAI
  /maximum prompt length is (?<window>[\d,]+)/i,
  // Kimi
  /exceeded model token limit: (?<window>[\d,]+)/i,
  // llama-cpp-python
  /exceed context window of (?<window>[\d,]+)/i,
  // Groq, Amazon Bedrock, MiniMax
  /reduce the length of the (?:messages|prompt)/i,
  /input is too long for requested model/i,
  /context window exceeds limit/i,
  // OpenAI and Groq, by the account's tokens per minute. No wait helps a request over that limit: the request
  // is too large, not too early.
  /request too large for .{0,200}limit:? (?<window>[\d,]+)/i,
];

const CODES: ReadonlySet<string> = new Set([
  "context_length_exceeded",
  "exceed_context_size_error",
  "context_window_exceeded",
]);

/**
 * @param sent the texts of the request: a wording found in them is ignored, for the server may only repeat it
 * @returns undefined if the refusal is about something else
 */
export function windowRefusal(text: RefusalText, sent: readonly string[]): WindowRefusal | undefined {
  const message = text.message.slice(0, MAX_READ);
  const matches = WORDINGS.map((wording) => wording.exec(message))
    .filter((match) => match !== null)
    .filter(([words]) => !sent.some((one) => one.includes(words)));
  if (matches.length === 0 && !CODES.has(text.code) && !CODES.has(text.type)) return undefined;
  const told = matches.map((match) => match.groups?.["window"]).find((digits) => digits !== undefined);
  const window = text.contextSize ?? (told === undefined ? undefined : Number(told.replaceAll(",", "")));
  return { window: window !== undefined && window > 0 ? window : undefined };
}
