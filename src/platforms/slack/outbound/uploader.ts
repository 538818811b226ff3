import { setTimeout as delay } from "node:timers/promises";
import { z } from "zod";
import { BoundedMap } from "../../../async/bounded-map.ts";
import type { OutboundFile, OutboundMessage } from "../../../core/message.ts";
import { ownAddress } from "../../shared/own-address.ts";
import { messageId, placeOf } from "../address.ts";
import type { SlackApi } from "../web/api.ts";
import { nothing } from "../web/names.ts";
import { SlackError } from "../web/slack-error.ts";

interface UploaderParts {
  /** With a longer timeout. */
  readonly api: SlackApi;
  /** Null: Slack's own. */
  readonly apiUrl: string | null;
}

const HOSTS = ["slack.com"];
const MAX_KEYS = 1000;
const UPLOAD_MS = 30_000;
/** Waits for the message that shows a file, which Slack makes a moment later, ms. */
const SHOWN_AFTER_MS = [0, 500, 1500];

const uploadUrl = z.object({ upload_url: z.string(), file_id: z.string() });
const share = z.record(z.string(), z.array(z.object({ ts: z.string() })));
const shared = z.object({
  file: z.object({
    shares: z.object({ public: share.optional(), private: share.optional() }).optional().catch(undefined),
  }),
});

/** Sends files, each as a message of its own. All calls throw SlackError. */
export class Uploader {
  readonly #parts: UploaderParts;
  /** Uploaded files, by idempotency key: a second attempt shares the same file. */
  readonly #uploaded = new BoundedMap<string>(MAX_KEYS);

  constructor(parts: UploaderParts) {
    this.#parts = parts;
  }

  /** @returns the message's id; one of no message, if Slack does not tell it in time */
  async send(
    { channel: address, idempotencyKey: key }: OutboundMessage,
    file: OutboundFile,
  ): Promise<string> {
    const { channel, threadTs } = placeOf(address);
    const known = this.#uploaded.get(key);
    const there = known === undefined ? null : await this.#shownAs(known, channel);
    if (there !== null) return there;
    const id = known ?? (await this.#upload(file));
    this.#uploaded.set(key, id);
    const args = {
      files: [{ id, title: file.name }],
      channel_id: channel,
      ...(threadTs !== null && { thread_ts: threadTs }),
    };
    await this.#parts.api.call("files.completeUploadExternal", args, nothing);
    for (const afterMs of SHOWN_AFTER_MS) {
      await delay(afterMs);
      const shown = await this.#shownAs(id, channel).catch(() => null);
      if (shown !== null) return shown;
    }
    return messageId(channel, id);
  }

  /** @returns the file's id */
  async #upload({ name, bytes, type }: OutboundFile): Promise<string> {
    const { api, apiUrl } = this.#parts;
    const args = { filename: name, length: bytes.length };
    const { upload_url: address, file_id: id } = await api.call(
      "files.getUploadURLExternal",
      args,
      uploadUrl,
    );
    const url = ownAddress(address, { hosts: HOSTS, apiUrl });
    if (url === null)
      throw new SlackError("unavailable", "Slack names an address for a file that is not its own.");
    const signal = AbortSignal.timeout(UPLOAD_MS);
    const body = new Blob([new Uint8Array(bytes)], { type });
    try {
      const response = await fetch(url, { method: "POST", body, signal, redirect: "error" });
      await response.body?.cancel();
      if (response.ok) return id;
    } catch (error) {
      throw new SlackError("unavailable", "Slack does not take a file: the connection failed", {
        cause: error,
      });
    }
    throw new SlackError("unavailable", "Slack does not take a file.");
  }

  /** The message that shows the file in a channel; null: none does. */
  async #shownAs(file: string, channel: string): Promise<string | null> {
    try {
      const { shares } = (await this.#parts.api.call("files.info", { file }, shared)).file;
      const ts = (shares?.public?.[channel] ?? shares?.private?.[channel])?.at(0)?.ts;
      return ts === undefined ? null : messageId(channel, ts);
    } catch (error) {
      // An upload is no file before it is shared.
      if (error instanceof SlackError && error.code === "file_not_found") return null;
      throw error;
    }
  }
}
