import type { SlackMessage } from "./payload.ts";

/** Names for the ids in a text; an id without a name stays an id. */
export interface TextNames {
  readonly people: ReadonlyMap<string, string>;
  readonly channels: ReadonlyMap<string, string>;
  readonly groups: ReadonlyMap<string, string>;
}

/** `<@U123>`, `<#C123|general>`, `<!here>`, `<https://…|words>`: Slack escapes every other `<`. */
const ENTITY = /<([^<>\n]+)>/g;

/** The ids whose names `readableText` needs. Pure. */
export function mentionedIds(text: string): Record<keyof TextNames, readonly string[]> {
  const ids = { people: new Set<string>(), channels: new Set<string>(), groups: new Set<string>() };
  for (const [, inner = ""] of text.matchAll(ENTITY)) {
    const [id = "", label = ""] = inner.split("|", 2);
    if (label !== "" && !id.startsWith("@")) continue;
    if (id.startsWith("@")) ids.people.add(id.slice(1));
    else if (id.startsWith("#")) ids.channels.add(id.slice(1));
    else if (id.startsWith("!subteam^")) ids.groups.add(id.slice("!subteam^".length));
  }
  return { people: [...ids.people], channels: [...ids.channels], groups: [...ids.groups] };
}

/** Makes Slack's text readable: names for ids, Markdown links, no entities. Pure; does not throw. */
export function readableText(text: string, names: TextNames): string {
  let readable = "";
  let from = 0;
  for (const match of text.matchAll(ENTITY)) {
    readable += unescapeText(text.slice(from, match.index)) + entity(match[1] ?? "", names);
    from = match.index + match[0].length;
  }
  return (readable + unescapeText(text.slice(from))).toWellFormed();
}

function entity(inner: string, names: TextNames): string {
  const bar = inner.indexOf("|");
  const target = bar < 0 ? inner : inner.slice(0, bar);
  const label = bar < 0 ? "" : unescapeText(inner.slice(bar + 1));
  const id = target.slice(1);
  switch (target[0]) {
    case "@":
      return `@${names.people.get(id) ?? (label || id)}`;
    case "#":
      return `#${label || (names.channels.get(id) ?? id)}`;
    case "!":
      return special(id, label, names);
    default:
      return link(unescapeText(target), label);
  }
}

/** `here`, `subteam^S1`, `date^1392734382^{date}`. */
function special(id: string, label: string, { groups }: TextNames): string {
  const [word = "", argument = ""] = id.split("^", 2);
  if (word === "subteam")
    return label === "" ? `@${groups.get(argument) ?? argument}` : `@${label.replace(/^@/, "")}`;
  if (word === "date") return label || (dateOf(argument) ?? id);
  return label || `@${word}`;
}

function dateOf(seconds: string): string | null {
  const at = new Date(Number(seconds) * 1000);
  return Number.isNaN(at.getTime()) ? null : at.toISOString();
}

function link(url: string, label: string): string {
  const plain = url.replace(/^(?:mailto|tel):/, "");
  if (label === "" || label === plain) return plain;
  if (label === url) return url;
  // Slack makes a link of any name that ends like a site's, as README.md.
  return label === url.replace(/^https?:\/\//, "") ? label : `[${label}](${url})`;
}

export function unescapeText(text: string): string {
  return text.replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&amp;", "&");
}

/** The subtypes of Slack's notices: somebody joined, a topic was set, something was pinned. */
const NOTICES: ReadonlySet<string> = new Set([
  "app_conversation_join",
  "app_conversation_leave",
  "assistant_app_thread",
  "bot_add",
  "bot_disable",
  "bot_enable",
  "bot_remove",
  "channel_archive",
  "channel_canvas_updated",
  "channel_convert_to_private",
  "channel_convert_to_public",
  "channel_join",
  "channel_leave",
  "channel_name",
  "channel_posting_permissions",
  "channel_purpose",
  "channel_topic",
  "channel_unarchive",
  "document_mention",
  "ekm_access_denied",
  "group_archive",
  "group_join",
  "group_leave",
  "group_name",
  "group_purpose",
  "group_topic",
  "group_unarchive",
  "huddle_thread",
  "joiner_notification",
  "joiner_notification_for_inviter",
  "message_changed",
  "message_deleted",
  "message_replied",
  "pinned_item",
  "sh_room_created",
  "sh_room_shared",
  "tabbed_canvas_updated",
  "tombstone",
  "unpinned_item",
]);

/** False: a notice of Slack's. A subtype that is not known here counts as said. Pure. */
export function isSpoken({ subtype }: Pick<SlackMessage, "subtype">): boolean {
  return subtype === undefined || subtype === null || !NOTICES.has(subtype);
}
