import { createHmac } from "node:crypto";

import type { Carrier, Outcome, Parcel } from "./deliveries.ts";
import type { Journal } from "./journal.ts";
import type { JsonObject } from "./model.ts";

/** Defects of the next requests to the app. */
export interface Tampering {
  readonly signature?: "wrong" | "missing";
  /** Age of the signed timestamp, s. */
  readonly ageS?: number;
}

export interface RequestUrlOptions {
  readonly signingSecret: string;
  readonly ackTimeoutMs: number;
  readonly now: () => number;
}

/** HTTP mode: posts to the app's request URL, signed like Slack's (v0). */
export class RequestUrl implements Carrier {
  /** The app's address: `http://127.0.0.1:3000/slack/events`. Undefined: Socket Mode. */
  url: string | undefined;
  readonly #options: RequestUrlOptions;
  readonly #journal: Journal;
  readonly #tampering: Tampering[] = [];

  constructor(journal: Journal, options: RequestUrlOptions) {
    this.#journal = journal;
    this.#options = options;
  }

  /** Corrupts the next requests, each by one of these. */
  tamperNext(...tampering: readonly Tampering[]): void {
    this.#tampering.push(...tampering);
  }

  /** Requests the app's proof that the URL is its own. */
  async verify(challenge: string): Promise<{ readonly status: number; readonly body: string }> {
    const body = JSON.stringify({ type: "url_verification", token: "legacy", challenge });
    const response = await this.#post(body, "application/json", {});
    return { status: response.status, body: await response.text() };
  }

  async carry(parcel: Parcel): Promise<Outcome> {
    const { payload, type, envelopeId, retryAttempt, retryReason } = parcel;
    const eventId = payload["event_id"];
    this.#journal.add({
      kind: "envelope",
      ...parcel,
      eventId: typeof eventId === "string" ? eventId : undefined,
      via: "http",
    });
    const retry: Record<string, string> =
      retryAttempt === 0
        ? {}
        : { "x-slack-retry-num": String(retryAttempt), "x-slack-retry-reason": retryReason };
    const contentType = type === "events_api" ? "application/json" : "application/x-www-form-urlencoded";
    try {
      const response = await this.#post(encode(parcel), contentType, retry);
      const body = parseBody(await response.text());
      const { status } = response;
      const accepted = status >= 200 && status < 300;
      this.#journal.add({ kind: "ack", envelopeId, via: "http", accepted, payload: body, status });
      if (accepted) return { isAcknowledged: true, body };
      const isFinal = response.headers.get("x-slack-no-retry") === "1";
      return { isAcknowledged: false, reason: "http_error", isFinal };
    } catch (error) {
      const isLate = error instanceof Error && error.name === "TimeoutError";
      return { isAcknowledged: false, reason: isLate ? "http_timeout" : "connection_failed", isFinal: false };
    }
  }

  async #post(body: string, contentType: string, extra: Record<string, string>): Promise<Response> {
    if (this.url === undefined) throw new Error("The Slack test server has no request URL");
    const { signature, ageS = 0 } = this.#tampering.shift() ?? {};
    const timestamp = String(Math.floor(this.#options.now() / 1000) - ageS);
    const secret = signature === "wrong" ? "another secret" : this.#options.signingSecret;
    const hash = createHmac("sha256", secret).update(`v0:${timestamp}:${body}`).digest("hex");
    const signed: Record<string, string> =
      signature === "missing" ? {} : { "x-slack-signature": `v0=${hash}` };
    return fetch(this.url, {
      method: "POST",
      body,
      redirect: "manual",
      headers: {
        "content-type": contentType,
        "user-agent": "Slackbot 1.0 (+https://api.slack.com/robots)",
        "x-slack-request-timestamp": timestamp,
        ...signed,
        ...extra,
      },
      signal: AbortSignal.timeout(this.#options.ackTimeoutMs),
    });
  }
}

function encode({ type, payload }: Parcel): string {
  if (type === "events_api") return JSON.stringify(payload);
  if (type === "interactive") return new URLSearchParams({ payload: JSON.stringify(payload) }).toString();
  return new URLSearchParams(toFields(payload)).toString();
}

function toFields(payload: JsonObject): Record<string, string> {
  return Object.fromEntries(Object.entries(payload).map(([key, value]) => [key, String(value)]));
}

/** An acknowledgement is JSON, a plain text, or empty. */
function parseBody(body: string): unknown {
  if (body === "") return undefined;
  try {
    return JSON.parse(body);
  } catch {
    return body;
  }
}
