import { type Platform, type PlatformCapabilities, PlatformError } from "./platform.ts";

/** Stands for a platform that is not connected here: work on a channel's log goes on, and nothing can be sent. */
export class AbsentPlatform implements Platform {
  readonly name = "absent";
  readonly capabilities: PlatformCapabilities = {
    streaming: false,
    takesIdempotencyKeys: false,
    maxTextLength: Number.MAX_SAFE_INTEGER,
    serves: () => false,
  };

  async start(): Promise<void> {
    // Nothing comes in.
  }

  async stopIntake(): Promise<void> {
    // As above.
  }

  async send(): Promise<string> {
    throw notConnected();
  }

  async edit(): Promise<void> {
    throw notConnected();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    // Holds nothing open.
  }
}

function notConnected(): PlatformError {
  return new PlatformError("absent", "unavailable", "This platform is not connected here.");
}
