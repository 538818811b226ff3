import { HOUR_MS, loopbackUrl, names, oneOf, option, startOption, WEEK_MS, whole } from "./values.ts";

const DM_POLICIES = ["pairing", "allowlist", "everyone", "off"] as const;

export const chatOptions = {
  api_url: startOption(
    loopbackUrl,
    "",
    "Another address than the platform's own, for a test server. \"\" is the platform's own.",
  ),
  dm: option(
    oneOf(DM_POLICIES),
    "pairing",
    'Whose direct messages are answered: "pairing" (the people in allow, the owners, and whoever was let in by a code that a ' +
      'stranger is told: `weir pair`), "allowlist" (the people in allow and the owners), "everyone", or "off".',
  ),
  allow: option(
    names("ids of people"),
    [],
    'Ids of people whose direct messages are answered if dm is "pairing" or "allowlist": ["123456789012345678"].',
  ),
  owners: option(
    names("ids of people"),
    [],
    "Who may change what holds for everybody in a channel (/reset, /compact): ids of people, and ids or names of roles. In " +
      "a direct message everybody is the owner.",
  ),
  owner_roles: option(names("ids or names of roles"), []),
  catch_up_max_age_ms: startOption(
    whole(0, WEEK_MS, "milliseconds"),
    HOUR_MS,
    "What was said while Weir was not connected is fetched afterwards. What is older than this (one hour) is read, and not " +
      "answered any more.",
  ),
};
