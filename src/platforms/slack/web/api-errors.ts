import { OperatorError } from "../../../core/errors.ts";
import type { PlatformError } from "../../platform.ts";
import type { SlackError } from "./slack-error.ts";

/**
 * Codes of a deleted channel or thread. The first may mean that the bot was removed from a private channel
 * and may no longer read it.
 */
export const DELETED: ReadonlySet<string> = new Set(["channel_not_found", "thread_not_found"]);

const GONE: ReadonlySet<string> = new Set([
  "channel_not_found",
  "is_archived",
  "not_in_channel",
  "message_not_found",
  "thread_not_found",
  "user_not_found",
  "no_permission",
  "missing_scope",
  "ekm_access_denied",
  "access_denied",
  "restricted_action",
  "restricted_action_read_only_channel",
  "restricted_action_thread_only_channel",
  "restricted_action_non_threadable_channel",
  "restricted_action_thread_locked",
  "cannot_reply_to_message",
  "cant_delete_message",
  "messages_tab_disabled",
  "method_not_supported_for_channel_type",
  "team_access_not_granted",
  "not_allowed",
]);

/** Problems of the token, the workspace or Slack: a text may be sent after they are fixed. */
const LATER: ReadonlySet<string> = new Set([
  "invalid_auth",
  "not_authed",
  "account_inactive",
  "token_revoked",
  "token_expired",
  "org_login_required",
  "team_added_to_org",
  "fatal_error",
  "internal_error",
  "service_unavailable",
  "request_timeout",
  "ratelimited",
  "rate_limited",
  "message_limit_exceeded",
  "accesslimited",
]);

/** The meaning of Slack's error code for a text; an unknown code means "never". */
export function kindOf(code: string): PlatformError["kind"] {
  if (GONE.has(code)) return "gone";
  return LATER.has(code) ? "unavailable" : "rejected";
}

const APP_PAGE = "https://api.slack.com/apps";

/** The remedy for a refused token; null: the token is not the cause. */
export function tokenProblem(error: SlackError, variable: string): string | null {
  switch (error.code) {
    case "invalid_auth":
    case "not_authed":
      return `Slack does not know the token in ${variable}: copy it again from ${APP_PAGE}.`;
    case "token_revoked":
    case "token_expired":
    case "account_inactive":
      return `Slack has withdrawn the token in ${variable} (${error.code}): install the app again at ${APP_PAGE} and copy the new one.`;
    case "not_allowed_token_type":
      return variable === "SLACK_APP_TOKEN"
        ? "SLACK_APP_TOKEN is no app-level token: it begins with xapp- (Basic Information, App-Level Tokens)."
        : "SLACK_BOT_TOKEN is no bot token: it begins with xoxb- (OAuth & Permissions).";
    case "missing_scope":
      return error.needed === "connections:write"
        ? "SLACK_APP_TOKEN lacks the scope connections:write: make a new one with it (Basic Information, App-Level Tokens)."
        : `The Slack app lacks the scope ${error.needed ?? "it needs"}: add it under OAuth & Permissions and install the app again.`;
    case "link_disabled":
    case "socket_mode_not_enabled":
      return `Socket Mode is switched off: switch it on at ${APP_PAGE}, Socket Mode.`;
    default:
      return null;
  }
}

/** @returns an OperatorError if the operator can fix it, else `error` */
export function forOperator(error: SlackError, variable: string): Error {
  const problem = tokenProblem(error, variable);
  return problem === null ? error : new OperatorError(problem);
}
