import type { IncomingMessage, ServerResponse } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";

import type { FileRecord } from "./records.ts";
import type { State } from "./state.ts";

/** An attachment, and how the CDN serves it. */
export interface FileDraft {
  readonly name: string;
  /** Its text, its bytes, or a number of zero bytes. */
  readonly body: string | number | Uint8Array;
  readonly contentType?: string;
  /** Fields of its payload that this server does not model. */
  readonly raw?: object;
  /** The size in the message's payload. Default: the true one. */
  readonly claimedSize?: number;
  /** Time until the first byte, ms. */
  readonly delayMs?: number;
  /** Answers 404. */
  readonly isMissing?: boolean;
  /** Sends this many bytes, then stalls. */
  readonly stallsAfter?: number;
}

export function storeFile(
  state: State,
  channelId: string,
  messageId: string,
  draft: FileDraft | { readonly name: string; readonly contentType: string; readonly body: Uint8Array },
): FileRecord {
  const id = state.ids.next();
  const body = typeof draft.body === "object" ? draft.body : bytesOf(draft.body);
  const path = `/attachments/${channelId}/${messageId}/${id}/${encodeURIComponent(draft.name)}`;
  const record: FileRecord = {
    id,
    name: draft.name,
    contentType: draft.contentType ?? "text/plain; charset=utf-8",
    url: `${state.origin}${path}`,
    size: "claimedSize" in draft && draft.claimedSize !== undefined ? draft.claimedSize : body.byteLength,
    body,
    raw: "raw" in draft ? (draft.raw ?? {}) : {},
    delayMs: "delayMs" in draft ? (draft.delayMs ?? 0) : 0,
    isMissing: "isMissing" in draft ? (draft.isMissing ?? false) : false,
    stallsAfter: "stallsAfter" in draft ? (draft.stallsAfter ?? null) : null,
  };
  state.files.set(path, record);
  return record;
}

/** Serves `GET /attachments/…` like the CDN: without token and rate limit. */
export async function serveFile(
  state: State,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const file = state.files.get(new URL(request.url ?? "/", state.origin).pathname);
  if (file === undefined || file.isMissing) {
    response.writeHead(404, { "content-type": "text/plain" });
    response.end("This content is no longer available.");
    return;
  }
  if (file.delayMs > 0) await sleep(file.delayMs, undefined, { ref: false });
  response.writeHead(200, { "content-type": file.contentType, "content-length": file.body.byteLength });
  if (file.stallsAfter === null) response.end(file.body);
  else response.write(file.body.subarray(0, file.stallsAfter));
}

function bytesOf(body: string | number): Uint8Array {
  return typeof body === "string" ? new TextEncoder().encode(body) : new Uint8Array(body);
}
