import { formatNumber } from "../../../text/format.ts";
import { type CommandAnswer, answerText } from "../../../core/card.ts";
import { readForgetMe } from "../../../core/forget-me.ts";
import type { OutboundMessage } from "../../../core/message.ts";
import { type PlatformInbox, STOPPED } from "../../platform.ts";
import { counted } from "../../../text/text.ts";
import { displayable, displayableLine } from "../../../text/displayable.ts";
import { drawCard } from "../card.ts";
import type { Place } from "../drawing/markdown-drawer.ts";
import { wrapText } from "../drawing/row-filler.ts";
import { refusal, runCommand, takeIn, typedMessage } from "../intake.ts";
import { OutputClosedError } from "../output.ts";
import type { Presenter, Session } from "./presenter.ts";
import { describeCompaction, describeRunning } from "../compaction-remarks.ts";
import { isExport, saveExport } from "../save-export.ts";
import { Screen } from "../screen.ts";
import type { CompactionNews, RetryNews, SettledTurn } from "../turn-news.ts";
import { ShownAnswers } from "../shown-answers.ts";
import { createStyle, type Style } from "../style.ts";
import { completionsOf, nearestSessionCommand } from "../typed/completions.ts";
import { firstHelp, SCREEN_HELP } from "../typed/help.ts";
import { HELP, readTypedLine, type TypedLine } from "../typed/typed-line.ts";
import { HeldOutput } from "../held-output.ts";

/** Within this time a second Ctrl-C leaves, ms. */
const LEAVE_WITHIN_MS = 2000;
const TICK_MS = 1000;
/** Pause in the text after which a word that may still grow is shown, ms. */
const PAUSE_MS = 400;
/** The command that summarises the conversation. */
const RECAP = "recap";
/** `/export print`: not into a file. */
const PRINTED = "print";
/** `/export html`: as a page, into a file of the usual name. */
const PAGE = "html";

type TypedCommand = Extract<TypedLine, { type: "command" }>;

/** A person at a terminal: the reply streams above the line that is being typed. */
export class InteractivePresenter implements Presenter {
  readonly streaming = { intervalMs: 0 };
  readonly #session: Session;
  readonly #style: Style;
  readonly #ended = Promise.withResolvers<void>();
  readonly #intakes = new Set<Promise<unknown>>();
  #screen: Screen | null = null;
  #speaker: string;
  /** The last answer above the input, while it may continue. */
  #growing: string | null = null;
  #compaction: CompactionNews | null = null;
  /** Of the answer that is waited for. */
  #retry: RetryNews | null = null;
  /** Start of the wait for an answer, by the session's clock; null: no wait. */
  #waitingSince: number | null = null;
  #ticker: NodeJS.Timeout | undefined;
  /** Runs while the answer that grows may have paused. */
  #pausing: NodeJS.Timeout | undefined;
  /** Ctrl-C was pressed, and leaves when it is pressed again. */
  #leaving: NodeJS.Timeout | undefined;
  #isStopAsked = false;
  /** The session is ended from outside. */
  #isStopped = false;
  readonly #answers: ShownAnswers;
  readonly #held = new HeldOutput(() => this.#inBackground(this.#held.release()));
  /** Names of the commands whose answers wait for the end of an answer that is being written. */
  readonly #following: string[] = [];

  constructor(session: Session) {
    this.#session = session;
    this.#style = createStyle(session.colour);
    this.#answers = new ShownAnswers(session.agent, session.colour, this.#style);
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
      complete: (line) => completionsOf(line, session.commands),
      history: session.history?.lines ?? [],
      handlers: {
        onSubmit: (text) => this.#inBackground(this.#submit(text, inbox)),
        isEchoedLater: (line) => this.#held.isHolding && this.#read(line).type === "command",
        onEcho: () => {
          this.#growing = null;
        },
        onEnd: () => this.#end(),
        onInterrupt: () => this.#interrupt(inbox),
      },
    });
    this.#screen = screen;
    session.pending.watch(() => this.#refreshPrompt());
    const agent = this.#style.agent(displayableLine(session.agent));
    const channel = displayableLine(session.channel);
    const hint = this.#style.quiet("/help shows what you can type, Ctrl-D leaves.");
    const { width } = this.#place;
    const facts = session
      .about()
      .map((fact) => `${this.#style.quiet(wrapText(displayableLine(fact), width))}\n`);
    screen.open(`This is ${agent}, in the channel terminal:${channel}.\n${facts.join("")}${hint}\n\n`);
    this.#inBackground(this.#recap(inbox));
    await this.#ended.promise;
  }

  async stopIntake(): Promise<void> {
    this.#isStopped = true;
    this.#screen?.close();
    this.#ended.resolve();
    await Promise.all(this.#intakes);
  }

  async show(id: string, message: OutboundMessage): Promise<void> {
    const out = this.#answers.additionTo(id, message, this.#place, this.#growing === id);
    this.#growing = message.final ? null : id;
    this.#held.grown(id, message.final);
    this.#session.pending.beginAnswer(message.channel.name, message.inReplyTo);
    this.#refreshPrompt();
    this.#awaitPause();
    await this.#screen?.write(message.final ? this.#closeRow(out) : out);
    if (!this.#held.isHolding) await this.#held.release();
  }

  async settled(_channel: string, turn: SettledTurn): Promise<void> {
    this.#held.ended();
    if (turn.outcome === "failed" && turn.reason !== null) await this.remark(`(${turn.reason})`);
    if (turn.outcome === "skipped") {
      const why = turn.reason ?? "none was called for";
      await this.#remark(`(no answer: ${displayableLine(why)})`);
    }
    await this.#held.release();
  }

  async emergency(_channel: string, omitted: number): Promise<void> {
    const messages = omitted === 1 ? "1 older message is" : `${formatNumber(omitted)} older messages are`;
    await this.#remark(`(${messages} out of the agent's view for now)`);
  }

  async compaction(_channel: string, news: CompactionNews): Promise<void> {
    this.#compaction = news.phase === "started" ? news : null;
    this.#refreshPrompt();
    const remark = describeCompaction(news);
    if (remark !== null) await this.remark(remark);
  }

  async remark(remark: string, isUrgent = false): Promise<void> {
    const text = displayable(remark);
    if (isUrgent) return await this.#remark(text);
    await this.#held.add(() => this.#remark(text));
  }

  retrying(_channel: string, news: RetryNews): void {
    this.#retry = news;
    this.#refreshPrompt();
  }

  /** Shows a newcomer the state of the conversation, or an introduction. */
  async #recap(inbox: PlatformInbox): Promise<void> {
    if (!this.#session.commands.some(({ name }) => name === RECAP)) return;
    const answer = await this.#run(inbox, RECAP);
    await this.#remark(displayable(answerText(answer)).trimEnd());
  }

  #awaitPause(): void {
    clearTimeout(this.#pausing);
    if (this.#growing === null) return;
    this.#pausing = setTimeout(() => {
      if (this.#growing === null) return;
      this.#inBackground(this.#screen?.write(this.#answers.pause(this.#growing, this.#place)));
    }, PAUSE_MS).unref();
  }

  get #place(): Place {
    const screen = this.#screen;
    // The last cell stays empty: some terminals show a character wider than the tables say.
    return { column: screen?.column ?? 0, width: (screen?.width ?? 80) - 1 };
  }

  #newRow(): string {
    return this.#place.column > 0 ? "\n" : "";
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
    this.#countWaiting(isThinking);
    const remarks = [
      isThinking ? `(${this.#describeWaiting()}) ` : "",
      this.#compaction === null ? "" : `(${describeRunning(this.#compaction)}) `,
      this.#following.length === 0 ? "" : `(${this.#following.join(", ")} follows) `,
      this.#leaving === undefined ? "" : "(Ctrl-C again to leave) ",
    ].join("");
    this.#screen?.setPrompt(this.#prompt(), remarks === "" ? "" : this.#style.quiet(remarks));
  }

  #countWaiting(isWaiting: boolean): void {
    if (isWaiting === (this.#waitingSince !== null)) return;
    clearInterval(this.#ticker);
    this.#retry = null;
    this.#isStopAsked = false;
    this.#waitingSince = isWaiting ? this.#session.now().getTime() : null;
    if (isWaiting) this.#ticker = setInterval(() => this.#refreshPrompt(), TICK_MS).unref();
  }

  #describeWaiting(): string {
    const seconds = Math.floor((this.#session.now().getTime() - (this.#waitingSince ?? 0)) / 1000);
    const time = seconds < 1 ? "" : `, ${seconds} s`;
    const again = this.#retry === null ? "" : `, trying again (${this.#retry.attempt} of ${this.#retry.of})`;
    return `${displayableLine(this.#session.agent)} is thinking${time}${again}`;
  }

  /** Ctrl-C: stops the answer; without an answer, clears the line; on an empty line, a second one leaves. */
  #interrupt(inbox: PlatformInbox): void {
    if (this.#leaving !== undefined) {
      this.#screen?.close();
      return;
    }
    if (this.#session.pending.size > 0 && !this.#isStopAsked) {
      // If nothing can be stopped, the next Ctrl-C takes the branch below.
      this.#isStopAsked = true;
      this.#inBackground(this.#stop(inbox));
      return;
    }
    if (this.#screen?.clearInput() === true) return;
    this.#leaving = setTimeout(() => {
      this.#leaving = undefined;
      this.#refreshPrompt();
    }, LEAVE_WITHIN_MS).unref();
    this.#refreshPrompt();
  }

  async #stop(inbox: PlatformInbox): Promise<void> {
    const answer = await this.#run(inbox, "stop");
    if (answer !== STOPPED) await this.#show(answer);
  }

  /** Cleans up after the end of the input line. */
  #end(): void {
    clearInterval(this.#ticker);
    clearTimeout(this.#leaving);
    clearTimeout(this.#pausing);
    const { pending, onInterrupt } = this.#session;
    if (!this.#isStopped) onInterrupt();
    const left = pending.size;
    if (left > 0) {
      const remark = this.#session.isAttached
        ? `(Weir goes on with ${counted(left, "answer")}, for the next chat here)`
        : `(finishing ${counted(left, "answer")}; Ctrl-C ends at once, and the next start goes on)`;
      this.#inBackground(this.#remark(remark));
    }
    this.#ended.resolve();
  }

  /** Prints a displayable text of the session's own, in rows of its own. */
  async #print(text: string): Promise<void> {
    await this.#printRows(wrapText(text, this.#place.width));
  }

  async #remark(text: string): Promise<void> {
    await this.#printRows(this.#style.quiet(wrapText(text, this.#place.width)));
  }

  async #printRows(rows: string): Promise<void> {
    const row = this.#newRow();
    this.#growing = null;
    await this.#screen?.write(`${row}${rows}\n`);
  }

  async #submit(line: string, inbox: PlatformInbox): Promise<void> {
    this.#session.history?.add(line);
    const typed = this.#read(line);
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
      case "raw":
        return await this.#remark(
          this.#answers.toggleRaw() ? "(answers are shown as they are written)" : "(answers are drawn)",
        );
      case "mistake":
        return await this.#print(displayable(typed.why));
      case "command":
        return await this.#command(inbox, line, typed);
      case "message":
        return await this.#say(typed.speaker, typed.text, inbox);
    }
  }

  #read(line: string): TypedLine {
    return readTypedLine(line, { speaker: this.#speaker, multi: this.#session.multi });
  }

  /** Runs a command, and shows its answer: below an answer that is being written, and then with the line that was typed. */
  async #command(inbox: PlatformInbox, line: string, { name, argument }: TypedCommand): Promise<void> {
    const isHeld = this.#held.isHolding;
    const echo = isHeld ? `${this.#prompt()}${displayableLine(line)}` : null;
    if (isHeld) this.#following.push(`/${displayableLine(name)}`);
    this.#refreshPrompt();
    const answer = await this.#answerOf(inbox, name, argument);
    await this.#held.add(async () => {
      if (isHeld) this.#following.shift();
      this.#refreshPrompt();
      if (echo !== null) await this.#printRows(wrapText(echo, this.#place.width));
      await this.#show(answer);
    });
  }

  async #answerOf(inbox: PlatformInbox, name: string, argument: string): Promise<CommandAnswer> {
    const near = nearestSessionCommand(name, this.#session.commands);
    if (near !== null) return `There is no command /${name}. Did you mean /${near}?`;
    if (name === HELP.name && argument === "") return firstHelp(this.#session.commands);
    const answer = await this.#run(inbox, name, argument);
    // All of the person's messages are deleted, so their input history is deleted too.
    if (name === "forget" && readForgetMe(argument)?.isConfirmed === true) {
      this.#session.history?.clear();
      this.#screen?.forgetHistory();
    }
    if (name === HELP.name) return `${answerText(answer).trimEnd()}\n${SCREEN_HELP}`;
    if (name === "export" && argument !== PRINTED) return await this.#save(answerText(answer), argument);
    return answer;
  }

  async #run(inbox: PlatformInbox, name: string, argument = ""): Promise<CommandAnswer> {
    return runCommand(inbox, this.#session, { name, argument, asker: this.#speaker });
  }

  async #save(text: string, name: string): Promise<string> {
    // A text that is not a conversation answers the command itself.
    if (!isExport(text)) return text;
    return saveExport(text, {
      name: name === PAGE ? "" : name,
      folder: this.#session.exportsTo,
      channel: this.#session.channel,
      now: this.#session.now(),
    });
  }

  async #show(answer: CommandAnswer): Promise<void> {
    if (typeof answer === "string") return await this.#print(displayable(answer).trimEnd());
    const { colour, screen } = this.#session;
    await this.#printRows(drawCard(answer, { colour, columns: screen.columns ?? 0 }));
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

  /** A closed output ends the session elsewhere. */
  #inBackground(work: Promise<void> | undefined): void {
    void work?.catch((error: unknown) => {
      if (!(error instanceof OutputClosedError)) throw error;
    });
  }
}
