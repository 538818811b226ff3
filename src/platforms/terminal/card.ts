import type { Card } from "../../core/card.ts";
import { cellWidth } from "../../text/columns.ts";
import { displayableLine } from "../../text/displayable.ts";
import { gaugeRows } from "../../text/gauge.ts";
import { wrapText } from "./drawing/row-filler.ts";
import { colouring } from "./style.ts";

const MAX_BAR_WIDTH = 40;
const MIN_BAR_WIDTH = 10;
const DEFAULT_COLUMNS = 80;
const INDENT = "  ";

/** Colours of the terminal's own sixteen, as SGR parameters. */
const TONES: Readonly<Record<Card["tone"], string>> = { calm: "32", warning: "33", critical: "31" };

interface CardLook {
  readonly colour: boolean;
  /** Cells in a row of the terminal; 0: it does not say. */
  readonly columns: number;
}

/** A card as rows for a terminal, without a last line break. The words say all that the colours say. Pure. */
export function drawCard({ title, summary, tone, bar, fields, lists }: Card, look: CardLook): string {
  const sgr = colouring(look.colour);
  const [bold, dim, toned] = [sgr("1", "22"), sgr("2", "22"), sgr(TONES[tone], "39")];
  const width = Math.max(
    MIN_BAR_WIDTH,
    Math.min(MAX_BAR_WIDTH, (look.columns || DEFAULT_COLUMNS) - 2 * INDENT.length),
  );
  const { bar: row, scale } = gaugeRows(bar, width);
  const filled = row.replaceAll("░", "");
  const legend = bar.marks
    .map(({ label, share }) => (bar.share >= share ? toned : dim)(`▲ ${displayableLine(label)}`))
    .join(INDENT);
  const labels = fields.map(({ label }) => displayableLine(label));
  const labelWidth = Math.max(0, ...labels.map(cellWidth));
  // The last cell stays empty, as in all rows of the terminal. Piped output is not wrapped.
  const wrap = (line: string): string => (look.columns > 0 ? wrapText(line, look.columns - 1) : line);
  const facts = fields.map(({ value }, index) => {
    const label = labels[index] ?? "";
    const gap = " ".repeat(labelWidth - cellWidth(label) + 2);
    const drawn = wrap(`${INDENT}${label}${gap}${displayableLine(value)}`);
    return drawn.replace(label, () => dim(label));
  });
  return [
    bold(displayableLine(title)),
    "",
    `${INDENT}${toned(filled)}${dim(row.slice(filled.length))}`,
    `${INDENT}${dim(scale)}`,
    `${INDENT}${toned(displayableLine(summary))}`,
    `${INDENT}${legend}`,
    "",
    ...facts,
    ...lists.flatMap(({ label, lines }) => [
      "",
      `${INDENT}${bold(displayableLine(label))}`,
      ...lines.map((line) => wrap(`${INDENT}${INDENT}${displayableLine(line)}`)),
    ]),
  ].join("\n");
}
