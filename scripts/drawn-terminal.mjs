/** How the pictures in the README draw a terminal, as SVG. */

export const escaped = (text) =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");

/**
 * A line of a terminal.
 * @param text of SVG
 * @param attributes more of them, each with a space behind it
 */
export function drawnLine(text, row, attributes = "") {
  return `<text ${attributes}x="20" y="${62 + row * 19}" xml:space="preserve">${text}</text>`;
}

/** A window with so many rows; `style` and `lines` are drawn as they are. */
export function drawnTerminal({ label, rows, style, lines }) {
  const height = 80 + rows * 19;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 880 ${height}" role="img"
  aria-label="${label}">
<style>
${style}
</style>
<rect width="880" height="${height}" rx="10" fill="#111a24"/>
<circle cx="24" cy="22" r="6" fill="#e06c60"/><circle cx="44" cy="22" r="6" fill="#e0b860"/><circle cx="64" cy="22" r="6" fill="#7cc06a"/>
${lines.join("\n")}
</svg>
`;
}
