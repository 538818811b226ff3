import { randomUUID } from "node:crypto";

import { z } from "zod";

import { refusalOfBlocks } from "./blocks.ts";
import type { Carrier, ParcelType } from "./deliveries.ts";
import type { EventFeed } from "./events.ts";
import type { Fault } from "./faults.ts";
import type { Journal } from "./journal.ts";
import type { JsonObject, Workspace } from "./model.ts";

/** The app's reaction to a command or a click. `error`: the text for the person instead. */
export type Acknowledgement =
  | { readonly isAcknowledged: true; readonly body: unknown }
  | { readonly isAcknowledged: false; readonly error: "operation_timeout" | "dispatch_failed" };

/** The app's text by the acknowledgement or the response_url. */
export interface ResponsePost {
  readonly text: string;
  readonly type: "ephemeral" | "in_channel";
  readonly body: JsonObject;
}

/** A command or click, and what the person sees of it. */
export interface Interaction {
  readonly responseUrl: string;
  readonly acknowledged: Promise<Acknowledgement>;
  /** The texts that the person was shown, oldest first, also in the acknowledgement. */
  readonly posts: readonly ResponsePost[];
}

interface OpenInteraction extends Interaction {
  readonly posts: ResponsePost[];
  readonly channel: string;
  readonly expiresAt: number;
  usesLeft: number;
}

const RESPONSE_URL_USES = 5;
const RESPONSE_URL_LIFE_MS = 30 * 60_000;

const responseBody = z.looseObject({
  text: z.string().optional(),
  response_type: z.enum(["ephemeral", "in_channel"]).optional(),
});

/** Slash commands and clicks, which are sent once, acknowledged or lost; with their response URLs. */
const openedView = z.strictObject({
  type: z.literal("modal"),
  callback_id: z.string().max(255),
  private_metadata: z.string().max(3000),
  title: plainText(24),
  submit: plainText(24),
  close: plainText(24),
  blocks: z.tuple([
    z.strictObject({
      type: z.literal("input"),
      block_id: z.string().max(255),
      label: plainText(2000),
      element: z.strictObject({
        type: z.literal("plain_text_input"),
        action_id: z.string().max(255),
        multiline: z.boolean(),
        max_length: z.number().min(1).max(3000),
      }),
    }),
  ]),
});
/** A form that a person sees. */
export type OpenedView = z.infer<typeof openedView>;

function plainText(limit: number) {
  return z.strictObject({
    type: z.literal("plain_text"),
    text: z.string().min(1).max(limit),
    emoji: z.boolean(),
  });
}

export class Interactions {
  readonly #workspace: Workspace;
  readonly #feed: EventFeed;
  readonly #carrier: Carrier;
  readonly #journal: Journal;
  readonly #origin: string;
  readonly #open = new Map<string, OpenInteraction>();
  /** By the id of what the person did, which opens one form. */
  readonly #triggers = new Map<string, { readonly user: string; view: OpenedView | null }>();

  constructor(workspace: Workspace, feed: EventFeed, carrier: Carrier, journal: Journal, origin: string) {
    this.#workspace = workspace;
    this.#feed = feed;
    this.#carrier = carrier;
    this.#journal = journal;
    this.#origin = origin;
  }

  /** Slack sends no thread with a command, which cannot be used in one. */
  command(user: string, channelId: string, command: string, text: string): Interaction {
    const channel = this.#workspace.channel(channelId);
    return this.#start("slash_commands", "commands", channelId, {
      token: "legacy-verification-token",
      team_id: this.#workspace.teamId,
      team_domain: "weir-test",
      channel_id: channelId,
      channel_name: channel.type === "im" ? "directmessage" : channel.name,
      user_id: user,
      user_name: this.#workspace.users.get(user)?.name ?? "",
      command,
      text,
      api_app_id: this.#workspace.appId,
      is_enterprise_install: "false",
      trigger_id: this.#trigger(user),
    });
  }

  /** A click on a button of a message of the bot's. */
  click(
    user: string,
    channelId: string,
    messageTs: string,
    action: { id: string; value?: string },
  ): Interaction {
    const { teamId, appId } = this.#workspace;
    const threadTs = this.#workspace.findMessage(channelId, messageTs)?.threadTs;
    const thread = threadTs === undefined ? {} : { thread_ts: threadTs };
    // A time, and no place among the messages.
    const at = (this.#workspace.now() / 1000).toFixed(6);
    return this.#start("interactive", "actions", channelId, {
      type: "block_actions",
      user: { id: user, team_id: teamId },
      api_app_id: appId,
      token: "legacy-verification-token",
      container: { type: "message", message_ts: messageTs, channel_id: channelId, ...thread },
      trigger_id: this.#trigger(user),
      team: { id: teamId, domain: "weir-test" },
      enterprise: null,
      is_enterprise_install: false,
      channel: { id: channelId, name: this.#workspace.channel(channelId).name },
      message: { type: "message", ts: messageTs, ...thread },
      actions: [{ type: "button", action_id: action.id, block_id: "b1", value: action.value, action_ts: at }],
    });
  }

  /** `views.open`. @returns Slack's refusal; null: the person sees the form */
  openView(trigger: string, view: unknown): string | null {
    const known = this.#triggers.get(trigger);
    if (known === undefined) return "invalid_trigger_id";
    if (known.view !== null) return "exchanged_trigger_id";
    const parsed = openedView.safeParse(view);
    if (!parsed.success) return "invalid_arguments";
    known.view = parsed.data;
    this.#journal.changed();
    return null;
  }

  /** The form that was opened last; null: none. */
  get form(): { readonly user: string; readonly view: OpenedView } | null {
    const last = [...this.#triggers.values()].findLast(({ view }) => view !== null);
    return last?.view == null ? null : { user: last.user, view: last.view };
  }

  /** Whoever sees the form that was opened last sends it. */
  async submit(words: string): Promise<Acknowledgement> {
    const { form } = this;
    if (form === null) throw new Error("Nobody sees a form.");
    const { teamId, appId } = this.#workspace;
    const { user, view } = form;
    const [{ block_id: block, element }] = view.blocks;
    const payload = {
      type: "view_submission",
      team: { id: teamId, domain: "weir-test" },
      user: { id: user, username: "", name: "", team_id: teamId },
      api_app_id: appId,
      token: "legacy-verification-token",
      trigger_id: randomUUID(),
      view: {
        id: "V1",
        team_id: teamId,
        app_id: appId,
        ...view,
        state: { values: { [block]: { [element.action_id]: { type: "plain_text_input", value: words } } } },
      },
      response_urls: [],
      is_enterprise_install: false,
      enterprise: null,
    };
    const parcel = {
      envelopeId: randomUUID(),
      type: "interactive",
      payload,
      retryAttempt: 0,
      retryReason: "",
    } as const;
    const outcome = await this.#carrier.carry(parcel);
    return outcome.isAcknowledged ? outcome : { isAcknowledged: false, error: "dispatch_failed" };
  }

  #trigger(user: string): string {
    const id = randomUUID();
    this.#triggers.set(id, { user, view: null });
    return id;
  }

  /** Serves a POST to a response URL. Returns status and body of the answer. */
  respond(
    path: string,
    body: string,
    fault: Fault | undefined,
  ): { readonly status: number; readonly body: string } {
    const interaction = this.#open.get(path);
    const parsed = responseBody.safeParse(parseJson(body));
    const refusal = fault?.fault === "error" ? fault.error : refusalOfBlocks(parsed.data?.["blocks"]);
    const answer =
      fault?.fault === "status"
        ? { status: fault.status, body: fault.body ?? "" }
        : refusal === null
          ? this.#judge(interaction, parsed.success)
          : { status: 200, body: JSON.stringify({ ok: false, error: refusal }) };
    this.#journal.add({ kind: "response", body: parsed.data ?? {}, status: answer.status });
    if (answer.body === "ok" && interaction !== undefined && parsed.success) {
      interaction.usesLeft -= 1;
      this.#show(interaction, parsed.data);
    }
    return answer;
  }

  #judge(
    interaction: OpenInteraction | undefined,
    isReadable: boolean,
  ): { readonly status: number; readonly body: string } {
    if (interaction === undefined || interaction.expiresAt < this.#workspace.now()) {
      return { status: 404, body: JSON.stringify({ ok: false, error: "expired_url" }) };
    }
    if (interaction.usesLeft === 0) {
      return { status: 404, body: JSON.stringify({ ok: false, error: "used_url" }) };
    }
    if (!isReadable) return { status: 400, body: "invalid_payload" };
    return { status: 200, body: "ok" };
  }

  #start(type: ParcelType, folder: string, channel: string, fields: JsonObject): Interaction {
    const path = `/${folder}/${this.#workspace.teamId}/${randomUUID()}`;
    const responseUrl = `${this.#origin}${path}`;
    const { promise, resolve, reject } = Promise.withResolvers<Acknowledgement>();
    const interaction: OpenInteraction = {
      responseUrl,
      acknowledged: promise,
      posts: [],
      channel,
      expiresAt: this.#workspace.now() + RESPONSE_URL_LIFE_MS,
      usesLeft: RESPONSE_URL_USES,
    };
    this.#open.set(path, interaction);
    this.#deliver(type, { ...fields, response_url: responseUrl }, interaction).then(resolve, reject);
    return interaction;
  }

  async #deliver(
    type: ParcelType,
    payload: JsonObject,
    interaction: OpenInteraction,
  ): Promise<Acknowledgement> {
    const outcome = await this.#carrier.carry({
      envelopeId: randomUUID(),
      type,
      payload,
      retryAttempt: 0,
      retryReason: "",
    });
    if (!outcome.isAcknowledged) {
      const isLate = outcome.reason.includes("timeout");
      return { isAcknowledged: false, error: isLate ? "operation_timeout" : "dispatch_failed" };
    }
    const { body } = outcome;
    const shown = responseBody.safeParse(typeof body === "string" ? { text: body } : body);
    if (shown.success && shown.data.text !== undefined) this.#show(interaction, shown.data);
    return outcome;
  }

  #show(interaction: OpenInteraction, body: z.infer<typeof responseBody>): void {
    const type = body.response_type ?? "ephemeral";
    const text = body.text ?? "";
    interaction.posts.push({ text, type, body });
    if (type === "in_channel") {
      const { bot } = this.#workspace;
      const { channel } = interaction;
      this.#feed.posted(this.#workspace.post({ channel, text, user: bot.id, botId: bot.botId }));
    }
    this.#journal.changed();
  }
}

function parseJson(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return undefined;
  }
}
