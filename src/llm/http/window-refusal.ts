/** A server's error; a missing field is empty. */
export interface RefusalText {
  readonly message: string;
  readonly code: string;
  readonly type: string;
  /** llama.cpp's `n_ctx`. */
  readonly contextSize: number | undefined;
}

/** Length of a message that is read, in characters. The wording comes first; the request's own text may follow. */
const MAX_READ = 2000;

/**
 * Wordings, with the window if they state it, as quoted in the documentation and the issues of the servers named here.
 * None was tried on a live server: a refusal in other words is recognised by the request's size (`window-search.ts`),
 * which takes one more request.
 */
const WORDINGS: readonly RegExp[] = [
  // OpenAI, vLLM, DeepSeek, OpenRouter ("This endpoint's …"), Azure
  /maximum context length(?: is|:| of) (?<window>[\d,]+)/i,
  // OpenAI's newer models
  /input tokens exceed the configured limit of (?<window>[\d,]+)/i,
  /exceeds the context window/i,
  // vLLM, SGLang
  /longer than the (?:maximum model length of|model'?s context length) \(?(?<window>[\d,]+)/i,
  /exceeds (?:the )?(?:model'?s )?maximum (?:context|allowed)(?: input)? length(?: of| \()?\s?(?<window>[\d,]+)?/i,
  // vLLM from 0.16
  /context length is only (?<window>[\d,]+)/i,
  /reduce the length of the input prompt/i,
  // llama.cpp
  /exceeds the available context size(?: \((?<window>[\d,]+) tokens\))?/i,
  /context size has been exceeded/i,
  // Docker's model runner
  /but the configured context size is (?<window>[\d,]+)/i,
  // Ollama; the second form states the excess, which is no window
  /(?:input|prompt)(?: length)? (?:is too long|exceeds).{0,80}context length/i,
  /prompt too long; exceeded (?:max )?context length/i,
  // Copilot
  /prompt token count of [\d,]+ exceeds the limit of (?<window>[\d,]+)/i,
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
  // Groq, Cerebras, Amazon Bedrock, MiniMax
  /current length is [\d,]+ while limit is (?<window>[\d,]+)/i,
  /reduce the length of the (?:messages|prompt)/i,
  /input is too long for requested model/i,
  /context window exceeds limit/i,
  // Qwen at Alibaba's Model Studio
  /range of input length should be \[\d+, ?(?<window>[\d,]+)\]/i,
  // Z.ai
  /prompt exceeds max length/i,
  // Text Generation Inference, Together
  /must have less than (?<window>[\d,]+) tokens/i,
  /`max_new_tokens` must be <= (?<window>[\d,]+)/i,
  // Cohere
  /number of tokens in the request cannot exceed (?<window>[\d,]+)/i,
  // OpenAI and Groq, by the account's tokens per minute. No wait helps a request over that limit: the request
  // is too large, not too early.
  /request too large for .{0,200}limit:? (?<window>[\d,]+)/i,
];

const CODES: ReadonlySet<string> = new Set([
  "context_length_exceeded",
  "exceed_context_size_error",
  "context_window_exceeded",
  "model_context_window_exceeded",
  "model_max_prompt_tokens_exceeded",
]);

/**
 * A server's refusal of a request that is larger than the model's window, parsed from its message.
 * @param sent the texts of the request: the server may only repeat words that occur in them, so these prove nothing.
 *   Smaller requests then show whether the refusal is about size
 * @returns the window in tokens, if it is stated; undefined: not known to be about size
 */
export function windowRefusal(
  text: RefusalText,
  sent: readonly string[],
): { readonly window: number | undefined } | undefined {
  const message = text.message.slice(0, MAX_READ);
  const matches = WORDINGS.map((wording) => wording.exec(message))
    .filter((match) => match !== null)
    .filter(([words]) => !isIn(words, sent));
  if (matches.length === 0 && !CODES.has(text.code) && !CODES.has(text.type)) return undefined;
  const told = matches.map((match) => match.groups?.["window"]).find((digits) => digits !== undefined);
  const window = text.contextSize ?? (told === undefined ? undefined : numberOf(told));
  return { window: window !== undefined && window > 0 ? window : undefined };
}

function isIn(words: string, sent: readonly string[]): boolean {
  const small = words.toLowerCase();
  return sent.some((one) => one.toLowerCase().includes(small));
}

function numberOf(digits: string): number {
  return Number(digits.replaceAll(",", ""));
}

/**
 * The window in a refusal of unknown wording: it states the request's tokens, and a smaller number of tokens.
 * @param isSize whether a request like the refused one may have this many tokens
 * @returns undefined: its numbers do not fit
 */
export function windowBeside(message: string, isSize: (tokens: number) => boolean): number | undefined {
  const read = message.slice(0, MAX_READ);
  if (!/tokens?\b|context|prompt|length/i.test(read)) return undefined;
  const numbers = [...read.matchAll(/(?<![\d.,])\d{1,3}(?:,\d{3})+(?![\d.,])|(?<![\d,])\d{4,8}(?!\d)/g)].map(
    ([digits]) => numberOf(digits),
  );
  const asked = Math.max(...numbers.filter(isSize));
  const smaller = numbers.filter((number) => number < asked);
  return smaller.length === 0 ? undefined : Math.max(...smaller);
}
