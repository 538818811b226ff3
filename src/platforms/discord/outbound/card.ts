import { z } from "zod";
import type { Card } from "../../../core/card.ts";
import { displayableLine } from "../../../text/displayable.ts";
import { gaugeRows } from "../../../text/gauge.ts";
import { fitEscaped, fitLines, insideCodeBlock } from "../../../text/text.ts";
import { PlatformError } from "../../platform.ts";
import { PLATFORM_NAME } from "../rest/api.ts";

/**
 * https://docs.discord.com/developers/resources/message#embed-object-embed-limits. Ours count UTF-16 units, which are
 * never fewer than characters.
 */
const MAX_TITLE = 256;
const MAX_DESCRIPTION = 4096;
const MAX_FIELDS = 25;
const MAX_NAME = 256;
const MAX_VALUE = 1024;
const MAX_ALL = 6000;
/** Shortest value of a field that is worth a place. */
const MIN_VALUE = 100;
/** Characters that a phone shows on one line. */
const BAR_WIDTH = 30;

const COLOURS: Readonly<Record<Card["tone"], number>> = {
  calm: 0x2e_8b_57,
  warning: 0xe0_a0_00,
  critical: 0xc6_28_28,
};

export interface Embed {
  readonly title: string;
  readonly description: string;
  readonly color: number;
  readonly fields: readonly EmbedField[];
}

interface EmbedField {
  readonly name: string;
  readonly value: string;
  readonly inline: boolean;
}

const drawn = z.object({ embeds: z.array(z.unknown()).min(1) });

/**
 * Where a bot may not embed links, Discord accepts a message but drops its embeds.
 * @param body Discord's answer to a message with an embed
 * @throws PlatformError
 */
export function assertDrawn(body: unknown): void {
  if (drawn.safeParse(body).success) return;
  throw new PlatformError(PLATFORM_NAME, "rejected", "Discord left the embed out: the bot lacks Embed Links");
}

/** A card as an embed, with its summary as the message's text. Pure. */
export function toEmbed({ title, tone, bar, fields, lists }: Card): Embed {
  const { bar: row, scale } = gaugeRows(bar, BAR_WIDTH);
  const gauge = `\`\`\`\n${row}\n${scale}\n\`\`\`\n`;
  const legend = bar.marks.map(({ label }) => `▲ ${displayableLine(label)}`).join(" · ");
  const head = {
    title: words(title, MAX_TITLE),
    description: gauge + words(legend, MAX_DESCRIPTION - gauge.length),
    color: COLOURS[tone],
  };
  const shown: EmbedField[] = [];
  let room = MAX_ALL - head.title.length - head.description.length;
  const place = (label: string, inline: boolean, valueIn: (limit: number) => string): void => {
    const name = words(label, MAX_NAME);
    const limit = Math.min(MAX_VALUE, room - name.length);
    if (shown.length === MAX_FIELDS || limit < MIN_VALUE) return;
    const value = valueIn(limit);
    shown.push({ name, value, inline });
    room -= name.length + value.length;
  };
  for (const { label, value } of fields) place(label, true, (limit) => words(value, limit));
  for (const { label, lines } of lists) place(label, false, (limit) => codeBlock(lines, limit));
  return { ...head, fields: shown };
}

/** One line without Discord's markup. Never empty: Discord refuses a part without a visible character. */
function words(text: string, limit: number): string {
  const line = displayableLine(text).trim();
  if (line === "") return "–";
  // Markup only at the beginning of a line.
  const sign = /^(?:#|-|\+|>)(?=[#>]*\s)/.test(line) ? "\\" : "";
  return sign + fitEscaped(line, limit - sign.length, escaped);
}

/** A backslash makes each of them literal: no bold text, no link with another address, no mention. */
function escaped(character: string): string {
  return /^[\\`*_~|<[\]@]$/.test(character) ? `\\${character}` : character;
}

function codeBlock(lines: readonly string[], limit: number): string {
  const safe = lines.map((line) => insideCodeBlock(displayableLine(line)));
  return `\`\`\`\n${fitLines(safe, limit - 8, (character) => character)}\n\`\`\``;
}
