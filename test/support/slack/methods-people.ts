import { ApiError, type Arguments } from "./arguments.ts";
import { type Method, type MethodContext, paginate } from "./method.ts";
import type { JsonObject } from "./model.ts";
import { renderUser } from "./rendering.ts";

export const peopleMethods: Readonly<Record<string, Method>> = {
  "auth.test": { scope: undefined, run: authTest },
  "apps.connections.open": { scope: "connections:write", token: "app", run: openConnection },
  "users.info": { scope: "users:read", run: userInfo },
  "users.list": { scope: "users:read", run: listUsers },
  "usergroups.list": { scope: "usergroups:read", run: listUserGroups },
  "bots.info": { scope: "users:read", run: botInfo },
  "team.info": { scope: "team:read", run: teamInfo },
  "emoji.list": { scope: "emoji:read", run: () => ({ emoji: {} }) },
};

function authTest(_args: Arguments, { workspace }: MethodContext): JsonObject {
  const { teamId, teamName, bot, appId } = workspace;
  return {
    url: "https://weir-test.slack.com/",
    team: teamName,
    user: bot.name,
    team_id: teamId,
    user_id: bot.id,
    bot_id: bot.botId,
    app_id: appId,
    is_enterprise_install: false,
  };
}

function openConnection(_args: Arguments, context: MethodContext): JsonObject {
  return { url: context.openConnection() };
}

function userInfo(args: Arguments, { workspace }: MethodContext): JsonObject {
  const user = workspace.users.get(args.required("user"));
  if (user === undefined) throw new ApiError("user_not_found");
  return { user: renderUser(workspace, user) };
}

function listUsers(args: Arguments, context: MethodContext): JsonObject {
  const { page, nextCursor } = paginate([...context.workspace.users.values()], args, context);
  return {
    members: page.map((user) => renderUser(context.workspace, user)),
    response_metadata: { next_cursor: nextCursor },
  };
}

function listUserGroups(_args: Arguments, { workspace }: MethodContext): JsonObject {
  return { usergroups: workspace.userGroups.map((group) => ({ ...group, team_id: workspace.teamId })) };
}

function botInfo(args: Arguments, { workspace }: MethodContext): JsonObject {
  const id = args.required("bot");
  const user = [...workspace.users.values()].find(({ botId }) => botId === id);
  if (user === undefined) throw new ApiError("bot_not_found");
  return { bot: { id, user_id: user.id, name: user.name, deleted: false, app_id: workspace.appId } };
}

function teamInfo(_args: Arguments, { workspace }: MethodContext): JsonObject {
  return { team: { id: workspace.teamId, name: workspace.teamName, domain: "weir-test" } };
}
