const FENCE = /^\s*(?:`{3,}|~~~)[^`]*$/;
const HEADING = /^ {0,3}#{1,6}\s+/;
const LINK = /!?\[([^\][\n]{0,300})\]\(<?([^\s()<>]{1,1000})>?\)/g;
const MARKS = /\*\*|~~|__(?=\S)|(?<=\S)__|`/g;

/** A Markdown text without its markup: for a platform that refuses the text with it. Pure; linear in the text's length. */
export function plainText(markdown: string): string {
  const lines = markdown.split("\n").filter((line) => !FENCE.test(line));
  const plain = lines.map(plainLine).join("\n");
  return plain.trim() === "" ? markdown : plain;
}

function plainLine(line: string): string {
  return line
    .replace(HEADING, "")
    .replaceAll(LINK, (_, words: string, url: string) => (words === "" ? url : `${words} (${url})`))
    .replaceAll(MARKS, "");
}
