import { z } from "zod";
import { CHAT_PLATFORMS, type PLATFORMS, PLATFORM_ROWS } from "../../platforms/platforms.ts";
import { chatOptions } from "./chat-options.ts";
import * as kit from "./values.ts";
import { asSwitch, flag, names, oneOf, option, optionTexts, table, text, whole } from "./values.ts";

const EITHER = new Intl.ListFormat("en", { type: "disjunction" });
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
      about: `The id of the agent that answers, and the platform: ${EITHER.format(CHAT_PLATFORMS.map((key) => `"${key}"`))}.`,
    }),
  platform: oneOf(CHAT_PLATFORMS).register(optionTexts, { about: "" }),
  also: option(
    names("ids of agents"),
    [],
    'Agents that can be asked here as well, by "@id", "@name" or an alias: ["researcher"]. Each answers under its own name. Whoever ' +
      "mentions none of them reaches agent.",
  ),
  workspaces: option(
    names("ids or names of servers or teams"),
    [],
    "Only in these servers (teams), and only in these channels: names or ids. [] is everywhere. On Discord a name of a " +
      "server, a channel or a role holds only in the servers that the bot was in when Weir first started with it, and in " +
      "those whose id stands here: anybody may give a server of their own such names. `weir doctor` shows where each holds.",
  ),
  channels: option(names("ids or names of channels"), []),
  threads: option(
    flag,
    true,
    "Whether it also holds for threads of these channels, and for direct messages. A thread's own name counts for nothing.",
  ),
  dms: option(flag, true),
  mention_required: option(
    flag,
    true,
    "true: in a channel, only a mention of the bot or a reply to it is answered. false: every message is. A direct message, " +
      "and a thread in which the agent takes part, need no mention.",
  ),
  listen: option(
    flag,
    true,
    "true: what is not answered is read as context. A [[bindings]] of your own does so unless it says false.",
  ),
  allow_users: option(
    names("ids of people"),
    [],
    "Who is answered, and may give commands: ids of people, and ids or names of roles. With both empty, everybody who can see " +
      "the channel. Direct messages: if allow_users is set, only these people and the platform's owners, of those whom dm " +
      "above allows; there nobody has a role, so allow_roles alone leaves them to dm.",
  ),
  allow_roles: option(names("ids or names of roles"), []),
  allow_bots: option(
    flag,
    false,
    "Whether other bots are read and answered. What they say is never a command. Weir stops if bots only talk with one another.",
  ),
  rate_limit: option(
    whole(0, 1000, "turns a minute, 0 for no limit"),
    20,
    "How many answers one person may cause in a minute; 0 is no limit. What is more is read, and not answered. What is said " +
      "while an answer is written is answered together, as one. Commands count, too, and are not run; /stop always is.",
  ),
  streaming: option(flag, true, "Whether an answer is shown while it is written."),
  acknowledge: option(
    text('an emoji, such as "👀", or "" for none', 64),
    "",
    'An emoji that is put under each message that will be answered, such as "👀". "" is none.',
  ),
  memory_share: option(
    oneOf(BINDING_SHARES),
    "agent",
    'Whether what is remembered of these channels is shared with their server (team): "workspace" or "channel", as in ' +
      '[defaults.memory]; "agent" is what holds for the agent.',
  ),
});
