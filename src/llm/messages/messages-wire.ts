import type { ChatServer } from "../chat/chat-request.ts";
import type { Wire } from "../wire.ts";
import { MessagesReader } from "./messages-events.ts";
import { messagesBody } from "./messages-request.ts";

/** Anthropic's Messages. Its client is loaded with the first request. */
export function messagesWire(server: ChatServer): Wire {
  let client: Wire["post"] | undefined;
  return {
    body: messagesBody,
    async post(body, options) {
      client ??= (await import("./messages-client.ts")).openMessagesClient(server);
      return client(body, options);
    },
    reader: () => new MessagesReader(),
  };
}
