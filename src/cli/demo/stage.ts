import { setTimeout as delay } from "node:timers/promises";
import type { Writable } from "node:stream";
import { createStyle, type Style } from "../../platforms/terminal/style.ts";
import { displayable, firstWords } from "../../text/displayable.ts";
import { formatNumber } from "../../text/format.ts";
import { filledCells, cellOf } from "../../text/gauge.ts";
import { counted } from "../../text/text.ts";
import type { Level } from "./level.ts";

const BAR_CELLS = 30;
const DEFAULT_COLUMNS = 80;
/** A longer text is pasted: its beginning is enough to see. */
const LONGEST_TEXT = 240;
/** Without a terminal, a line with the level stands after so many messages. */
const PLAIN_LEVEL_EVERY = 20;
/** How long an explanation stands before the next one takes its place, ms at speed 1. */
const READ_MS = 2600;

const HIDE_CURSOR = "\u001B[?25l";
const SHOW_CURSOR = "\u001B[?25h";

export interface StageOptions {
  readonly stream: Writable & { readonly isTTY?: boolean; readonly columns?: number };
  readonly hasColour: boolean;
  /** 1: a speed to read at; Infinity: without waits. */
  readonly speed: number;
  readonly messages: number;
}

/**
 * What the person sees. On a terminal the conversation runs above three rows that stay at the bottom: the gauge, the explanation,
 * and the keys. Elsewhere all of it is plain lines.
 */
export class Stage {
  readonly #options: StageOptions;
  readonly #style: Style;
  readonly #isTerminal: boolean;
  readonly #waiting: string[] = [];
  #level: Level | null = null;
  #explanation = "";
  #explainedAt = -Infinity;
  #said = 0;
  #rows = 0;
  #isPaused = false;
  #day = "";

  constructor(options: StageOptions) {
    this.#options = options;
    this.#style = createStyle(options.hasColour);
    this.#isTerminal = options.stream.isTTY === true;
  }

  /** Shows the rows at the bottom. */
  open(): void {
    if (this.#isTerminal) this.#options.stream.write(HIDE_CURSOR);
    this.print("");
  }

  /** Shows a text of whole lines above the gauge. */
  print(text: string): void {
    const block = this.#isTerminal ? this.#block() : [];
    const up = this.#rows > 0 ? `\u001B[${this.#rows}A\r\u001B[J` : "";
    this.#rows = block.length;
    this.#options.stream.write(`${up}${text}${block.map((line) => `${line}\n`).join("")}`);
  }

  /** Shows what a person says. */
  person(name: string, text: string, at: Date): void {
    const day = at.toISOString().slice(0, 10);
    const head = day === this.#day ? "" : `${this.#style.quiet(`── ${day} ──`)}\n`;
    this.#day = day;
    this.#said++;
    this.print(`${head}${this.#style.person(name.padEnd(5))} ${firstWords(text, LONGEST_TEXT)}\n`);
    if (!this.#isTerminal && this.#said % PLAIN_LEVEL_EVERY === 0 && this.#level !== null)
      this.print(`${this.#gauge(this.#level)}\n`);
  }

  /** Shows an answer of the agent. */
  agent(name: string, text: string): void {
    const [first = "", ...rest] = displayable(text)
      .split("\n")
      .filter((line) => line.trim() !== "");
    const body = [`${this.#style.agent(name.padEnd(5))} ${first}`, ...rest.map((line) => `      ${line}`)];
    this.print(`${body.join("\n")}\n`);
  }

  level(level: Level): void {
    this.#level = level;
    this.print("");
  }

  /** Explains what happens now, in one line. On a terminal each stands long enough to be read. */
  explain(text: string): void {
    if (!this.#isTerminal) return this.print(`      [${text}]\n`);
    this.#waiting.push(text);
    if (this.#options.speed === Infinity) this.#showNext();
  }

  /** Resolves once each explanation has been shown. */
  async explained(signal: AbortSignal): Promise<void> {
    while (this.#waiting.length > 0 && !signal.aborted) {
      const leftMs = this.#explainedAt + READ_MS / this.#options.speed - performance.now();
      if (leftMs > 0) await delay(leftMs, undefined, { signal }).catch(() => undefined);
      this.#showNext();
    }
  }

  set isPaused(isPaused: boolean) {
    this.#isPaused = isPaused;
    this.print("");
  }

  /** Removes the rows at the bottom. */
  close(): void {
    if (!this.#isTerminal) return;
    const up = this.#rows > 0 ? `\u001B[${this.#rows}A\r\u001B[J` : "";
    this.#rows = 0;
    this.#options.stream.write(`${up}${SHOW_CURSOR}`);
  }

  #showNext(): void {
    const next = this.#waiting.shift();
    if (next === undefined) return;
    this.#explanation = next;
    this.#explainedAt = performance.now();
    this.print("");
  }

  #block(): string[] {
    const columns = (this.#options.stream.columns ?? DEFAULT_COLUMNS) - 1;
    const state = this.#isPaused ? "paused; space goes on, q ends" : "space pauses, q ends";
    const room = this.#level === null ? "" : `room for ${formatNumber(this.#level.usable)} tokens; `;
    const rows = [
      "─".repeat(columns),
      this.#level === null ? "" : this.#gauge(this.#level),
      this.#explanation,
      `message ${this.#said} of ${this.#options.messages}; ${room}${state}`,
    ];
    return rows.map((row, index) => {
      // The terminal wraps no row of this width.
      const fitting = row.length <= columns ? row : `${row.slice(0, columns - 2)} …`;
      return index === 1 ? this.#coloured(fitting) : index === 2 ? fitting : this.#style.quiet(fitting);
    });
  }

  #gauge({ usage, marks, omitted, summaries, memories }: Level): string {
    const filled = filledCells(usage, BAR_CELLS);
    const cells = new Set(marks.map((mark) => cellOf(mark, BAR_CELLS)));
    const bar = Array.from({ length: BAR_CELLS }, (_, cell) =>
      cell < filled ? "█" : cells.has(cell) ? "┊" : "░",
    ).join("");
    const percent = `${Math.round(usage * 100)} %`.padStart(5);
    const out = omitted > 0 ? `, ${omitted} out of view` : "";
    const made = `${counted(summaries, "summary", "summaries")}, ${counted(memories, "memory", "memories")}`;
    return `${bar} ${percent}; ${made}${out}`;
  }

  #coloured(gauge: string): string {
    if (!this.#options.hasColour) return gauge;
    const [background = 1, , emergency = 1] = this.#level?.marks ?? [];
    const usage = this.#level?.usage ?? 0;
    const colour = usage >= emergency ? 31 : usage >= background ? 33 : 36;
    return gauge.replace(/^█+/, (bar) => `\u001B[${colour}m${bar}\u001B[39m`);
  }
}
