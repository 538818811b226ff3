import type { ChannelOnPlatform } from "../../../core/message.ts";
import { addressOf, isDm } from "../address.ts";
import type { SlackApi } from "./api.ts";
import { type Names, privacyOf } from "./names.ts";
import { type JoinedChannel, joinedPage } from "../inbound/payload.ts";

const TYPES = "public_channel,private_channel,mpim,im";
/** Slack takes fewer than 1,000. */
const PAGE = 999;
const MAX_PAGES = 5;

/**
 * The bot's channels: direct messages first, then by creation, newest first, since Slack does not tell the
 * last activity.
 * @throws SlackError
 */
export async function findJoinedChannels(api: SlackApi, names: Names): Promise<readonly ChannelOnPlatform[]> {
  const { teamId, teamName } = await names.bot();
  const channels: JoinedChannel[] = [];
  let cursor = "";
  for (let count = 0; count < MAX_PAGES; count++) {
    const args = { types: TYPES, exclude_archived: true, limit: PAGE, ...(cursor !== "" && { cursor }) };
    const page = await api.call("users.conversations", args, joinedPage);
    channels.push(...page.channels);
    cursor = page.response_metadata?.next_cursor ?? "";
    if (cursor === "") break;
  }
  for (const { id, name, user, ...rest } of channels)
    names.learnChannel(id, { name: name ?? "", user: user ?? null, isPrivate: privacyOf(rest) });
  return channels.toSorted(byAge).map(({ id, name, ...rest }) => ({
    channel: addressOf({ channel: id, threadTs: null }),
    kind: isDm(id) ? "dm" : "channel",
    workspace: teamId,
    place: { workspace: isDm(id) ? "" : teamName, channel: name ?? "", parent: null },
    ...(!isDm(id) && privacyOf(rest) !== undefined && { isPrivate: privacyOf(rest) === true }),
  }));
}

function byAge(a: JoinedChannel, b: JoinedChannel): number {
  const directFirst = Number(isDm(b.id)) - Number(isDm(a.id));
  return directFirst === 0 ? (b.created ?? 0) - (a.created ?? 0) : directFirst;
}
