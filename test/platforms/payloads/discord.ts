import { ComponentType, MessageFlags, MessageReferenceType, MessageType } from "discord.js";

/** A kind of message that Discord can send, with the text that people see. */
export interface DiscordSample {
  readonly name: string;
  readonly byBot?: true;
  readonly content?: string;
  /** The fields beside id, author, channel and times, in the form of Discord's API documentation (version 10). */
  readonly raw: object;
  readonly seen: string;
}

const FILE = {
  id: "70",
  size: 2000,
  content_type: "application/zip",
  url: "https://cdn.discordapp.com/x/report.zip",
};
const FILE_LABEL = "application/zip, 2 kB]";
/** A bot's card, once in embeds. */
const EMBED = {
  type: "rich",
  author: { name: "Build", url: "https://ci.example.com" },
  title: "Run 17",
  url: "https://ci.example.com/17",
  description: "**failed** <t:1714564800:R>",
  fields: [{ name: "Step", value: "test", inline: true }],
  footer: { text: "after 3 min" },
  color: 1,
};
const EMBED_SEEN =
  "Build\n[Run 17](https://ci.example.com/17)\n**failed** 2024-05-01 12:00 UTC\nStep: test\nafter 3 min";
/** A bot's card in components. */
const COMPONENTS = [
  {
    type: ComponentType.Container,
    components: [
      { type: ComponentType.TextDisplay, content: "Deploy failed: disk full <:no:5>" },
      { type: ComponentType.Separator, divider: true },
      {
        type: ComponentType.Section,
        components: [{ type: ComponentType.TextDisplay, content: "host-3" }],
        accessory: {
          type: ComponentType.Thumbnail,
          media: { url: "https://x.example/p.png" },
          description: "a graph",
        },
      },
      { type: ComponentType.MediaGallery, items: [{ media: { url: "https://x.example/q.png" } }] },
      {
        type: ComponentType.ActionRow,
        components: [
          { type: ComponentType.Button, style: 5, label: "Log", url: "https://x.example/log" },
          { type: ComponentType.Button, style: 1, label: "Retry", custom_id: "r" },
        ],
      },
      {
        type: ComponentType.ActionRow,
        components: [{ type: ComponentType.StringSelect, custom_id: "s", options: [] }],
      },
      { type: ComponentType.File, file: { url: "attachment://log.txt" } },
    ],
  },
];
const COMPONENTS_SEEN =
  "Deploy failed: disk full :no:\nhost-3\n[picture: a graph]\n[picture]\n[Log](https://x.example/log)";

export const DISCORD_SAMPLES: readonly DiscordSample[] = [
  { name: "a text", content: "hello", raw: {}, seen: "hello" },
  { name: "a bot's embed", byBot: true, raw: { embeds: [EMBED] }, seen: EMBED_SEEN },
  {
    name: "a bot's embed of a picture alone",
    byBot: true,
    raw: { embeds: [{ type: "rich", image: { url: "https://x.example/a.png" } }] },
    seen: "[picture]",
  },
  {
    name: "a person's link with its preview",
    content: "see https://x.example",
    raw: { embeds: [{ type: "link", url: "https://x.example", title: "X" }] },
    seen: "see https://x.example",
  },
  {
    name: "components",
    byBot: true,
    raw: { flags: MessageFlags.IsComponentsV2, components: COMPONENTS },
    seen: COMPONENTS_SEEN,
  },
  {
    name: "a component that came later than this reader",
    byBot: true,
    raw: {
      components: [
        { type: 99, content: "new", components: [{ type: ComponentType.TextDisplay, content: "in it" }] },
      ],
    },
    seen: "[component of type 99]\nnew\nin it",
  },
  {
    name: "one odd part among others",
    byBot: true,
    raw: {
      embeds: ["odd", { ...EMBED, fields: [null, { name: 1 }, ...EMBED.fields] }],
      components: [{}, null],
      poll: 7,
    },
    seen: EMBED_SEEN,
  },
  {
    name: "a file with a title",
    raw: { attachments: [{ ...FILE, filename: "report_1.zip", title: "Résumé 1" }] },
    seen: `[file Résumé 1.zip, ${FILE_LABEL}`,
  },
  {
    name: "a voice message",
    raw: {
      flags: MessageFlags.IsVoiceMessage,
      attachments: [
        {
          id: "71",
          filename: "voice-message.ogg",
          content_type: "text/plain; charset=utf-8",
          size: 31_000,
          url: "https://cdn.discordapp.com/x/voice-message.ogg",
          duration_secs: 3.2,
          waveform: "AAAA",
        },
      ],
    },
    seen: "[voice message voice-message.ogg, 4 s, 31 kB]",
  },
  {
    name: "stickers",
    raw: { sticker_items: [{ id: "72", name: "wave", format_type: 1 }] },
    seen: "[sticker wave]",
  },
  {
    name: "a poll",
    raw: {
      poll: {
        question: { text: "Tea?" },
        answers: [
          { answer_id: 1, poll_media: { text: "yes" } },
          { answer_id: 2, poll_media: { text: "no" } },
        ],
      },
    },
    seen: "[poll] Tea?\n- yes\n- no",
  },
  {
    name: "a poll's result",
    raw: {
      type: MessageType.PollResult,
      embeds: [
        {
          type: "poll_result",
          fields: [
            { name: "poll_question_text", value: "Tea?" },
            { name: "victor_answer_text", value: "yes" },
            { name: "victor_answer_votes", value: "3" },
            { name: "total_votes", value: "5" },
          ],
        },
      ],
    },
    seen: "[poll result] Tea?: yes (3 of 5 votes)",
  },
  {
    name: "a type that came later than this reader",
    raw: { type: 99 },
    seen: "[message without words: type 99]",
  },
];

/** A sample as the only content of a forward, which has neither an author nor an id. */
export function forwarded({ name, content = "", raw, seen }: DiscordSample): DiscordSample {
  const message = { type: 0, content, timestamp: "2026-05-01T12:00:00Z", edited_timestamp: null, ...raw };
  return {
    name: `a forward of ${name}`,
    raw: {
      message_reference: {
        type: MessageReferenceType.Forward,
        message_id: "80",
        channel_id: "81",
        guild_id: "82",
      },
      message_snapshots: [{ message }],
    },
    seen: seen.startsWith("[message without") ? "[forwarded message]" : forwardedText(seen),
  };
}

/** Files stand behind all texts. */
function forwardedText(seen: string): string {
  return `[forwarded message]\n${seen}`;
}
