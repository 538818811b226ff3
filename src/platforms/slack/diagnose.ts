import { pino } from "pino";
import { z } from "zod";
import type { SlackConfig } from "./row.ts";
import { errorMessage, type Finding } from "../../core/errors.ts";
import { SlackApi } from "./web/api.ts";
import { SlackError } from "./web/slack-error.ts";
import { missingScopes } from "./manifest.ts";
import { Names } from "./web/names.ts";
import { tokenProblem } from "./web/api-errors.ts";

const PATIENCE_MS = 10_000;
const APPS = "https://api.slack.com/apps";

/** Checks an operator's Slack configuration for mistakes. Takes 20 s at most; does not throw. */
export async function diagnoseSlack(config: SlackConfig): Promise<readonly Finding[]> {
  const [token, intake] = await Promise.all([lookAtToken(config), lookAtIntake(config)]);
  return [...token, ...intake];
}

function apiOf({ apiUrl }: SlackConfig, token: string): SlackApi {
  return new SlackApi({ token, apiUrl, timeoutMs: PATIENCE_MS, log: pino({ level: "silent" }) });
}

async function lookAtToken(config: SlackConfig): Promise<Finding[]> {
  const what = "Slack token";
  try {
    const names = new Names(apiOf(config, config.botToken), pino({ level: "silent" }));
    const { name, teamName, scopes } = await names.bot();
    return [{ what, state: "ok", detail: `it is @${name} in ${teamName}` }, scopeFinding(scopes)];
  } catch (error) {
    return [failure(what, error, "SLACK_BOT_TOKEN")];
  }
}

function scopeFinding(scopes: readonly string[]): Finding {
  const what = "Slack scopes";
  if (scopes.length === 0)
    return { what, state: "unsure", detail: "Slack does not tell which the token has" };
  const missing = missingScopes(scopes);
  if (missing.length === 0) return { what, state: "ok", detail: "the token has all that are needed" };
  return {
    what,
    state: "wrong",
    detail: `the token lacks ${missing.join(", ")}`,
    todo: `add them at ${APPS}, OAuth & Permissions, and install the app again`,
  };
}

/** Requests a socket address without using it: a second socket would take events from a running Weir. */
async function lookAtIntake(config: SlackConfig): Promise<Finding[]> {
  const { intake } = config;
  if (intake.mode === "http") {
    const detail = `requests would be awaited on ${intake.host}:${intake.port} at /slack/events; only Slack can prove the signing secret`;
    const todo = `see that the request URL of events and of /weir at ${APPS} leads there over HTTPS`;
    return [{ what: "Slack requests", state: "unsure", detail, todo }];
  }
  const what = "Slack socket";
  try {
    const answer = z.object({ url: z.string() });
    await apiOf(config, intake.appToken).call("apps.connections.open", {}, answer);
    return [{ what, state: "ok", detail: "Slack gives an address for Socket Mode" }];
  } catch (error) {
    return [failure(what, error, "SLACK_APP_TOKEN")];
  }
}

function failure(what: string, error: unknown, variable: string): Finding {
  const detail = errorMessage(error);
  const todo = error instanceof SlackError ? tokenProblem(error, variable) : null;
  if (todo !== null) return { what, state: "wrong", detail, todo };
  if (error instanceof SlackError && error.kind === "unavailable")
    return { what, state: "wrong", detail, todo: "see that this machine reaches slack.com, and try again" };
  return { what, state: "wrong", detail, todo: `compare the app's settings at ${APPS} with docs/slack.md` };
}
