/** A kind of message that Slack can send, with the text that people see. */
export interface SlackSample {
  readonly name: string;
  readonly byBot?: true;
  readonly text?: string;
  /** Fields in the form of Slack's reference of events, blocks and attachments. */
  readonly raw: Readonly<Record<string, unknown>>;
  readonly seen: string;
}

const text = (words: string, style?: object): object => ({
  type: "text",
  text: words,
  ...(style && { style }),
});
const section = (...elements: object[]): object => ({ type: "rich_text_section", elements });
const mrkdwn = (words: string): object => ({ type: "mrkdwn", text: words });
const plain = (words: string): object => ({ type: "plain_text", text: words, emoji: true });

const RICH_TEXT = {
  type: "rich_text",
  elements: [
    section(
      text("Hi "),
      { type: "user", user_id: "U0ANA" },
      text(" <b> ", { bold: true }),
      { type: "link", url: "https://a.test/?x=1&y=2", text: "page" },
      text(" "),
      { type: "emoji", name: "wave", unicode: "1f44b" },
      { type: "broadcast", range: "here" },
      text(" "),
      { type: "date", timestamp: 1_714_564_800, format: "{date}", fallback: "May 1" },
      text(" "),
      { type: "color", value: "#ff0000" },
    ),
    {
      type: "rich_text_list",
      style: "ordered",
      indent: 0,
      elements: [section(text("one")), section(text("two"))],
    },
    { type: "rich_text_list", style: "bullet", indent: 1, elements: [section(text("inner"))] },
    { type: "rich_text_quote", elements: [text("quoted")] },
    { type: "rich_text_preformatted", elements: [text("code <x>")] },
  ],
};
const RICH_SEEN =
  "Hi @U0ANA *<b>* [page](https://a.test/?x=1&y=2) :wave:@here May 1 #ff0000\n1. one\n2. two\n  • inner\n> quoted\n```\ncode <x>\n```";

const FILE = {
  id: "F1",
  name: "report.zip",
  mimetype: "application/zip",
  size: 2000,
  url_private: "https://files.slack.com/files-pri/T1-F1/report.zip",
};

const block = (name: string, value: object, seen: string): SlackSample => ({
  name: `the block ${name}`,
  byBot: true,
  raw: { blocks: [value] },
  seen,
});

/** Every type of block that a message can have. */
const BLOCKS: readonly SlackSample[] = [
  block("section", { type: "section", text: mrkdwn("host-3 at *97 %*") }, "host-3 at *97 %*"),
  block(
    "section with fields and an accessory",
    {
      type: "section",
      fields: [mrkdwn("*Job*\nbatch-7"), plain("a < b")],
      accessory: { type: "button", text: plain("Open"), url: "https://a.test/7", action_id: "o" },
    },
    "*Job*\nbatch-7\na < b\n[Open](https://a.test/7)",
  ),
  block("header", { type: "header", text: plain("Disk full") }, "Disk full"),
  block(
    "context",
    {
      type: "context",
      elements: [{ type: "image", image_url: "https://a.test/i.png", alt_text: "ok" }, mrkdwn("by ci")],
    },
    "[picture: ok] by ci",
  ),
  block(
    "image",
    { type: "image", image_url: "https://a.test/i.png", alt_text: "a graph", title: plain("Load") },
    "[picture: Load, a graph]",
  ),
  block("markdown", { type: "markdown", text: "**bold** <x>" }, "**bold** <x>"),
  block("rich text", RICH_TEXT, RICH_SEEN),
  block(
    "table",
    {
      type: "table",
      rows: [
        [
          { type: "raw_text", text: "Job" },
          { type: "raw_text", text: "s" },
        ],
        [
          { type: "rich_text", elements: [section(text("batch-7"))] },
          { type: "raw_number", value: 12 },
        ],
      ],
    },
    "Job | s\nbatch-7 | 12",
  ),
  block(
    "data table",
    { type: "data_table", caption: "Jobs", rows: [[{ type: "raw_text", text: "a" }]] },
    "Jobs\na",
  ),
  block(
    "video",
    {
      type: "video",
      video_url: "https://a.test/v",
      thumbnail_url: "https://a.test/t.png",
      alt_text: "v",
      title: plain("A tour"),
      title_url: "https://a.test/v",
      description: plain("Two minutes"),
    },
    "[A tour](https://a.test/v)\nTwo minutes",
  ),
  block("alert", { type: "alert", level: "error", text: mrkdwn("It broke") }, "It broke"),
  block(
    "card",
    {
      type: "card",
      title: mrkdwn("Order 5"),
      subtitle: mrkdwn("late"),
      body: mrkdwn("since Monday"),
      actions: [{ type: "button", text: plain("Call"), action_id: "c" }],
    },
    "Order 5\nlate\nsince Monday",
  ),
  block(
    "carousel",
    {
      type: "carousel",
      elements: [
        { type: "card", title: mrkdwn("one") },
        { type: "card", title: mrkdwn("two") },
      ],
    },
    "one\ntwo",
  ),
  block(
    "container",
    {
      type: "container",
      title: plain("Inside"),
      child_blocks: [{ type: "divider" }, { type: "header", text: plain("h") }],
    },
    "Inside\nh",
  ),
  block(
    "plan",
    {
      type: "plan",
      title: "Trip",
      tasks: [
        {
          type: "task_card",
          task_id: "1",
          title: "Book",
          status: "complete",
          details: { type: "rich_text", elements: [section(text("two beds"))] },
          sources: [{ type: "url", url: "https://a.test", text: "hut" }],
        },
      ],
    },
    "Trip\nBook\ntwo beds\n[hut](https://a.test)",
  ),
  block(
    "input",
    { type: "input", label: plain("Name"), element: { type: "plain_text_input", action_id: "n" } },
    "Name",
  ),
  block("that came later than this reader", { type: "hologram", text: mrkdwn("seen in it") }, "seen in it"),
  block("that came later and is without words", { type: "hologram", depth: 3 }, "[block of type hologram]"),
];

export const SLACK_SAMPLES: readonly SlackSample[] = [
  { name: "a text", text: "a &lt; b", raw: {}, seen: "a < b" },
  {
    name: "a text that stands in blocks as well",
    text: "*hi* <https://a.test|a.test>",
    raw: {
      blocks: [
        {
          type: "rich_text",
          elements: [
            section(text("hi", { bold: true }), text(" "), {
              type: "link",
              url: "https://a.test",
              text: "a.test",
            }),
          ],
        },
      ],
    },
    seen: "*hi* a.test",
  },
  {
    name: "a notification's text beside the blocks",
    byBot: true,
    text: "Disk full",
    raw: {
      blocks: [
        { type: "header", text: plain("Disk full") },
        { type: "section", text: mrkdwn("on host-3") },
      ],
    },
    seen: "Disk full\non host-3",
  },
  {
    name: "another text than the blocks",
    byBot: true,
    text: "One new alert",
    raw: { blocks: [{ type: "section", text: mrkdwn("host-3 at 97 %") }] },
    seen: "One new alert\nhost-3 at 97 %",
  },
  ...BLOCKS,
  {
    name: "an integration's attachment",
    byBot: true,
    raw: {
      attachments: [
        {
          pretext: "New",
          author_name: "ci",
          title: "JobFailed",
          title_link: "https://a.test/7",
          text: "at night",
          fields: [{ title: "Job", value: "batch-7", short: true }],
          footer: "prod",
          fallback: "x",
        },
        { fallback: "only this" },
      ],
    },
    seen: "New\nci\n[JobFailed](https://a.test/7)\nat night\nJob: batch-7\nprod\nonly this",
  },
  {
    name: "an attachment with blocks",
    byBot: true,
    raw: {
      attachments: [
        { color: "#f00", blocks: [{ type: "section", text: mrkdwn("in color") }], fallback: "[no preview]" },
      ],
    },
    seen: "in color",
  },
  {
    name: "a link with its preview",
    text: "<https://a.test>",
    raw: { attachments: [{ from_url: "https://a.test", title: "A page", text: "long", id: 1 }] },
    seen: "https://a.test",
  },
  {
    name: "a link to a message, with its preview",
    text: "<https://t.slack.com/archives/C9/p1>",
    raw: {
      attachments: [{ is_msg_unfurl: true, from_url: "https://t.slack.com/archives/C9/p1", text: "quoted" }],
    },
    seen: "https://t.slack.com/archives/C9/p1",
  },
  {
    name: "a forward alone",
    raw: {
      attachments: [
        {
          is_share: true,
          is_msg_unfurl: true,
          from_url: "https://t.slack.com/archives/C9/p1",
          author_name: "Carol",
          text: "the invoice is overdue",
          fallback: "x",
        },
      ],
    },
    seen: "[forwarded message from Carol]\nthe invoice is overdue",
  },
  {
    name: "a forward of blocks and a file",
    text: "look",
    raw: {
      attachments: [
        {
          is_share: true,
          author_name: "ci",
          text: "",
          message_blocks: [{ team: "T1", channel: "C9", ts: "1.1", message: { blocks: [RICH_TEXT] } }],
          files: [FILE],
          fallback: "x",
        },
      ],
    },
    seen: `look\n[forwarded message from ci]\n${RICH_SEEN}\n[file report.zip, application/zip, 2 kB]`,
  },
  {
    name: "one odd part among others",
    byBot: true,
    raw: {
      blocks: [7, { type: 7 }, { type: "header", text: plain("Disk full") }],
      attachments: [null, "odd", { fields: [{ title: "Job", value: 7 }], text: 3 }],
      files: [{}, FILE],
    },
    seen: "Disk full\nJob\n[file report.zip, application/zip, 2 kB]",
  },
  {
    name: "a subtype that came later than this reader",
    text: "sent from a watch",
    raw: { subtype: "watch_message" },
    seen: "sent from a watch",
  },
];
