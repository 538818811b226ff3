import { type APIContainerComponent, ComponentType, MessageFlags } from "discord.js";
import type { Card } from "../../../core/card.ts";
import { displayableLine } from "../../../text/displayable.ts";
import { gaugeRows } from "../../../text/gauge.ts";
import { fitEscaped, fitLines, insideCodeBlock } from "../../../text/text.ts";
import type { Drawn } from "./components.ts";

/** Our limits count UTF-16 units, which are never fewer than characters. */
const MAX_TITLE = 256;
const MAX_SUMMARY = 500;
const MAX_LABEL = 100;
const MAX_VALUE = 1024;
/** Of all texts; https://docs.discord.com/developers/components/reference */
const MAX_ALL = 4000;
/** With the box, its head, its line and its facts they stay below Discord's 40 components. */
const MAX_LISTS = 25;
/** The least room that is worth a fact or a list. */
const MIN_ROOM = 100;
/** Characters that a phone shows on one line. */
const BAR_WIDTH = 30;

const COLOURS: Readonly<Record<Card["tone"], number>> = {
  calm: 0x2e_8b_57,
  warning: 0xe0_a0_00,
  critical: 0xc6_28_28,
};

/** A card as a box of components. Pure. */
export function toCard({ title, summary, tone, bar, fields, lists }: Card): Drawn {
  const { bar: row, scale } = gaugeRows(bar, BAR_WIDTH);
  const legend = bar.marks.map(({ label }) => `▲ ${displayableLine(label)}`).join(" · ");
  const head = [
    `### ${words(title, MAX_TITLE)}`,
    words(summary, MAX_SUMMARY),
    `\`\`\`\n${row}\n${scale}\n\`\`\``,
    words(legend, MAX_VALUE),
  ].join("\n");
  let room = MAX_ALL - head.length;
  const facts: string[] = [];
  for (const { label, value } of fields) {
    const name = `**${words(label, MAX_LABEL)}:** `;
    const limit = Math.min(MAX_VALUE, room - name.length - 1);
    if (limit < MIN_ROOM) break;
    const fact = name + words(value, limit);
    facts.push(fact);
    room -= fact.length + 1;
  }
  const listed: string[] = [];
  for (const { label, lines } of lists.slice(0, MAX_LISTS)) {
    const name = `**${words(label, MAX_LABEL)}**\n`;
    const limit = Math.min(MAX_VALUE, room - name.length);
    if (limit < MIN_ROOM) break;
    const list = name + codeBlock(lines, limit);
    listed.push(list);
    room -= list.length;
  }
  const texts = [...(facts.length === 0 ? [] : [facts.join("\n")]), ...listed].map(textOf);
  const below = texts.length === 0 ? [] : [{ type: ComponentType.Separator } as const, ...texts];
  const box: APIContainerComponent = {
    type: ComponentType.Container,
    accent_color: COLOURS[tone],
    components: [textOf(head), ...below],
  };
  return { flags: MessageFlags.IsComponentsV2, components: [box] };
}

function textOf(content: string) {
  return { type: ComponentType.TextDisplay, content } as const;
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
