import type { ChatPlatformConfig } from "../../config/chat-platform.ts";
import { hostAndPort } from "../../text/host-and-port.ts";
import type { OptionKit, PlatformRow } from "../row.ts";
import { weirCommand } from "../../files/installation.ts";

export interface SlackConfig extends ChatPlatformConfig {
  /** Never print it. */
  readonly botToken: string;
  readonly agentView: "auto" | "on" | "off";
  readonly feedbackButtons: boolean;
  readonly intake:
    | { readonly mode: "socket"; readonly appToken: string }
    | { readonly mode: "http"; readonly signingSecret: string; readonly host: string; readonly port: number };
}

const GUIDE = "docs/slack.md";

const options = ({ flag, listenAddress, oneOf, secret, startOption }: OptionKit) => ({
  bot_token: startOption(
    secret,
    "env:SLACK_BOT_TOKEN",
    "Slack is on if SLACK_BOT_TOKEN is set, and SLACK_APP_TOKEN (Socket Mode) or SLACK_SIGNING_SECRET (HTTP). How to make " +
      `an app: ${GUIDE}.`,
  ),
  app_token: startOption(secret, "env:SLACK_APP_TOKEN"),
  mode: startOption(
    oneOf(["socket", "http"]),
    "socket",
    '"socket": Weir connects to Slack. "http": Slack calls Weir where it listens.',
  ),
  signing_secret: startOption(secret, "env:SLACK_SIGNING_SECRET"),
  listen: startOption(listenAddress("127.0.0.1:3000"), "127.0.0.1:3000"),
  agent_view: startOption(
    oneOf(["auto", "on", "off"]),
    "auto",
    '"on": each message that begins a thread in direct messages is a conversation of its own, as Slack ' +
      'wants of agents. "off": direct messages are one. "auto": as Slack\'s messages show it.',
  ),
  feedback_buttons: startOption(
    flag,
    true,
    "Buttons 👍 and 👎 below each answer; a press counts as a reaction.",
  ),
});

export const slack = {
  key: "slack" as const,
  title: "Slack",
  guide: GUIDE,
  token: "bot_token",
  ids: /^[CDEGTUW](?=[A-Z]*\d)[A-Z0-9]{8,}$/,
  options,
  resolve(
    { mode, listen, agentView, feedbackButtons },
    { botToken = null, appToken = null, signingSecret = null },
  ) {
    if (botToken === null) return null;
    const own = { botToken, agentView, feedbackButtons };
    if (mode === "socket") return appToken === null ? null : { ...own, intake: { mode, appToken } };
    return signingSecret === null
      ? null
      : { ...own, intake: { mode, signingSecret, ...hostAndPort(listen) } };
  },
  lacks({ mode }, { appToken = null, signingSecret = null }) {
    if (mode === "http") return signingSecret === null ? { option: "signing_secret" } : null;
    return appToken === null ? { option: "app_token", or: 'mode = "http" under [platforms.slack]' } : null;
  },
  madeOf: { intake: [".mode", ".app_token", ".signing_secret", ".listen"] },
  describe: ({ intake }) =>
    intake.mode === "socket" ? "by Socket Mode" : `by HTTP on ${intake.host}:${intake.port}`,
  listens: ({ intake }) => (intake.mode === "http" ? intake : null),
  async open(config, parts) {
    const { createSlack } = await import("./adapter.ts");
    return createSlack({ config, ...parts });
  },
  async diagnose(config) {
    const { diagnoseSlack } = await import("./diagnose.ts");
    return await diagnoseSlack(config);
  },
  async invite(config) {
    const { manifestLink } = await import("./manifest.ts");
    return {
      what: "Open this link to make a Slack app with everything that Weir needs, and install it to your workspace:",
      link: manifestLink(config?.intake.mode ?? "socket"),
    };
  },
  questions: {
    before: `Slack: \`${weirCommand("invite slack")}\` prints a link that makes the app; it needs no token yet. Install the app, then go on here.`,
    secrets: [
      { option: "bot_token", question: "The bot token, xoxb-… (OAuth & Permissions)" },
      {
        option: "app_token",
        question: "The app-level token, xapp-… (Basic Information, scope connections:write)",
      },
    ],
    personHint: '"Copy member ID" in your profile',
    person: /^[UW][A-Z0-9]{7,}$/,
  },
} satisfies PlatformRow<ReturnType<typeof options>, SlackConfig>;
