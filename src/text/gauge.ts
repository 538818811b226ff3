import type { Bar } from "../core/card.ts";

export function filledCells(share: number, width: number): number {
  return Math.max(0, Math.min(width, Math.round((Number.isNaN(share) ? 0 : share) * width)));
}

/** The cell of a mark, from 0. */
export function cellOf(share: number, width: number): number {
  return Math.max(0, Math.min(width - 1, Math.floor((Number.isNaN(share) ? 0 : share) * width)));
}

/**
 * A bar in characters, with its marks on the row below, where they stay visible. Pure.
 * @param width in cells
 */
export function gaugeRows({ share, marks }: Bar, width: number): { bar: string; scale: string } {
  const filled = filledCells(share, width);
  const cells = new Set(marks.map((mark) => cellOf(mark.share, width)));
  const scale = Array.from({ length: width }, (_, cell) => (cells.has(cell) ? "▲" : " ")).join("");
  return { bar: "█".repeat(filled) + "░".repeat(width - filled), scale: scale.trimEnd() };
}
