import type { McpServer } from "@modelcontextprotocol/server";
import { setTimeout as delay } from "node:timers/promises";
import { z } from "zod";

export interface GoodParts {
  /** Called with each call. */
  readonly note: (line: Record<string, unknown>) => unknown;
  readonly env: Readonly<Record<string, string | undefined>>;
}

export function addTools(server: McpServer, { note, env }: GoodParts): void {
  const read = (meta: unknown): Record<string, unknown> => z.looseObject({}).catch({}).parse(meta);
  const key = (meta: unknown): unknown => read(meta)["weir/idempotencyKey"];
  server.registerTool(
    "echo",
    {
      description: "Says again what it is told.",
      inputSchema: z.object({ text: z.string() }),
      annotations: { readOnlyHint: true },
    },
    async ({ text }, context) => {
      const { traceparent } = read(context.mcpReq._meta);
      note({ tool: "echo", text, key: key(context.mcpReq._meta), traceparent });
      return { content: [{ type: "text", text: `You said: ${text}` }] };
    },
  );
  server.registerTool(
    "environment",
    { description: "Tells the names of its variables and one value.", inputSchema: z.object({}) },
    async () => {
      note({ tool: "environment" });
      return {
        content: [
          {
            type: "text",
            text: `${Object.keys(env).toSorted().join(" ")}; key ${env["GOOD_KEY"] ?? "none"}`,
          },
        ],
      };
    },
  );
  server.registerTool("fail", { description: "Fails.", inputSchema: z.object({}) }, async () => ({
    content: [{ type: "text", text: "the disk is full" }],
    isError: true,
  }));
  server.registerTool(
    "picture",
    {
      description: "Gives a picture and numbers.",
      inputSchema: z.object({}),
      outputSchema: z.object({ width: z.number() }),
    },
    async () => ({
      content: [
        {
          type: "image",
          data: Buffer.from("not really a picture").toString("base64"),
          mimeType: "image/png",
        },
        { type: "resource", resource: { uri: "note://1", text: "a note", mimeType: "text/plain" } },
      ],
      structuredContent: { width: 3 },
    }),
  );
  server.registerTool(
    "sleep",
    { description: "Takes its time.", inputSchema: z.object({}) },
    async (_, { mcpReq: { signal, _meta } }) => {
      note({ tool: "sleep", state: "begun", key: key(_meta) });
      await delay(600_000, undefined, { signal }).catch(() => undefined);
      note({ tool: "sleep", state: signal.aborted ? "cancelled" : "over" });
      return { content: [] };
    },
  );
}
