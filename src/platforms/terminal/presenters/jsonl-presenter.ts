import type {
  ChannelOnPlatform,
  InboundEvent,
  InboundMessage,
  OutboundMessage,
} from "../../../core/message.ts";
import { answerText } from "../../../core/card.ts";
import { unreachable } from "../../../core/errors.ts";
import type { PlatformInbox } from "../../platform.ts";
import { displayableJson } from "../../../text/displayable.ts";
import { PLATFORM_NAME, type Intake, receive, runCommand, takeIn } from "../intake.ts";
import { type JsonlCommand, parseJsonlLine } from "./jsonl-grammar.ts";
import { JsonlRoutes } from "./jsonl-routes.ts";
import { type InputLine, LineReader } from "../typed/line-reader.ts";
import { OutputClosedError } from "../output.ts";
import type { Presenter, Session } from "./presenter.ts";
import type { CompactionNews, SettledTurn } from "../turn-news.ts";

/** Most lines of all channels together that are read and not durable yet. */
const MAX_IN_FLIGHT = 256;

/** `weir chat --jsonl`: a script speaks in many channels side by side, a JSON object a line each way. */
export class JsonlPresenter implements Presenter {
  readonly streaming = false;
  readonly #session: Session;
  readonly #reader: LineReader;
  readonly #routes = new JsonlRoutes(MAX_IN_FLIGHT);

  constructor(session: Session) {
    this.#session = session;
    this.#reader = LineReader.of(session.input);
  }

  serves(): boolean {
    return true;
  }

  async run(inbox: PlatformInbox): Promise<void> {
    for (let line = await this.#reader.next(); line !== null; line = await this.#reader.next()) {
      await this.#handle(line, inbox);
    }
    await this.#routes.idle();
    await this.#session.pending.idle();
  }

  async stopIntake(): Promise<void> {
    this.#reader.close();
    await this.#routes.idle();
  }

  async show(_id: string, message: OutboundMessage): Promise<void> {
    if (!message.final) return;
    const channel = message.channel.name;
    await this.#session.pending.whenAccepted(channel, message.inReplyTo);
    if (message.kind === "notice" && message.inReplyTo.length === 0) {
      await this.#write({ type: "notice", channel, text: message.text });
      return;
    }
    await this.#write({
      type: "reply",
      channel,
      in_reply_to: message.inReplyTo,
      agent: message.speaker,
      text: message.text,
      turn_ms: milliseconds(message.timing?.turnMs),
      model_ms: milliseconds(message.timing?.modelMs),
      failed: message.kind === "notice" ? true : undefined,
    });
  }

  async settled(channel: string, turn: SettledTurn): Promise<void> {
    if (turn.outcome !== "skipped" && turn.outcome !== "stopped") return;
    await this.#session.pending.whenAccepted(channel, turn.inReplyTo);
    await this.#write({ type: turn.outcome, channel, in_reply_to: turn.inReplyTo, why: turn.reason });
  }

  async emergency(channel: string, omitted: number): Promise<void> {
    await this.#write({ type: "emergency", channel, omitted });
  }

  async compaction(channel: string, news: CompactionNews): Promise<void> {
    await this.#write({
      type: "compaction",
      channel,
      phase: news.phase,
      kind: news.kind,
      tier: news.tier,
      from_seq: news.fromSeq,
      to_seq: news.toSeq,
      tokens_before: news.tokensBefore,
      tokens_after: news.tokensAfter,
      memories: news.memories,
      ms: milliseconds(news.ms),
    });
  }

  async remark(): Promise<void> {}
  retrying(): void {}

  /** Resolves once the line was accepted: there was room, and its place in its channel's order is fixed. */
  async #handle(line: InputLine, inbox: PlatformInbox): Promise<void> {
    if (line.type === "too_long") {
      await this.#tell({ type: "error", line: line.number, why: "the line is too long" });
      return;
    }
    if (line.text.trim() === "") return;
    const parsed = parseJsonlLine(line.text);
    if (!parsed.ok) {
      await this.#tell({ type: "error", line: line.number, id: parsed.id, why: parsed.why });
      return;
    }
    const { command } = parsed;
    switch (command.type) {
      case "message": {
        const message = this.#toMessage(command);
        const route = { channel: message.channel.name, id: message.id };
        return await this.#routes.add(route, () => this.#say(message, line.number, inbox));
      }
      case "edit":
      case "delete":
        return await this.#routes.add({ id: command.id }, () => this.#change(command, line.number, inbox));
      case "stop":
        return await this.#routes.add({ channel: command.channel }, () => this.#stop(command.channel, inbox));
      default:
        return unreachable(command);
    }
  }

  #toMessage(command: JsonlCommand & { type: "message" }): InboundMessage {
    return {
      type: "message",
      ...placeOf(command.channel ?? this.#session.channel),
      id: command.id ?? this.#session.newId(),
      author: { id: command.author, name: command.author, isBot: false },
      text: command.text,
      at: command.at ?? this.#session.now(),
      addressed: command.addressed,
    };
  }

  async #say(message: InboundMessage, line: number, inbox: PlatformInbox): Promise<void> {
    const { id } = message;
    const channel = message.channel.name;
    const intake = await takeIn(inbox, this.#session, message);
    if (intake.outcome === "accepted" || intake.outcome === "duplicate") {
      const duplicate = intake.outcome === "duplicate" ? true : undefined;
      await this.#tell({ type: "accepted", id, channel, seq: intake.seq, duplicate });
      this.#session.pending.accept(channel, id);
      return;
    }
    await this.#tell({ type: "error", line, id, channel, why: whyRefused(intake) });
  }

  async #change(
    command: JsonlCommand & { type: "edit" | "delete" },
    line: number,
    inbox: PlatformInbox,
  ): Promise<void> {
    const { type, id } = command;
    const base = { platform: PLATFORM_NAME, id, at: this.#session.now() };
    const event: InboundEvent =
      command.type === "edit" ? { ...base, type: "edit", text: command.text } : { ...base, type: "deletion" };
    const receipt = await receive(inbox, event);
    if (receipt.outcome === "accepted" || receipt.outcome === "duplicate") {
      await this.#tell({ type: "accepted", id, seq: receipt.seq, change: type });
      if (type === "delete") this.#session.pending.forgetId(id);
    } else {
      await this.#tell({ type: "error", line, id, why: whyRefused(receipt) });
    }
  }

  async #stop(channel: string, inbox: PlatformInbox): Promise<void> {
    const { speaker: asker } = this.#session;
    const command = { name: "stop", argument: "", asker, where: placeOf(channel) };
    const text = answerText(await runCommand(inbox, this.#session, command));
    await this.#tell({ type: "command", channel, name: "stop", text });
  }

  /** Writes a line without a caller that waits. A closed output ends the session elsewhere. */
  async #tell(value: object): Promise<void> {
    try {
      await this.#write(value);
    } catch (error) {
      if (!(error instanceof OutputClosedError)) throw error;
    }
  }

  async #write(value: object): Promise<void> {
    await this.#session.output.write(`${displayableJson(value)}\n`);
  }
}

function placeOf(channel: string): ChannelOnPlatform {
  return { channel: { platform: PLATFORM_NAME, name: channel }, kind: "channel", workspace: "" };
}

function whyRefused(intake: Exclude<Intake, { outcome: "accepted" | "duplicate" }>): string {
  switch (intake.outcome) {
    case "failed":
      return intake.why;
    case "unbound":
      return "no binding answers this channel";
    case "unknown_message":
      return "no message has this id";
    case "ignored":
    case "command":
      return `it was not taken (${intake.outcome})`;
    default:
      return unreachable(intake);
  }
}

/** To the microsecond: scripts measure with these. */
function milliseconds(value: number | undefined): number | undefined {
  return value === undefined ? undefined : Math.round(value * 1000) / 1000;
}
