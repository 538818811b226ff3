import { formatNumber } from "../../text/format.ts";
import type { CommandAnswer } from "../../core/card.ts";
import type { OutboundMessage } from "../../core/message.ts";
import type { PlatformInbox } from "../platform.ts";
import { displayable, displayableLine, heldBack } from "../../text/displayable.ts";
import { drawCard } from "./card.ts";
import { refusal, runCommand, takeIn, typedMessage } from "./intake.ts";
import { OutputClosedError } from "./output.ts";
import type { Presenter, Session } from "./presenter.ts";
import { describeCompaction, describeRunning } from "./compaction-remarks.ts";
import { Screen } from "./screen.ts";
import type { CompactionNews, SettledTurn } from "./settled-turns.ts";
import { readTypedLine } from "./typed-line.ts";

/** Answers whose shown text is remembered, so that an edit prints only what is new. */
const MAX_REMEMBERED = 32;

/** A person at a terminal: the reply streams above the line that is being typed. */
export class InteractivePresenter implements Presenter {
  readonly streaming = { intervalMs: 0 };
  readonly #session: Session;
  readonly #style: Style;
  readonly #ended = Promise.withResolvers<void>();
  readonly #intakes = new Set<Promise<unknown>>();
  /** What was shown of each recent answer, by its id. */
  readonly #shown = new Map<string, string>();
  #screen: Screen | null = null;
  #speaker: string;
  /** The answer that the text above the input ends with, while it may go on. */
  #growing: string | null = null;
  /** What is being summarised just now. */
  #compaction: CompactionNews | null = null;
  /** Remarks that wait for the end of an answer that is being written. */
  readonly #held: string[] = [];

  constructor(session: Session) {
    this.#session = session;
    this.#style = createStyle(session.colour);
    this.#speaker = session.speaker;
  }

  serves(channel: string): boolean {
    return channel === this.#session.channel;
  }

  async run(inbox: PlatformInbox): Promise<void> {
    const session = this.#session;
    const screen = new Screen({
      input: session.input,
      stream: session.screen,
      output: session.output,
      prompt: this.#prompt(),
      completions: completionsOf(session.commands),
      handlers: {
        onSubmit: (text) => void this.#submit(text, inbox).catch(ignoreClosedOutput),
        onEcho: () => {
          this.#growing = null;
        },
        onEnd: () => this.#ended.resolve(),
        onInterrupt: session.onInterrupt,
      },
    });
    this.#screen = screen;
    session.pending.watch(() => this.#refreshPrompt());
    const agent = this.#style.agent(displayableLine(session.agent));
    const channel = displayableLine(session.channel);
    const hint = this.#style.quiet("/help shows what you can type, Ctrl-D leaves.");
    const facts = session.about().map((fact) => `${this.#style.quiet(displayableLine(fact))}\n`);
    screen.open(`This is ${agent}, in the channel terminal:${channel}.\n${facts.join("")}${hint}\n\n`);
    await this.#ended.promise;
  }

  async stopIntake(): Promise<void> {
    this.#screen?.close();
    this.#ended.resolve();
    await Promise.all(this.#intakes);
  }

  async show(id: string, message: OutboundMessage): Promise<void> {
    const text = message.text.trimStart();
    const visible = message.final ? text.trimEnd() : text.slice(0, text.length - heldBack(text));
    const out = this.#additionTo(id, visible, message);
    this.#remember(id, visible);
    this.#growing = message.final ? null : id;
    this.#session.pending.beginAnswer(message.channel.name, message.inReplyTo);
    this.#refreshPrompt();
    await this.#screen?.write(message.final ? this.#closeRow(out) : out);
    if (message.final) await this.#printHeld();
  }

  async settled(_channel: string, turn: SettledTurn): Promise<void> {
    if (turn.outcome === "failed" && turn.reason !== null) await this.remark(`(${turn.reason})`);
    if (turn.outcome !== "skipped") return;
    const why = turn.reason ?? "none was called for";
    await this.#print(this.#style.quiet(`(no answer: ${displayableLine(why)})`));
  }

  async emergency(_channel: string, omitted: number): Promise<void> {
    const messages = omitted === 1 ? "1 older message is" : `${formatNumber(omitted)} older messages are`;
    await this.#print(this.#style.quiet(`(${messages} out of the agent's view for now)`));
  }

  async compaction(_channel: string, news: CompactionNews): Promise<void> {
    this.#compaction = news.phase === "started" ? news : null;
    this.#refreshPrompt();
    const remark = describeCompaction(news);
    if (remark !== null) await this.remark(remark);
  }

  async remark(remark: string, isUrgent = false): Promise<void> {
    const text = this.#style.quiet(displayable(remark));
    if (isUrgent) return await this.#print(text);
    this.#held.push(text);
    if (this.#growing === null) await this.#printHeld();
  }

  /** What has to be written so that the screen shows `visible` as the answer `id`. */
  #additionTo(id: string, visible: string, message: OutboundMessage): string {
    const shown = this.#shown.get(id);
    if (shown === undefined) return this.#newRow() + this.#label(message) + displayable(visible);
    if (shown.trimEnd() === visible.trimEnd()) return "";
    if (!visible.startsWith(shown)) {
      const mark = this.#style.quiet("(the answer starts again)");
      return `${this.#newRow()}${mark}\n${this.#label(message)}${displayable(visible)}`;
    }
    const suffix = displayable(visible.slice(shown.length));
    return this.#growing === id ? suffix : `${this.#newRow()}${this.#style.quiet("…")} ${suffix.trimStart()}`;
  }

  #label(message: OutboundMessage): string {
    if (message.kind === "notice") return this.#style.quiet("weir> ");
    return this.#style.agent(`${displayableLine(message.speaker ?? this.#session.agent)}> `);
  }

  #remember(id: string, visible: string): void {
    this.#shown.delete(id);
    this.#shown.set(id, visible);
    const [oldest] = this.#shown.keys();
    if (this.#shown.size > MAX_REMEMBERED && oldest !== undefined) this.#shown.delete(oldest);
  }

  #newRow(): string {
    return this.#screen?.isInMidRow === true ? "\n" : "";
  }

  /** The text with the end of its last row, where it or the screen needs one. */
  #closeRow(text: string): string {
    const isInMidRow = text === "" ? this.#newRow() !== "" : !text.endsWith("\n");
    return isInMidRow ? `${text}\n` : text;
  }

  #prompt(): string {
    return this.#style.person(`${displayableLine(this.#speaker)}> `);
  }

  #refreshPrompt(): void {
    const isThinking = this.#session.pending.isAnyUnanswered && this.#growing === null;
    const remarks = [
      isThinking ? `(${displayableLine(this.#session.agent)} is thinking) ` : "",
      this.#compaction === null ? "" : `(${describeRunning(this.#compaction)}) `,
    ].join("");
    this.#screen?.setPrompt(this.#prompt(), remarks === "" ? "" : this.#style.quiet(remarks));
  }

  async #printHeld(): Promise<void> {
    for (const remark of this.#held.splice(0)) await this.#print(remark);
  }

  /** Prints a remark of the session's own, in rows of its own. */
  async #print(text: string): Promise<void> {
    const row = this.#newRow();
    this.#growing = null;
    await this.#screen?.write(`${row}${text}\n`);
  }

  async #submit(line: string, inbox: PlatformInbox): Promise<void> {
    const typed = readTypedLine(line, { speaker: this.#speaker, multi: this.#session.multi });
    switch (typed.type) {
      case "empty":
        return;
      case "quit":
        this.#screen?.close();
        return;
      case "speaker":
        this.#speaker = typed.name;
        this.#refreshPrompt();
        return;
      case "mistake":
        return await this.#print(displayable(typed.why));
      case "command": {
        const command = { name: typed.name, argument: typed.argument, asker: this.#speaker };
        return await this.#print(this.#draw(await runCommand(inbox, this.#session, command)));
      }
      case "message":
        return await this.#say(typed.speaker, typed.text, inbox);
    }
  }

  #draw(answer: CommandAnswer): string {
    if (typeof answer === "string") return displayable(answer).trimEnd();
    const { colour, screen } = this.#session;
    return drawCard(answer, { colour, columns: screen.columns ?? 0 });
  }

  async #say(speaker: string, text: string, inbox: PlatformInbox): Promise<void> {
    const message = typedMessage(this.#session, speaker, text);
    const intake = takeIn(inbox, this.#session, message);
    this.#intakes.add(intake);
    const why = refusal(await intake, this.#session);
    this.#intakes.delete(intake);
    if (why === null) this.#session.pending.accept(message.channel.name, message.id);
    else await this.#print(displayable(why));
  }
}

/** A closed output ends the session elsewhere. */
function ignoreClosedOutput(error: unknown): void {
  if (!(error instanceof OutputClosedError)) throw error;
}

/** The few colours of the interactive terminal; without colour every function returns its text as it is. */
interface Style {
  readonly agent: (text: string) => string;
  readonly person: (text: string) => string;
  readonly quiet: (text: string) => string;
}

function createStyle(colour: boolean): Style {
  const sgr = (on: string, off: string) => (text: string) =>
    colour ? `\u001B[${on}m${text}\u001B[${off}m` : text;
  return { agent: sgr("1;36", "22;39"), person: sgr("1;32", "22;39"), quiet: sgr("2", "22") };
}

/** What the Tab key completes; a blank behind what takes an argument. */
function completionsOf(commands: Session["commands"]): string[] {
  const shared = commands.map(({ name, argument }) => (argument === null ? `/${name}` : `/${name} `));
  return ["/as ", "/quit", ...shared].toSorted();
}
