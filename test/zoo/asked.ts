/** Requests of the three APIs, read into one form that the rest of the zoo works on. */
import { z } from "zod";

export type Api = "chat" | "responses" | "messages";
export type Role = "system" | "user" | "assistant" | "tool";

/** A piece of a message's text. */
export interface Piece {
  readonly text: string;
  /** A cache is asked to end behind it, for so long ("": no time is said); null: it is not. */
  readonly mark: string | null;
}

/** One message. Results of tools of Anthropic's API are `tool`, as those of the others. */
export interface Turn {
  readonly role: Role;
  readonly pieces: readonly Piece[];
  readonly images: number;
  /** Ids of its calls. */
  readonly calls: readonly string[];
  /** Of the call that it answers. */
  readonly callId: string | null;
}

export interface Asked {
  readonly api: Api;
  readonly model: string;
  readonly turns: readonly Turn[];
  /** Names. */
  readonly tools: readonly string[];
  /** As JSON, for what they cost. */
  readonly toolText: string;
  readonly mayCall: boolean;
  readonly maxTokens: number;
  readonly isStreamed: boolean;
  /** All that was sent. */
  readonly body: Readonly<Record<string, unknown>>;
}

const marks = { cache_control: z.unknown().optional(), prompt_cache_breakpoint: z.unknown().optional() };
const block = z.looseObject({
  type: z.string(),
  text: z.string().optional(),
  ...marks,
  tool_use_id: z.string().optional(),
  id: z.string().optional(),
  name: z.string().optional(),
  input: z.unknown().optional(),
  content: z.unknown().optional(),
});
type Block = z.infer<typeof block>;
const ttl = z.looseObject({ ttl: z.string().optional() });
const content = z.union([z.string(), z.array(block)]).nullish();
const tool = z.looseObject({
  name: z.string().optional(),
  function: z.looseObject({ name: z.string() }).optional(),
});
const common = z.looseObject({
  model: z.string(),
  tools: z.array(tool).optional(),
  tool_choice: z.unknown().optional(),
  stream: z.boolean().optional(),
  max_tokens: z.number().optional(),
  max_completion_tokens: z.number().optional(),
  max_output_tokens: z.number().optional(),
});
const chat = z.object({
  messages: z.array(
    z.looseObject({
      role: z.enum(["system", "developer", "user", "assistant", "tool"]),
      content,
      tool_call_id: z.string().optional(),
      tool_calls: z
        .array(
          z.looseObject({ id: z.string(), function: z.object({ name: z.string(), arguments: z.string() }) }),
        )
        .optional(),
    }),
  ),
});
const responses = z.object({
  instructions: z.string().optional(),
  input: z.union([
    z.string(),
    z.array(
      z.looseObject({
        type: z.string().optional(),
        role: z.enum(["system", "developer", "user", "assistant"]).optional(),
        content,
        call_id: z.string().optional(),
        name: z.string().optional(),
        arguments: z.string().optional(),
        output: z.unknown().optional(),
      }),
    ),
  ]),
});
const messages = z.object({
  system: content,
  messages: z.array(z.looseObject({ role: z.enum(["user", "assistant"]), content })),
});

/** @throws ZodError where it is no request of this API */
export function readAsked(api: Api, json: unknown): Asked {
  const body = common.parse(json);
  const { model, tools = [], stream = false } = body;
  return {
    api,
    model,
    turns: READERS[api](body),
    tools: tools.map(({ name, function: called }) => called?.name ?? name ?? ""),
    toolText: tools.length === 0 ? "" : JSON.stringify(tools),
    mayCall: tools.length > 0 && !/none/.test(JSON.stringify(body.tool_choice ?? "auto")),
    maxTokens: body.max_tokens ?? body.max_completion_tokens ?? body.max_output_tokens ?? 0,
    isStreamed: stream,
    body,
  };
}

const READERS: Record<Api, (body: unknown) => Turn[]> = {
  chat: (body) =>
    chat.parse(body).messages.map((message) => {
      const role = message.role === "developer" ? "system" : message.role;
      const calls = message.tool_calls ?? [];
      const said = piecesOf(message.content);
      const called = calls.map(({ function: { name, arguments: json } }) => plain(`${name}(${json})`));
      return turn(role, [...said, ...called], {
        images: imagesOf(message.content),
        calls: calls.map(({ id }) => id),
        callId: message.tool_call_id ?? null,
      });
    }),
  responses(body) {
    const { instructions, input } = responses.parse(body);
    const first = instructions === undefined ? [] : [turn("system", [plain(instructions)])];
    if (typeof input === "string") return [...first, turn("user", [plain(input)])];
    const items = input.flatMap((item): Turn[] => {
      if (item.type === "reasoning") return [];
      if (item.type === "function_call")
        return [
          turn("assistant", [plain(`${item.name}(${item.arguments})`)], { calls: [item.call_id ?? ""] }),
        ];
      if (item.type === "function_call_output")
        return [turn("tool", [plain(wordsOf(item.output))], { callId: item.call_id ?? null })];
      const role = item.role === "developer" ? "system" : (item.role ?? "user");
      return [turn(role, piecesOf(item.content), { images: imagesOf(item.content) })];
    });
    return [...first, ...items];
  },
  messages(body) {
    const { system, messages: said } = messages.parse(body);
    const head = system === undefined || system === null ? [] : [turn("system", piecesOf(system))];
    const rest = said.flatMap(({ role, content: told }): Turn[] => {
      const blocks = Array.isArray(told) ? told : [];
      const results = blocks.filter(({ type }) => type === "tool_result");
      const others = Array.isArray(told) ? blocks.filter(({ type }) => type !== "tool_result") : told;
      const calls = blocks.filter(({ type }) => type === "tool_use");
      const own = [
        ...piecesOf(others),
        ...calls.map(({ name, input }) => plain(`${name}(${JSON.stringify(input)})`)),
      ];
      return [
        ...results.map((one) =>
          turn("tool", [{ text: wordsOf(one.content), mark: markOf(one) }], {
            callId: one.tool_use_id ?? null,
          }),
        ),
        ...(own.length > 0
          ? [turn(role, own, { images: imagesOf(others), calls: calls.map(({ id }) => id ?? "") })]
          : []),
      ];
    });
    return [...head, ...rest];
  },
};

function turn(
  role: Role,
  pieces: readonly Piece[],
  { images = 0, calls = [], callId = null }: Partial<Pick<Turn, "images" | "calls" | "callId">> = {},
): Turn {
  return { role, pieces, images, calls, callId };
}

function plain(text: string): Piece {
  return { text, mark: null };
}

function piecesOf(told: z.infer<typeof content>): Piece[] {
  if (told === undefined || told === null) return [];
  if (typeof told === "string") return [plain(told)];
  return told.flatMap((one) => (one.text === undefined ? [] : [{ text: one.text, mark: markOf(one) }]));
}

function markOf({ cache_control: own, prompt_cache_breakpoint: breakpoint }: Block): string | null {
  const told = own ?? breakpoint;
  return told === undefined ? null : (ttl.safeParse(told).data?.ttl ?? "");
}

function imagesOf(told: z.infer<typeof content>): number {
  return Array.isArray(told) ? told.filter(({ type }) => type.includes("image")).length : 0;
}

function wordsOf(result: unknown): string {
  return typeof result === "string" ? result : JSON.stringify(result);
}

/** The text of a message. */
export function textOf({ pieces }: Turn): string {
  return pieces.map(({ text }) => text).join("");
}

/** What a template would write for this much of a request: tools first, then the messages. */
export function promptText({ toolText, turns }: Pick<Asked, "toolText" | "turns">): string {
  const said = turns.map((one) => `<${one.role}>${textOf(one)}${"<image>".repeat(one.images)}\n`);
  return [toolText, ...said].join("");
}

export const CHARACTERS_PER_TOKEN = 4;
const IMAGE_TOKENS = 800;

export function imageTokens({ turns }: Pick<Asked, "turns">): number {
  return turns.reduce((sum, one) => sum + one.images, 0) * IMAGE_TOKENS;
}

/** Tokens as the servers of the zoo count them. */
export function countTokens(characters: number): number {
  return Math.ceil(characters / CHARACTERS_PER_TOKEN);
}

export function promptTokens(asked: Pick<Asked, "toolText" | "turns">): number {
  return countTokens(promptText(asked).length) + imageTokens(asked);
}
