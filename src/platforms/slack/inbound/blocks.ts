import { escapeText } from "../outbound/mrkdwn-inline.ts";

/** A part of Slack's blocks, of any type: its fields are read where they are words. */
interface BlockPart {
  readonly type?: unknown;
  readonly [field: string]: unknown;
}

/** Fields with words or with parts, in the order in which Slack shows them. */
const SHOWN = [
  "title",
  "rich_text_title",
  "subtitle",
  "caption",
  "label",
  "text",
  "body",
  "description",
  "details",
  "output",
  "fields",
  "elements",
  "child_blocks",
  "tasks",
  "sources",
  "accessory",
  "actions",
] as const;
/** Blocks that may be without words. */
const SILENT: ReadonlySet<unknown> = new Set([
  "actions",
  "context_actions",
  "divider",
  "file",
  "rich_text",
  "context",
  "section",
]);
/** Elements with which people choose something. */
const CONTROL =
  /_select$|picker$|_input$|^(?:overflow|checkboxes|radio_buttons|feedback_buttons|icon_button)$/;
const MAX_DEPTH = 12;

/** The words of a block, in Slack's markup; of a type that has none, its name. Pure; does not throw. */
export function blockText(block: BlockPart): string {
  const words = partText(block, 0);
  return words === "" && !SILENT.has(block.type)
    ? `[block of type ${escapeText(String(block.type))}]`
    : words;
}

function partText(part: BlockPart, depth: number): string {
  const { type } = part;
  if (depth > MAX_DEPTH || (typeof type === "string" && CONTROL.test(type))) return "";
  switch (type) {
    case "mrkdwn":
      return stringOf(part["text"]);
    case "image":
      return pictureText(part);
    case "button":
    case "workflow_button":
    case "url":
      return linkTo(part["url"], valueText(part["text"], depth));
    case "table":
    case "data_table":
      return tableText(part, depth);
    case "rich_text_section":
      return inlineText(part);
    case "rich_text_quote":
      return inlineText(part).replaceAll(/^/gm, "&gt; ");
    case "rich_text_preformatted":
      return `\`\`\`\n${inlineText(part)}\n\`\`\``;
    case "rich_text_list":
      return listText(part);
    case "video":
      return [
        linkTo(part["title_url"], valueText(part["title"], depth)),
        valueText(part["description"], depth),
      ]
        .filter(Boolean)
        .join("\n");
    case "context":
      return partsOf(part["elements"])
        .map((element) => partText(element, depth + 1))
        .filter(Boolean)
        .join(" ");
    default:
      return SHOWN.map((field) => valueText(part[field], depth))
        .filter(Boolean)
        .join("\n");
  }
}

function valueText(value: unknown, depth: number): string {
  if (typeof value === "string") return escapeText(value);
  if (typeof value === "number") return String(value);
  return partsOf(value)
    .map((part) => partText(part, depth + 1))
    .filter(Boolean)
    .join("\n");
}

/** A field's part, or its parts. */
function partsOf(value: unknown): BlockPart[] {
  const all: readonly unknown[] = Array.isArray(value) ? value : [value];
  return all.filter(
    (one): one is BlockPart => typeof one === "object" && one !== null && !Array.isArray(one),
  );
}

function stringOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function pictureText({ alt_text: alt, title }: BlockPart): string {
  const words = [valueText(title, 0), escapeText(stringOf(alt))].filter(Boolean);
  return words.length === 0 ? "[picture]" : `[picture: ${[...new Set(words)].join(", ")}]`;
}

function linkTo(url: unknown, label: string): string {
  return typeof url === "string" && url !== "" ? `<${escapeText(url)}|${label || escapeText(url)}>` : "";
}

/** A line a row, its cells between bars. */
function tableText({ caption, rows }: BlockPart, depth: number): string {
  const lines = (Array.isArray(rows) ? rows : []).map((row: unknown) =>
    partsOf(row)
      .map((cell) => valueText(cell["value"], depth) || partText(cell, depth + 1))
      .map((cell) => cell.replaceAll("\n", " "))
      .join(" | "),
  );
  return [valueText(caption, depth), ...lines].filter(Boolean).join("\n");
}

function listText({ elements, style, indent }: BlockPart): string {
  const before = "  ".repeat(typeof indent === "number" ? Math.min(Math.max(indent, 0), MAX_DEPTH) : 0);
  return partsOf(elements)
    .map((item, index) => `${before}${style === "ordered" ? `${index + 1}.` : "•"} ${inlineText(item)}`)
    .join("\n");
}

function inlineText({ elements }: BlockPart): string {
  return partsOf(elements)
    .map((element) => styled(elementText(element), element["style"]))
    .join("");
}

function elementText(element: BlockPart): string {
  const field = (name: string): string => escapeText(stringOf(element[name]));
  switch (element.type) {
    case "link":
      return field("text") === "" ? `<${field("url")}>` : linkTo(element["url"], field("text"));
    case "user":
      return `<@${field("user_id")}>`;
    case "channel":
      return `<#${field("channel_id")}>`;
    case "usergroup":
      return `<!subteam^${field("usergroup_id")}>`;
    case "broadcast":
      return `<!${field("range")}>`;
    case "emoji":
      return `:${field("name")}:`;
    case "date":
      return `<!date^${String(element["timestamp"])}^${field("format")}|${field("fallback")}>`;
    case "color":
      return field("value");
    case "team":
      return field("team_id");
    default:
      return field("text") || `[${escapeText(String(element.type))}]`;
  }
}

const MARKS = [
  ["code", "`"],
  ["strike", "~"],
  ["italic", "_"],
  ["bold", "*"],
] as const;

/** Marks stand at the words, not at the spaces around them. */
function styled(text: string, style: unknown): string {
  const words = text.trim();
  if (typeof style !== "object" || style === null || words === "") return text;
  const marked = MARKS.reduce(
    (inner, [name, mark]) => (Reflect.get(style, name) === true ? `${mark}${inner}${mark}` : inner),
    words,
  );
  return text.replace(words, () => marked);
}
