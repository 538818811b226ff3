import { z } from "zod";
import { CHAT_PLATFORMS, type PLATFORMS, PLATFORM_ROWS } from "../../platforms/platforms.ts";
import { chatOptions } from "./chat-options.ts";
import * as kit from "./values.ts";
import { asSwitch, flag, names, oneOf, option, optionTexts, table, text, whole } from "./values.ts";

const BINDING_SHARES = ["agent", "channel", "workspace"] as const;

type PlatformTables = {
  [Row in (typeof PLATFORMS)[number] as Row["key"]]: ReturnType<
    typeof table<ReturnType<Row["options"]> & typeof chatOptions>
  >;
};

/** A row's own options; its token switches the platform on. */
function ownOptions(row: (typeof PLATFORM_ROWS)[number]): z.ZodRawShape {
  const own = Object.entries(row.options(kit));
  return Object.fromEntries(own.map(([key, made]) => [key, key === row.token ? asSwitch(made) : made]));
}

/** `[platforms.KEY]` of each chat platform: its own options, and the common ones. */
// oxlint-disable-next-line typescript/no-unsafe-type-assertion -- each key has the options of its own row
export const platformTables = Object.fromEntries(
  PLATFORM_ROWS.map((row) => [
    row.key,
    table(`platforms.${row.key}`, { ...ownOptions(row), ...chatOptions }),
  ]),
) as PlatformTables;

/** One of `[[bindings]]`. */
export const bindingSchema = z.strictObject({
  agent: text("the id of one of [[agents]], in quotes", 63)
    .min(1)
    .register(optionTexts, {
      about: `The id of the agent that answers, and the platform: ${CHAT_PLATFORMS.map((key) => `"${key}"`).join(" or ")}.`,
    }),
  platform: oneOf(CHAT_PLATFORMS).register(optionTexts, { about: "" }),
  also: option(
    names("ids of agents"),
    [],
    'Agents that can be asked here as well, by "@id", "@name" or an alias.',
  ),
  workspaces: option(
    names("ids or names of servers or teams"),
    [],
    "Only these servers (teams) and channels: names or ids. []: all. When names hold on Discord: " +
      "docs/run.md.",
  ),
  channels: option(names("ids or names of channels"), []),
  threads: option(flag, true, "Whether it holds for threads of these channels, and for direct messages."),
  dms: option(flag, true),
  mention_required: option(
    flag,
    true,
    "true: in a channel only mentions of the bot and replies to it are answered, in threads in which the " +
      "agent takes part every message. false: every message.",
  ),
  listen: option(flag, true, "true: unanswered messages are read as context."),
  allow_users: option(
    names("ids of people"),
    [],
    "Who is answered and may give commands: ids of people; ids or names of roles. Both empty: all who see " +
      "the channel. In direct messages roles do not count, and allow_users leaves only these people and " +
      "owners, if dm allows them.",
  ),
  allow_roles: option(names("ids or names of roles"), []),
  allow_bots: option(flag, false, "Whether other bots are read and answered. They give no commands."),
  rate_limit: option(
    whole(0, 1000, "turns a minute, 0 for no limit"),
    20,
    "Answers and commands of one person in a minute; 0: no limit. More messages are read and not answered, " +
      "more commands not run, but for /stop.",
  ),
  streaming: option(flag, true, "Whether an answer is shown while it is written."),
  acknowledge: option(
    text('an emoji, such as "👀", or "" for none', 64),
    "",
    'An emoji under each message that will be answered: "👀".',
  ),
  memory_share: option(
    oneOf(BINDING_SHARES),
    "agent",
    'As share in [defaults.memory], for these channels; "agent": as the agent has it.',
  ),
});
