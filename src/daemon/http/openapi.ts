import { z } from "zod";

/*
 * Schemas of the HTTP service's responses, and the OpenAPI description built from them. For the two large reports the schemas name the
 * fields that scripts use; the rest is as printed by `weir context --json` and `weir compactions --json`.
 */

const seq = z.int().nonnegative();
const moment = z.iso.datetime().nullable();
const checkState = z.enum(["ok", "degraded", "failed"]);

export const aliveAnswer = z.strictObject({
  status: z.literal("ok"),
  version: z.string().optional().describe("with the token"),
  uptimeMs: z.int().optional().describe("with the token"),
});

export const readyAnswer = z.strictObject({
  status: z
    .enum(["ok", "not ok", "ready", "degraded", "not ready"])
    .describe("without the token: ok, not ok"),
  checks: z
    .array(
      z.strictObject({
        name: z
          .string()
          .describe(
            "database, schema, model, summaries, configuration, starting, draining, or a platform's name",
          ),
        state: checkState.describe("degraded: it goes on without"),
        detail: z.string().describe("why, in words"),
      }),
    )
    .optional()
    .describe("with the token"),
});

const listedChannel = z.strictObject({
  channel: z.string().describe("its address, discord:1234567890: the ID of the other paths"),
  agent: z.string(),
  entries: seq.describe("in its log"),
  level: z
    .number()
    .nullable()
    .describe("share of the usable window that the last answered request took; null: there was none"),
  answeredAt: moment.describe("when that was"),
  heardAt: moment.describe("when somebody last said something there; null: nobody has"),
  due: z.int().describe("messages that wait for a turn"),
  dueSince: moment.describe("since when the oldest of them does"),
  kind: z.enum(["dm", "channel", "thread"]),
  workspace: z.string().describe("the server's or team's id; empty where there is none"),
  place: z
    .strictObject({
      workspace: z.string(),
      channel: z.string(),
      parent: z.strictObject({ id: z.string(), name: z.string() }).nullable(),
      isExternal: z.literal(true).optional().describe("people of other workspaces read it, too"),
    })
    .nullable()
    .describe("names, where the platform tells them"),
  isPrivate: z.boolean().nullable().describe("null: its platform has not told, and it counts as private"),
  settledTo: seq.describe("up to here messages are answered"),
  coveredTo: seq.describe("up to here entries are summarised"),
  omittedTo: seq.describe("up to here entries have left the view"),
  loaded: z.boolean().describe("it is in memory"),
});

export const channelsAnswer = z.strictObject({
  channels: z.array(listedChannel).describe("the newest first"),
  next: z.int().nullable().describe("`before` of the next page; null: there is none"),
});

export const contextAnswer = z.looseObject({
  channel: z.string(),
  agent: z.string(),
  model: z.string(),
  window: z.int(),
  usable: z.int().describe("tokens that a request may use"),
  tokens: z.int().describe("of the next request"),
  usage: z.number().describe("tokens, omitted entries included, over the usable window"),
  pressure: z.string(),
  segments: z.array(z.looseObject({ key: z.string(), tokens: z.number() })),
  sections: z.array(z.looseObject({ key: z.string() })),
  summaries: z.array(z.looseObject({ fromSeq: seq, toSeq: seq, text: z.string() })),
  memories: z.array(z.looseObject({ statement: z.string() })),
  job: z.looseObject({ tier: z.string() }).nullable().describe("the compaction that runs"),
});

export const compactionsAnswer = z.strictObject({
  compactions: z
    .array(
      z.looseObject({
        id: z.int(),
        kind: z.enum(["leaf", "merge", "redo"]),
        tier: z.enum(["background", "aggressive", "emergency", "forced"]),
        state: z.string(),
        fromSeq: seq,
        toSeq: seq,
        summary: z.looseObject({ text: z.string(), model: z.string().nullable() }).nullable(),
        spent: z.array(z.looseObject({ model: z.string() })),
        cost: z.looseObject({ dollars: z.number().nullable() }),
      }),
    )
    .describe("the newest last"),
});

const errorAnswer = z.strictObject({ error: z.string() });

/** Query parameters of a list. */
const limit = z.coerce.number().int().min(1);
export const channelsQuery = z.object({
  limit: limit.max(1000).default(100),
  before: z.coerce.number().int().min(1).max(Number.MAX_SAFE_INTEGER).optional(),
});
export const compactionsQuery = z.object({ limit: limit.max(1000).default(20) });

const jsonOf = (schema: z.ZodType): object => ({
  "application/json": { schema: z.toJSONSchema(schema, { io: "output", target: "openapi-3.0" }) },
});
const answer = (description: string, schema: z.ZodType): object => ({ description, content: jsonOf(schema) });
const refused = (description: string): object => answer(description, errorAnswer);

const NO_TOKEN = { "401": refused("no token, or a wrong one") };
const NOT_NOW = {
  "503": refused("the daemon is still starting, the database is away, or too much is asked at a time"),
};
const ID = {
  name: "id",
  in: "path",
  required: true,
  schema: { type: "string" },
  description: "a channel's address, percent-encoded: discord:1234567890",
};

function queryOf(query: z.ZodObject): object[] {
  const { properties = {} } = z.toJSONSchema(query, { io: "input", target: "openapi-3.0" });
  return Object.entries(properties).map(([name, schema]) => ({ name, in: "query", required: false, schema }));
}

/** The description served at `/openapi.json`. */
export function openApi(version: string): object {
  const get = (summary: string, rest: object): object => ({ get: { summary, ...rest } });
  return {
    openapi: "3.0.3",
    info: {
      title: "Weir",
      version,
      description: "Health, metrics and channels of a Weir daemon. It only reads.",
    },
    components: { securitySchemes: { token: { type: "http", scheme: "bearer" } } },
    security: [{ token: [] }],
    paths: {
      "/healthz": get("Whether the process answers", {
        security: [{}, { token: [] }],
        responses: { "200": answer("it does", aliveAnswer), ...NO_TOKEN },
      }),
      "/readyz": get("Whether messages are taken and answered", {
        security: [{}, { token: [] }],
        responses: {
          "200": answer("they are", readyAnswer),
          "503": answer("they are not", readyAnswer),
          ...NO_TOKEN,
        },
      }),
      "/metrics": get("Numbers for Prometheus", {
        responses: {
          "200": {
            description: "its text format",
            content: { "text/plain": { schema: { type: "string" } } },
          },
          ...NO_TOKEN,
        },
      }),
      "/channels": get("The channels, the newest first", {
        parameters: queryOf(channelsQuery),
        responses: { "200": answer("a page of them", channelsAnswer), ...NO_TOKEN, ...NOT_NOW },
      }),
      "/channels/{id}/context": get("What the next model call of a channel would be sent", {
        parameters: [ID],
        responses: {
          "200": answer("as `weir context --json` prints it", contextAnswer),
          "404": refused("there is no such channel"),
          ...NO_TOKEN,
          ...NOT_NOW,
        },
      }),
      "/channels/{id}/compactions": get("What was summarised of a channel, with the summaries", {
        parameters: [ID, ...queryOf(compactionsQuery)],
        responses: {
          "200": answer("as `weir compactions --json` prints them", compactionsAnswer),
          "404": refused("there is no such channel"),
          ...NO_TOKEN,
          ...NOT_NOW,
        },
      }),
      "/openapi.json": get("This description", {
        responses: {
          "200": {
            description: "OpenAPI 3",
            content: { "application/json": { schema: { type: "object" } } },
          },
          ...NO_TOKEN,
        },
      }),
    },
  };
}
