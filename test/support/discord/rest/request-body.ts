import type { IncomingMessage } from "node:http";
import { buffer } from "node:stream/consumers";

import type { UploadedFile } from "./route.ts";

export interface RequestBody {
  readonly body: unknown;
  readonly uploads: readonly UploadedFile[];
}

/** Reads JSON, or a form with `payload_json` and files. */
export async function readRequestBody(request: IncomingMessage): Promise<RequestBody> {
  const bytes = await buffer(request);
  const type = request.headers["content-type"] ?? "";
  if (!type.startsWith("multipart/form-data"))
    return { body: parseJson(bytes.toString("utf8")), uploads: [] };
  const form = await new Response(new Uint8Array(bytes), { headers: { "content-type": type } }).formData();
  const uploads: UploadedFile[] = [];
  for (const value of form.values()) {
    if (typeof value === "string") continue;
    uploads.push({
      name: value.name,
      contentType: value.type === "" ? "application/octet-stream" : value.type,
      body: new Uint8Array(await value.arrayBuffer()),
    });
  }
  const payload = form.get("payload_json");
  return { body: typeof payload === "string" ? parseJson(payload) : null, uploads };
}

function parseJson(text: string): unknown {
  if (text === "") return null;
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
