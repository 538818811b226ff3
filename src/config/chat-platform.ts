import type { z } from "zod";
import type { CamelCased } from "./camel-case.ts";
import type { chatOptions } from "./schema/chat-options.ts";

/** Settings that all chat platforms share. */
export interface ChatPlatformConfig extends Omit<
  CamelCased<z.output<z.ZodObject<typeof chatOptions>>>,
  "apiUrl"
> {
  /** Null: the platform's own. */
  readonly apiUrl: string | null;
  /** Values of all secrets in its section, for masking. Never print them. */
  readonly secrets: readonly string[];
}
