import {
  ApplicationCommandOptionType,
  ApplicationCommandType,
  type APIApplicationCommand,
  type APIApplicationCommandOption,
  EntryPointCommandHandlerType,
} from "discord.js";
import { z } from "zod";

import type { CommandRecord } from "../records.ts";
import {
  entryPointLeftOut,
  invalidForm,
  missingAccess,
  tooManyCommands,
  unknownCommand,
} from "./api-error.ts";
import { noContent, ok, param, parseBody, type RestAnswer, type RestCall, type Route } from "./route.ts";

const MAX_COMMANDS = 100;

/** By Discord's documentation: letters with a lower case must be in lower case. */
const validName = z
  .string()
  .regex(/^[-_'\p{L}\p{N}\p{sc=Deva}\p{sc=Thai}]{1,32}$/u)
  .refine((text) => text === text.toLowerCase());
const validDescription = z.string().min(1).max(100);
const optionBodies = z
  .array(
    z.looseObject({
      type: z.enum(ApplicationCommandOptionType),
      name: validName,
      description: validDescription,
    }),
  )
  .max(25)
  .refine(areNamesUnique);
const commandBody = z.looseObject({
  name: validName,
  type: z.enum(ApplicationCommandType).default(ApplicationCommandType.ChatInput),
  /** Of an Entry Point: 1, the app answers itself; 2, Discord starts the activity. */
  handler: z.enum(EntryPointCommandHandlerType).optional(),
  description: z.string().max(100).default(""),
  options: z
    .custom<APIApplicationCommandOption[]>((options) => optionBodies.safeParse(options).success)
    .optional(),
});
const describedBody = commandBody.refine(
  ({ type, description }) => type !== ApplicationCommandType.ChatInput || description !== "",
);
const commandBodies = z.array(describedBody).max(MAX_COMMANDS).refine(areNamesUnique);
const commandChange = commandBody.partial();

const GLOBAL = "/applications/:application/commands";
const GUILD = "/applications/:application/guilds/:guild/commands";

export const commandRoutes: readonly Route[] = [GLOBAL, GUILD].flatMap((pattern) => [
  { method: "GET", pattern, handle: list },
  { method: "POST", pattern, handle: create },
  { method: "PUT", pattern, handle: replaceAll },
  { method: "GET", pattern: `${pattern}/:command`, handle: (call) => ok(commandOf(call).command) },
  { method: "PATCH", pattern: `${pattern}/:command`, handle: edit },
  { method: "DELETE", pattern: `${pattern}/:command`, handle: remove },
]);

function areNamesUnique(named: readonly { readonly name: string }[]): boolean {
  return new Set(named.map((one) => one.name)).size === named.length;
}

function scopeOf(call: RestCall): string | null {
  if (param(call, "application") !== call.state.bot.id) throw missingAccess();
  const guildId = call.params.get("guild") ?? null;
  if (guildId !== null && !call.state.guilds.has(guildId)) throw missingAccess();
  return guildId;
}

function inScope(call: RestCall): CommandRecord[] {
  const guildId = scopeOf(call);
  return [...call.state.commands.values()].filter((record) => record.guildId === guildId);
}

function commandOf(call: RestCall): CommandRecord {
  const found = inScope(call).find(({ command }) => command.id === param(call, "command"));
  if (found === undefined) throw unknownCommand();
  return found;
}

function list(call: RestCall): RestAnswer {
  return ok(inScope(call).map(({ command }) => command));
}

/** Creates it, or replaces the one of the same name, whose id stays. */
function put(
  call: RestCall,
  body: z.infer<typeof commandBody>,
): { command: APIApplicationCommand; isNew: boolean } {
  const guildId = scopeOf(call);
  const earlier = inScope(call).find(({ command }) => command.name === body.name);
  const command: APIApplicationCommand = {
    default_member_permissions: null,
    type: body.type,
    ...(body.handler !== undefined && { handler: body.handler }),
    name: body.name,
    description: body.description,
    ...(body.options === undefined ? {} : { options: body.options }),
    id: earlier?.command.id ?? call.state.ids.next(),
    application_id: call.state.bot.id,
    version: call.state.ids.next(),
    ...(guildId === null ? {} : { guild_id: guildId }),
  };
  call.state.commands.set(command.id, { guildId, command });
  return { command, isNew: earlier === undefined };
}

function create(call: RestCall): RestAnswer {
  const body = parseBody(describedBody, call.body);
  const others = inScope(call).filter(({ command }) => command.name !== body.name);
  if (others.length >= MAX_COMMANDS) throw tooManyCommands();
  const { command, isNew } = put(call, body);
  return { status: isNew ? 201 : 200, body: command };
}

function replaceAll(call: RestCall): RestAnswer {
  const bodies = parseBody(commandBodies, call.body);
  const isEntryPoint = ({ type }: { readonly type: ApplicationCommandType }): boolean =>
    type === ApplicationCommandType.PrimaryEntryPoint;
  if (inScope(call).some(({ command }) => isEntryPoint(command)) && !bodies.some(isEntryPoint))
    throw entryPointLeftOut();
  const kept = new Set(bodies.map(({ name }) => name));
  for (const { command } of inScope(call))
    if (!kept.has(command.name)) call.state.commands.delete(command.id);
  return ok(bodies.map((body) => put(call, body).command));
}

function edit(call: RestCall): RestAnswer {
  const record = commandOf(call);
  const change = parseBody(commandChange, call.body);
  const others = inScope(call).filter((other) => other !== record);
  if (others.some(({ command }) => command.name === change.name)) {
    throw invalidForm(
      "name",
      "APPLICATION_COMMANDS_DUPLICATE_NAME",
      "Application command names must be unique",
    );
  }
  // An absent field stays unchanged.
  const given = Object.fromEntries(Object.entries(change).filter(([, value]) => value !== undefined));
  record.command = { ...record.command, ...given, version: call.state.ids.next() };
  return ok(record.command);
}

function remove(call: RestCall): RestAnswer {
  call.state.commands.delete(commandOf(call).command.id);
  return noContent;
}
