import { PlatformError } from "../../platform.ts";
import { PLATFORM_NAME } from "../address.ts";

export class SlackError extends PlatformError {
  /** Slack's error code, such as `channel_not_found`; null: no readable answer. */
  readonly code: string | null;
  /** The missing scope if that is the cause. */
  readonly needed: string | null;

  constructor(
    kind: PlatformError["kind"],
    message: string,
    details: { code?: string; needed?: string | undefined; retryAfterMs?: number; cause?: unknown } = {},
  ) {
    const { code, needed, ...options } = details;
    super(PLATFORM_NAME, kind, message, { ...options, isMessageGone: code === "message_not_found" });
    this.code = code ?? null;
    this.needed = needed ?? null;
  }
}
