// An MCP server of pictures, made with the SDK, over its standard input and output. Arguments: FILE, to which each call
// adds a line.
import { appendFileSync } from "node:fs";
import { argv } from "node:process";
import { McpServer } from "@modelcontextprotocol/server";
import { StdioServerTransport } from "@modelcontextprotocol/server/stdio";
import { z } from "zod";
import { GIF, PNG } from "./pictures.ts";

const journal = argv[2];
const server = new McpServer({ name: "pictures", version: "1.0.0" });
const image = (bytes: Buffer, mimeType = "image/png") =>
  ({ type: "image", data: bytes.toString("base64"), mimeType }) as const;
const NOISE = Buffer.from("<script>alert(1)</script>");

function content(kind: string) {
  switch (kind) {
    case "lies":
      return [
        image(NOISE),
        image(GIF),
        image(PNG, "text/html"),
        image(NOISE, "image/svg+xml"),
        { type: "audio", data: PNG.toString("base64"), mimeType: "image/png" } as const,
      ];
    case "resources":
      return [
        {
          type: "resource",
          resource: { uri: "file:///a.gif", blob: GIF.toString("base64"), mimeType: "image/gif" },
        } as const,
        {
          type: "resource_link",
          uri: "http://127.0.0.1:9/b.png",
          name: "b",
          mimeType: "image/png",
        } as const,
      ];
    case "many":
      return Array.from({ length: 100 }, () => image(PNG));
    case "huge":
      return [image(Buffer.concat([PNG, Buffer.alloc(37_500_000)]))];
    default:
      return [{ type: "text", text: `Here is ${kind}.` } as const, image(PNG)];
  }
}

server.registerTool(
  "look",
  { description: "Gives pictures.", inputSchema: z.object({ kind: z.string() }) },
  async ({ kind }) => {
    if (journal !== undefined) appendFileSync(journal, `${kind}\n`);
    return { content: content(kind), ...(kind === "failure" && { isError: true }) };
  },
);
await server.connect(new StdioServerTransport());
