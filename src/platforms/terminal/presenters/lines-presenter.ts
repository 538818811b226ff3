import { answerText } from "../../../core/card.ts";
import { unreachable } from "../../../core/errors.ts";
import type { OutboundMessage } from "../../../core/message.ts";
import type { PlatformInbox } from "../../platform.ts";
import { displayable, displayableLine } from "../../../text/displayable.ts";
import { refusal, runCommand, takeIn, typedMessage } from "../intake.ts";
import { type InputLine, LineReader } from "../typed/line-reader.ts";
import type { Presenter, Session } from "./presenter.ts";
import type { SettledTurn } from "../turn-news.ts";
import { readTypedLine } from "../typed/typed-line.ts";

/** Piped lines: each is one message, and is answered before the next is sent. No prompt, no colour. */
export class LinesPresenter implements Presenter {
  readonly streaming = false;
  readonly #session: Session;
  readonly #reader: LineReader;
  #speaker: string;
  /** The intake of the line that is on its way into the log. */
  #receiving: Promise<unknown> = Promise.resolve();

  constructor(session: Session) {
    this.#session = session;
    this.#speaker = session.speaker;
    this.#reader = LineReader.of(session.input);
  }

  serves(channel: string): boolean {
    return channel === this.#session.channel;
  }

  async run(inbox: PlatformInbox): Promise<void> {
    for (let line = await this.#reader.next(); line !== null; line = await this.#reader.next()) {
      if (!(await this.#handle(line, inbox))) break;
      await this.#session.pending.idle();
    }
  }

  async stopIntake(): Promise<void> {
    this.#reader.close();
    await this.#receiving;
  }

  async show(_id: string, message: OutboundMessage): Promise<void> {
    if (!message.final) return;
    const { speaker, text } = message;
    await this.#print(speaker === undefined ? text : `${displayableLine(speaker)}: ${text}`);
  }

  async settled(_channel: string, turn: SettledTurn): Promise<void> {
    if (turn.outcome === "skipped") await this.#print(`(no answer: ${turn.reason ?? "none was called for"})`);
    if (turn.outcome === "stopped") await this.#print("(stopped)");
  }

  async emergency(): Promise<void> {}

  async compaction(): Promise<void> {}

  async remark(): Promise<void> {}
  retrying(): void {}

  /** @returns false if the line asks to leave */
  async #handle(line: InputLine, inbox: PlatformInbox): Promise<boolean> {
    if (line.type === "too_long") {
      await this.#print(`(line ${line.number} is too long: it was not sent)`);
      return true;
    }
    const typed = readTypedLine(line.text, { speaker: this.#speaker, multi: this.#session.multi });
    switch (typed.type) {
      case "empty":
        return true;
      case "quit":
        return false;
      case "speaker":
        this.#speaker = typed.name;
        return true;
      case "raw":
        await this.#print("Answers are shown as they are written here.");
        return true;
      case "mistake":
        await this.#print(typed.why);
        return true;
      case "command": {
        const command = { name: typed.name, argument: typed.argument, asker: this.#speaker };
        await this.#print(answerText(await runCommand(inbox, this.#session, command)));
        return true;
      }
      case "message":
        await this.#say(typed.speaker, typed.text, inbox);
        return true;
      default:
        return unreachable(typed);
    }
  }

  async #say(speaker: string, text: string, inbox: PlatformInbox): Promise<void> {
    const message = typedMessage(this.#session, speaker, text);
    const intake = takeIn(inbox, this.#session, message);
    this.#receiving = intake;
    const why = refusal(await intake, this.#session);
    if (why === null) this.#session.pending.accept(message.channel.name, message.id);
    else await this.#print(why);
  }

  async #print(text: string): Promise<void> {
    await this.#session.output.write(`${displayable(text).trimEnd()}\n`);
  }
}
