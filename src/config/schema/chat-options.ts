import { HOUR_MS, loopbackUrl, names, oneOf, option, startOption, WEEK_MS, whole } from "./values.ts";

const DM_POLICIES = ["pairing", "allowlist", "everyone", "off"] as const;

export const chatOptions = {
  api_url: startOption(loopbackUrl, "", "Another address than the platform's own, for a test server."),
  dm: option(
    oneOf(DM_POLICIES),
    "pairing",
    'Whose direct messages are answered: "pairing" (allow, owners, and people let in by `weir pair`), ' +
      '"allowlist" (allow and owners), "everyone", or "off".',
  ),
  allow: option(
    names("ids of people"),
    [],
    'Whose direct messages are answered if dm is "pairing" or "allowlist": ["123456789012345678"].',
  ),
  owners: option(
    names("ids of people"),
    [],
    "Who may use the commands that change a channel for everybody (/reset, /compact): ids of people; ids " +
      "or names of roles. In a direct message everybody is an owner.",
  ),
  owner_roles: option(names("ids or names of roles"), []),
  catch_up_max_age_ms: startOption(
    whole(0, WEEK_MS, "milliseconds"),
    HOUR_MS,
    "Weir fetches messages that it missed. Those older than this (an hour) are read, and not answered.",
  ),
};
