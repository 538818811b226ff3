import { html } from "hono/html";
import { describeReason } from "../../../../admin/explain-failure.ts";
import { about, describeCached, describeCost } from "../../../../admin/reports/cost-format.ts";
import { costOf, type ModelPrice } from "../../../../core/cost.ts";
import type { TurnCall, TurnDetail } from "../../../../store/turns/turn-details.ts";
import { displayableLine } from "../../../../text/displayable.ts";
import { formatNumber } from "../../../../text/format.ts";
import { counted } from "../../../../text/text.ts";
import { type Markup, table } from "../markup.ts";

const WIDTH = 1000;
const ROW = 12;
const BAR = 8;
/** Calls that are drawn; the table has all. */
const MOST_DRAWN = 40;

/** `1.2 s` */
export function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`;
}

/** From the turn's begin to its end, ms; null: it runs. */
export function durationOf({
  startedAt,
  settledAt,
}: Pick<TurnDetail, "startedAt" | "settledAt">): number | null {
  return settledAt === null ? null : Math.max(0, settledAt.getTime() - startedAt.getTime());
}

/** A turn's model calls: their durations drawn one after the other, and a table with tokens and costs. */
export function callsMarkup(
  turn: TurnDetail,
  calls: readonly TurnCall[],
  priceOf: (model: string) => ModelPrice | undefined,
): Markup {
  if (calls.length === 0) return html`<p class="dim">It has called no model so far.</p>`;
  return html`${waterfall(turn, calls)}
    ${table(
      ["call", "for", "model", "outcome", "first token", "whole", "tokens in", "out", "cost"],
      calls.map((call, index) => [
        formatNumber(index + 1),
        call.purpose,
        displayableLine(call.model),
        call.outcome === "answered"
          ? html`<span class="ok">answered</span>`
          : html`<span class="warn">${displayableLine(describeReason(call.outcome))}</span>`,
        call.firstTokenMs === null ? "–" : seconds(call.firstTokenMs),
        seconds(call.totalMs),
        `${about(call.uncounted)}${formatNumber(call.promptTokens)} (${describeCached(call)})`,
        formatNumber(call.completionTokens),
        displayableLine(describeCost(costOf([call], priceOf))),
      ]),
    )}
    <p>Together: ${displayableLine(describeCost(costOf(calls, priceOf)))}.</p>`;
}

/** When a call began is not stored: only how long each took, in their order. */
function waterfall(turn: TurnDetail, calls: readonly TurnCall[]): Markup {
  const drawn = calls.filter(({ purpose }) => purpose === "turn").slice(0, MOST_DRAWN);
  if (drawn.length === 0) return html``;
  const inCalls = drawn.reduce((sum, { totalMs }) => sum + totalMs, 0);
  const whole = Math.max(1, inCalls, durationOf(turn) ?? 0);
  const at = (ms: number): string => String(Math.round((ms / whole) * WIDTH));
  const began = drawn.map((_, index) => drawn.slice(0, index).reduce((sum, { totalMs }) => sum + totalMs, 0));
  const rest = whole - inCalls;
  const said = `${counted(drawn.length, "model call")} of ${seconds(inCalls)} together; ${seconds(rest)} for everything else: look-ups, tools, waits`;
  return html`<svg
      class="bars"
      viewBox="0 0 ${String(WIDTH)} ${String(ROW * (drawn.length + 1))}"
      height="${String(ROW * (drawn.length + 1))}"
      preserveAspectRatio="none"
      role="img"
      aria-label="${said}"
    >
      ${drawn.map(({ firstTokenMs, totalMs }, index) => {
        const from = began[index] ?? 0;
        const y = String(ROW * index);
        const thinking = Math.min(totalMs, firstTokenMs ?? totalMs);
        return html`<rect
            class="wait"
            x="${at(from)}"
            y="${y}"
            width="${at(thinking)}"
            height="${String(BAR)}"
          />
          <rect
            class="work"
            x="${at(from + thinking)}"
            y="${y}"
            width="${at(totalMs - thinking)}"
            height="${String(BAR)}"
          />`;
      })}
      <rect
        class="rest"
        x="${at(inCalls)}"
        y="${String(ROW * drawn.length)}"
        width="${at(rest)}"
        height="${String(BAR)}"
      />
    </svg>
    <p class="dim">
      ${said}. Pale: until the first token; full: its answer; outlined: the rest. When each began is not
      stored, so they stand one after the other.
    </p>`;
}
