import type { Logger } from "pino";
import { z } from "zod";
import type { Card } from "../../../core/card.ts";
import { errorMessage } from "../../../core/errors.ts";
import { jsonOf } from "../../../core/json.ts";
import { splitText } from "../../../text/split-message.ts";
import { withDeadline } from "../../../async/deadline.ts";
import type { CommandForm, PlatformCommand, PlatformInbox } from "../../platform.ts";
import { addressOf, PLATFORM_NAME, type SlackPlace } from "../address.ts";
import type { ChannelRenames } from "../channel-renames.ts";
import { type Block, toBlocks } from "../outbound/card.ts";
import { fitMrkdwn } from "../outbound/mrkdwn.ts";
import { ownAddress } from "../../shared/own-address.ts";
import {
  type CalledCommand,
  carried,
  commandOfPress,
  formAlone,
  withWords,
} from "../../shared/pressed-command.ts";
import type { SlackApi } from "../web/api.ts";
import type { ButtonPress, FormSubmission, SlashCommand } from "./payload.ts";
import { MAX_POST_LENGTH } from "../outbound/content.ts";
import type { MessageReader } from "./reader.ts";

interface CommandsParts {
  readonly inbox: Pick<PlatformInbox, "command">;
  readonly api: Pick<SlackApi, "call">;
  readonly commands: readonly PlatformCommand[];
  readonly reader: Pick<MessageReader, "person">;
  readonly renames: ChannelRenames;
  /** Null: Slack's own. */
  readonly apiUrl: string | null;
  readonly log: Logger;
  readonly ackMs: number;
  readonly callMs: number;
}

/** Acknowledges a command, with or without a text that only the asker sees. */
export type Acknowledge = (answer?: { response_type: "ephemeral"; text: string }) => Promise<void>;

interface Answer {
  /** Drawn instead of the texts, if Slack accepts it. */
  readonly card: Card | null;
  readonly texts: readonly string[];
}

/** A person's command, typed or by a button. */
interface Called extends CalledCommand, SlackPlace {
  readonly user: string;
}

/** Where a form was opened; Slack says it of no form that is sent. */
const formPlace = z.object({ channel: z.string(), threadTs: z.string().nullable(), url: z.string() });
type FormPlace = z.infer<typeof formPlace>;
type AnswerPlace = Omit<FormPlace, "channel">;

const NO_FORM = "The form did not open just now. Please try again, or type the command.";
const RESPONSE_HOSTS = ["slack.com"];
const PART_LENGTH = 3000;
/** Slack accepts five posts per command. */
const MAX_PARTS = 5;

/** `/weir status`: runs the command and answers the asker alone. */
export class SlashCommands {
  readonly #parts: CommandsParts;
  readonly #underWay = new Set<Promise<void>>();

  constructor(parts: CommandsParts) {
    this.#parts = parts;
  }

  /**
   * Resolves once the command is acknowledged, which Slack wants within 3 s; the answer may come later.
   * @throws if the acknowledgement does not reach Slack
   */
  async run(command: SlashCommand, acknowledge: Acknowledge): Promise<void> {
    const { channel_id: channel, user_id: user } = command;
    const place = { url: command.response_url, threadTs: null };
    const called = parseSlashText(command.text ?? "");
    const form = formAlone(called, this.#parts.commands);
    if (form !== null) {
      await acknowledge();
      const opened = { called, form, trigger: command.trigger_id };
      if (await this.#openForm(opened, { ...place, channel })) return;
      this.#begin(this.#post(place, this.#answer({ ...called, channel, user, threadTs: null })));
      return;
    }
    const answering = this.#answer({ ...called, channel, user, threadTs: null });
    const early = await withDeadline(answering, this.#parts.ackMs);
    // Slack does not report whether it accepted the blocks of an acknowledgement.
    const [first, ...rest] = early === null || early.card !== null ? [] : early.texts;
    await acknowledge(first === undefined ? undefined : { response_type: "ephemeral", text: first });
    const isBegun = first !== undefined;
    this.#begin(this.#post(place, isBegun ? Promise.resolve({ card: null, texts: rest }) : answering));
  }

  /**
   * Runs a button's command; the answer is for the person who pressed it. Resolves once the press is acknowledged: if this process
   * ends before the command has run, Slack shows the person that it failed.
   * @throws if the acknowledgement does not reach Slack
   */
  async press(press: ButtonPress, acknowledge: () => Promise<void>): Promise<void> {
    const { container, message, user, response_url: url, actions } = press;
    const called = commandOfPress(actions[0]?.value ?? "", this.#parts.commands);
    const threadTs =
      message?.thread_ts == null || message.thread_ts === container.message_ts ? null : message.thread_ts;
    const asked = { channel: container.channel_id, threadTs, user: user.id };
    if (called !== null && called.form !== null) {
      await acknowledge();
      const opened = { called, form: called.form, trigger: press.trigger_id };
      if (await this.#openForm(opened, { channel: asked.channel, threadTs, url })) return;
      // Without its words, the command would do something else.
      this.#begin(this.#post({ url, threadTs }, Promise.resolve({ card: null, texts: [NO_FORM] })));
      return;
    }
    const answering = called === null ? null : this.#answer({ ...asked, ...called });
    if (answering !== null) await withDeadline(answering, this.#parts.ackMs);
    // An acknowledgement of a press cannot have a text.
    await acknowledge();
    if (answering !== null) this.#begin(this.#post({ url, threadTs }, answering));
  }

  /**
   * Runs the command of a form that somebody has sent. Resolves once the form is acknowledged: until then it stays open.
   * @throws if the acknowledgement does not reach Slack
   */
  async submit(submission: FormSubmission, acknowledge: () => Promise<void>): Promise<void> {
    const sent = commandOfForm(submission, this.#parts.commands);
    if (sent === null) return acknowledge();
    const { channel, threadTs, url } = sent.place;
    const answering = this.#answer({ channel, threadTs, user: submission.user.id, ...sent.called });
    await withDeadline(answering, this.#parts.ackMs);
    await acknowledge();
    this.#begin(this.#post({ url, threadTs }, answering));
  }

  /** Call within three seconds. @returns false: Slack does not open it */
  async #openForm(
    { called, form, trigger }: { called: CalledCommand; form: CommandForm; trigger: string },
    place: FormPlace,
  ): Promise<boolean> {
    const { api, log } = this.#parts;
    try {
      await api.call("views.open", { trigger_id: trigger, view: toView(called, form, place) }, z.unknown());
      return true;
    } catch (error) {
      log.info({ platform: PLATFORM_NAME, command: called.name, why: errorMessage(error) }, "form_refused");
      return false;
    }
  }

  #begin(posting: Promise<void>): void {
    this.#underWay.add(posting);
    void posting.finally(() => this.#underWay.delete(posting));
  }

  /** Resolves when every answer is sent or has failed. */
  async idle(): Promise<void> {
    await Promise.all(this.#underWay);
  }

  /** Does not throw. */
  async #answer({ channel, threadTs, user, name, argument }: Called): Promise<Answer> {
    const { inbox, reader, renames, log } = this.#parts;
    try {
      await renames.meet(channel);
      const { name: asker, roleNames = [] } = await reader.person(user);
      const answer = await inbox.command({
        channel: addressOf({ channel: renames.firstId(channel), threadTs }),
        name,
        argument,
        asker: { id: user, name: asker, roles: [], roleNames },
      });
      if (typeof answer === "string") return { card: null, texts: partsOf(answer, MAX_PARTS) };
      return { card: answer, texts: partsOf(answer.text, MAX_PARTS - 1) };
    } catch (error) {
      log.warn({ platform: PLATFORM_NAME, command: name, why: errorMessage(error) }, "command_failed");
      return { card: null, texts: [`/weir ${name} did not work just now. Please try again.`] };
    }
  }

  /** Must not throw: nobody awaits it. */
  async #post(place: AnswerPlace, answer: Promise<Answer>): Promise<void> {
    try {
      const { card, texts } = await answer;
      if (card !== null && (await this.#draw(place, card))) return;
      for (const text of texts) await this.#respond(place, { text });
    } catch (error) {
      this.#parts.log.warn({ platform: PLATFORM_NAME, why: errorMessage(error) }, "command_answer_not_sent");
    }
  }

  /** @returns false: Slack did not take the card */
  async #draw(place: AnswerPlace, card: Card): Promise<boolean> {
    try {
      const text = fitMrkdwn(card.summary, new Map(), MAX_POST_LENGTH);
      await this.#respond(place, { text, blocks: toBlocks(card) });
      return true;
    } catch (error) {
      this.#parts.log.info({ platform: PLATFORM_NAME, why: errorMessage(error) }, "card_refused");
      return false;
    }
  }

  async #respond(
    { url, threadTs }: AnswerPlace,
    content: { readonly text: string; readonly blocks?: readonly Block[] },
  ): Promise<void> {
    const thread = threadTs === null ? {} : { thread_ts: threadTs };
    const own = ownAddress(url, { hosts: RESPONSE_HOSTS, apiUrl: this.#parts.apiUrl });
    if (own === null) throw new Error("the response_url is none of Slack's own");
    const response = await fetch(own, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ response_type: "ephemeral", replace_original: false, ...thread, ...content }),
      redirect: "error",
      signal: AbortSignal.timeout(this.#parts.callMs),
    });
    // Slack may refuse with the status 200: a response_url answers "ok" or JSON.
    const said = await response.text();
    const isRefused = /"ok"\s*:\s*false/.test(said);
    if (!response.ok || isRefused)
      throw new Error(
        `Slack ${isRefused ? "refused" : "answered"} a post to a response_url with ${response.status}`,
      );
  }
}

/** A form as Slack's modal. Its id carries the command, as a button does, and its metadata the place for the answer. Pure. */
function toView(
  { name: command, argument }: CalledCommand,
  { title, label, maxLength }: CommandForm,
  { channel, threadTs, url }: FormPlace,
): object {
  return {
    type: "modal",
    callback_id: carried({ command, argument }),
    private_metadata: JSON.stringify({ channel, threadTs, url }),
    title: plain(title),
    submit: plain("Send"),
    close: plain("Cancel"),
    blocks: [
      {
        type: "input",
        block_id: "words",
        label: plain(label),
        element: { type: "plain_text_input", action_id: "words", multiline: true, max_length: maxLength },
      },
    ],
  };
}

function plain(text: string): object {
  return { type: "plain_text", text, emoji: false };
}

/** The command of a form with its words, and where it was opened; null: it is none of ours. Pure. */
function commandOfForm(
  { view }: FormSubmission,
  commands: readonly PlatformCommand[],
): { readonly called: CalledCommand; readonly place: FormPlace } | null {
  const called = commandOfPress(view.callback_id, commands);
  const place = formPlace.safeParse(jsonOf(view.private_metadata)).data;
  if (called === null || place === undefined) return null;
  return { called: withWords(called, view.state.values["words"]?.["words"]?.value ?? ""), place };
}

/** `context detail summaries` → context, "detail summaries"; no text: help. Pure. */
function parseSlashText(text: string): CalledCommand {
  const [, word = "", argument = ""] = /^\s*\/?(\S*)\s*([^]*)/.exec(text) ?? [];
  const name = word.toLowerCase();
  return name === "" ? { name: "help", argument: "" } : { name, argument: argument.trim() };
}

/** @param most remaining posts for it */
function partsOf(text: string, most: number): readonly string[] {
  const parts = splitText(text, PART_LENGTH).map((part) => fitMrkdwn(part, new Map(), MAX_POST_LENGTH));
  if (parts.length <= most) return parts;
  return [...parts.slice(0, most - 1), "… the rest of this answer is too long for Slack."];
}
