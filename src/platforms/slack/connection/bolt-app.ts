import { App, type HTTPReceiver, type SocketModeReceiver } from "@slack/bolt";
import type { Logger } from "pino";
import { WeirError } from "../../../core/errors.ts";
import { type SlackApiOptions, clientOptions } from "../web/api.ts";
import { boltLogger } from "./bolt-logger.ts";
import type { Acknowledge } from "../inbound/slash-commands.ts";
import type { Bot } from "../web/names.ts";
import {
  type ButtonPress,
  buttonPress,
  type FormSubmission,
  formSubmission,
  type SlashCommand,
  slashCommand,
} from "../inbound/payload.ts";

export interface Handlers {
  /** @returns whether to acknowledge it */
  event(body: unknown): Promise<boolean>;
  command(command: SlashCommand, acknowledge: Acknowledge): Promise<void>;
  press(press: ButtonPress, acknowledge: () => Promise<void>): Promise<void>;
  submit(submission: FormSubmission, acknowledge: () => Promise<void>): Promise<void>;
  /** Called on connecting, before the first event. */
  connected(): void;
  disconnected(): void;
}

/** An event is not durable: leave it unacknowledged, so that Slack sends it again. */
class NotTakenError extends WeirError {
  readonly retryable = true;
}

/** Bolt's app on a receiver. It makes no calls of its own: the bot's identity is known. */
export function createApp(
  receiver: SocketModeReceiver | HTTPReceiver,
  handlers: Handlers,
  options: SlackApiOptions & { readonly bot: Bot; readonly log: Logger },
): App {
  const { token, bot, log } = options;
  const app = new App({
    token,
    botId: bot.botId,
    botUserId: bot.userId,
    tokenVerificationEnabled: false,
    receiver,
    logger: boltLogger(log),
    convoStore: false,
    ignoreSelf: false,
    clientOptions: clientOptions(options),
  });
  app.event(/.*/, async ({ body }) => {
    if (!(await handlers.event(body))) throw new NotTakenError("This event is not taken yet.");
  });
  app.command(/.*/, async ({ body, ack }) => {
    await handlers.command(slashCommand.parse(body), ack);
  });
  app.action({ type: "block_actions" }, async ({ body, ack }) => {
    const press = buttonPress.safeParse(body);
    // Other buttons are only acknowledged.
    await (press.success ? handlers.press(press.data, async () => ack()) : ack());
  });
  app.view({ type: "view_submission", callback_id: /.*/ }, async ({ body, ack }) => {
    const submission = formSubmission.safeParse(body);
    await (submission.success ? handlers.submit(submission.data, async () => ack()) : ack());
  });
  // An error here makes the receiver leave the event unacknowledged.
  app.error(async (error) => {
    throw error;
  });
  return app;
}
